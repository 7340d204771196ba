"""Charts: a result comes in, one Altair chart goes out. Nothing here reads a file or recomputes a result.

Read in this order:

figure                   the interface of named figures, which packages can add
colours, theme           colours and shapes; rows of data, formatted numbers, and the common style
encodings, render        axes; colour, shape and dash by series name; a chart in four formats
attention_page           attention maps of a pretrained model as an interactive page, which has a template beside it
attention, built         attention by position; a constructed head with its decoder
training                 curves of one training run, and the step at which the support appears
law, overlay             samples needed as a function of T; several laws in one chart
covers, bounds, heads    covers in the plane; a bound by term; maps of the heads of pretrained models
"""
