"""Theory of the paper and of the notes that the library does not need: norms, radii and samples come in, numbers of
cover elements, probabilities and constants go out.

Read in this order:

lipschitz             Lipschitz constants of softmax, heads and LayerNorm
linear, perceptron    linear classes: the bound, and the cover that proves it
function_classes      covering numbers of a class of functions on a sample
relations, shattering VC and fat-shattering dimension against covering numbers
elimination           how many functions of a class agree with a sample: exact counts, by simulation
printed               statements in the forms in which texts print them
"""
