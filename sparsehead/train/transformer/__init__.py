"""The Transformer learner: layout of its weights, initialisation, and two engines that train it."""
