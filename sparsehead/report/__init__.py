"""From results on disk to figures and to one standalone page.

`catalogue` names every figure and knows where its data come from, `library` computes those that need no experiment,
`page` writes report.html.
"""
