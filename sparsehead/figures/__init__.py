"""Charts: records come in, one Altair chart goes out. Nothing here reads a file, opens a screen or recomputes a result.

Read in this order:

figure                   the contract of figures by name
theme, data, render      the one look of all charts; rows and numbers in them; the four formats
objects                  charts of the objects that the verbs return
law, law_record, overlay   samples needed against T; several laws on the same axes
training, appearance     one run as it goes; the support as it appears along training
attention, built, written, diagram, heads   where a head looks; a written head; drawings of modules; maps of heads
covers, bounds           covers in the plane; a bound by term
"""
