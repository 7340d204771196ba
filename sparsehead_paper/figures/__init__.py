"""Charts of the reproduction: records of results files come in, one Altair chart goes out.

A file per study; `examples` computes the figures that need no experiment. `report.catalogue` names them all.
"""
