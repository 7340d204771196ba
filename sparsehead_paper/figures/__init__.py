"""Charts of the reproduction: each function takes records of results files and returns one Altair chart.

There is one file per study; `examples` has the figures that need no experiment, `fresh` draws fresh trials on finished
charts. `report.catalogue` lists all figures.
"""
