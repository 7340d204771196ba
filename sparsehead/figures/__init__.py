"""Charts: records come in, one Altair chart goes out. Nothing here reads a file, opens a screen or recomputes a result.

Read in this order:

theme, data, render      the one look of all charts; rows and numbers in them; the four formats
objects                  charts of the objects that the verbs return
law, story, success, curves     samples needed against T, alone and beside a head; shares solved; training as it went
attention, built, diagram, heads     where a head looks; a written head; drawings of modules; maps of heads
covers, norms, bounds, certificates  what each is named after
appearance, read_trained, readings   supports along training; trained models, read; readings of the paper's text
overlay, side_by_side                several laws on the same axes, together or in panels
parity_settings, failures            when parity is learned, by setting; the positions that failing runs moved
"""
