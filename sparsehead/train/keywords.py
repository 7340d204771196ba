"""The settings that `learn` and `law` pass on to a `TrainSpec`, as types; written by scripts/keywords.py."""

from typing import TypedDict


class Settings(TypedDict, total=False):
    """Every setting of a `TrainSpec` that `learn` does not name as a parameter of its own."""

    d: int  # Embedding width; an encoding may fix it.
    H: int  # Heads per layer.
    k: int  # Width inside a head.
    L: int  # Layers.
    mlp: int  # Width of the MLP; 0 for none.
    norm: bool  # LayerNorm before attention, the MLP and the output.
    residual: bool  # Residual connections.
    bias: bool  # Biases in the linear maps of attention.
    scaled: bool  # Divide scores by sqrt(k).
    sigma: str  # Applied to the mixed values of a head.
    positions: str  # Positions of the trainable encoding: trained, or fixed sine waves.
    gate: str  # Bits whose positions a head attends to: all, zeros, ones, or half of the heads each.
    p: float | None  # Probability of a one; labels are balanced by default.
    noise: float  # Share of training labels that are flipped.
    feature_noise: float  # Share of training bits that are flipped, after the label was made.
    inputs: str | None  # p:0.9,0.5 for each position, repeated up to T; or package.module:sampler.
    unique: bool  # Draw training sets again until one support explains them.
    online: bool  # Fresh samples at every step.
    dropout: float  # Share that is dropped.
    optimiser: str  # adamw, adam (decay as L2 penalty) or sgd.
    learning_rate: float  # Step size.
    position_rate: float  # Multiplies the learning rate of positions.
    readout_rate: float  # Multiplies the learning rate of values and of what follows the attention.
    warmup: int  # Steps over which the learning rate rises linearly.
    beta_1: float  # Adam's average of gradients.
    beta_2: float  # Adam's average of squared gradients.
    adam_eps: float  # Adam's eps.
    weight_decay: float  # Strength of the decay.
    decay: str  # What decays.
    clip: float  # Largest norm of a gradient; 0 never clips.
    init: str  # How weights begin.
    init_std: float  # Standard deviation of initial embeddings.
    init_scale: float  # Multiplies the initial linear maps and their biases.
    signs: str  # Whether ones raise or lower the output of a gated model at the start.
    cls_share: float  # Attention on [CLS] in a gated model at the start.
    n_steps: int  # Steps per restart.
    check_every: int  # Steps between looks at the validation accuracy.
    restarts: int  # Initialisations before a trial counts as failed.
    holdout: int  # Validation samples.
    target: float  # Validation accuracy that counts as learned.
    keep_training: bool  # Go on to the last step after success.
    stall: int  # Give a fitted run up after so many steps without progress; 0 never.
    least_lean: float  # Give a fitted run up if its lean is below this per 1000 steps; 0 never.
