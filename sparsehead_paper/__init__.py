"""The reproduction of "Inductive Biases and Variable Creation in Self-Attention Mechanisms", built on `sparsehead`.

published      settings and numbers of the paper's experiments
theory         covers, dimensions and counts that only statements of the paper need
studies        experiments: what to run, and what the results files hold
figures        charts of those results
claims         every statement of the paper and of the lecture notes, each with a check
report         report.html from results and findings
probe_studies  probes of three pretrained models
commands, lab  `sparsehead reproduce`, `sparsehead figure` and the lab's Claims page, found by entry point
"""
