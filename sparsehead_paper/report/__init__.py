"""From results on disk to figures and one standalone page: a folder comes in, report.html goes out.

Read in this order:

catalogue     every figure by name, and how it is drawn from the results folder
mathematics   formulas in text as MathML
story         the reproduction on one screen
page          the page, with page.css and page.js inside
reproduce     the verb: experiments, checks, figures, report
"""
