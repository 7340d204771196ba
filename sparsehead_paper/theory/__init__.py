"""Theory of the paper and of the notes that the library does not need: covering numbers, probabilities and constants,
computed from norms, radii and samples.

Read in this order:

lipschitz             Lipschitz constants of softmax, heads and LayerNorm
linear, perceptron    linear classes: the bound, and the cover that proves it
function_classes      covering numbers of a class of functions on a sample
relations, shattering VC and fat-shattering dimension against covering numbers
elimination           how many functions of a class agree with a random sample: exact counts on simulated samples
difficulty            degrees of difficulty of a function for learners of small steps: globality, leap
pointers              tokens with pointers: the tasks, heads written for them, limits for every head
flipped               bits that are flipped before the learner sees them, have a shifted mean, or are correlated
printed               formulas exactly as the paper, the notes or textbooks print them
"""
