"""Plant a function in a model: its support is then known by proof, to test methods that look for supports.

Read in this order:

distractors    heads that attend to irrelevant positions, and why they do not change the output
superposed     the model: reading heads, distractors, and a decoder of their mixed values
recovery       how well scores of positions recover the support
planted        `Planted`: the model with its function, certificate and exports
plant          the public `plant`: choose a width, build, prove
"""
