"""Charts: a result comes in, one Altair chart goes out. Nothing here reads a file or recomputes a result.

Read in this order:

figure                   the contract of figures by name
colours, theme           colours and shapes; rows, numbers in words, and the common look
encodings, render        axes and encodings by name; a chart in four formats
attention, built         attention by position; a head written down, with its decoder
training                 one run along training, and the step at which the support appears
law, overlay             samples needed against T; several laws on the same axes
covers, bounds, heads    covers in the plane; a bound by term; maps of the heads of pretrained models
"""
