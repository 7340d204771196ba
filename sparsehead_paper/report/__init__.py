"""From results on disk to figures and one standalone page: a folder comes in, report.html goes out.

Read in this order:

library       figures that need no experiment: one or two quick calls of the library each
catalogue     every figure by name, and how it is drawn from the results folder
mathematics   formulas in text as MathML
story         the reproduction on one screen, with the small charts of thumbnails
parts, page   the pieces of the page; the page, with page.css and page.js inside
reproduce     the verb: experiments, checks, figures, report
studies       probe checkpoints and draw the results: a command of its own
"""
