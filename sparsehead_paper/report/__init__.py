"""Draw the figures of a results folder and write them, with every claim and its verdict, to one file, report.html.

Read in this order:

catalogue     every figure by name, and how it is drawn from the results folder
backing       how the results behind a claim were measured, and what fresh trials say of them
mathematics   formulas in text as MathML
story         the reproduction on one screen
page          report.html, with page.css and page.js inlined
reproduce     `sparsehead reproduce`: run fresh trials or experiments, check claims, draw figures, write the report
"""
