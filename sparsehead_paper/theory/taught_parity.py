"""Parity with intermediate labels: the model of Kim and Suzuki (arXiv 2410.08633) and its gradient at zero scores.

The tokens are d bits +-1, followed by the k - 1 nodes of a binary tree over the first k bits. Each node is the product
of its two children, and the last node is the parity. Nodes are ordered by level, so children come before their parents.
Node q attends to the N = d + q tokens before it with scores w that depend on positions alone, z is the mean of these
tokens under softmax(w), and the model's value of the node is phi(z) = -cos(pi z). This phi is our choice; their
theorems require only phi(0) = -1, phi(1) = phi(-1) = 1 and derivative 0 at these three points.

The loss is half the mean square of phi(z) - label. Its gradient in w at w = 0 is (A - mean A) / N with

    A_j = E[(phi(z) - y) phi'(z) x_j] = -pi/2 E[sin(2 pi z) x_j] - pi E[y sin(pi z) x_j].

docs/theory.md 11.1 has the proofs of the closed forms.
"""

import math

import numpy as np

from sparsehead._base.errors import DomainError
from sparsehead._base.types import Array, Float, Int, Shaped


def check_tree(d: int, k: int) -> None:
    """Refuse k that is no power of two, or that exceeds d."""
    if k < 2 or k & (k - 1) or k > d:
        raise DomainError(f"k is a power of two from 2 to d = {d}, got {k}.")


def children(d: int, k: int) -> Int[Array, "nodes 2"]:
    """Return the two children of each node, as token numbers.

    >>> children(6, 4).tolist()
    [[0, 1], [2, 3], [6, 7]]
    """
    check_tree(d, k)
    queue = [*range(k), *range(d, d + k - 2)]
    return np.array(queue).reshape(k - 1, 2)


def tokens(bits: Float[Array, "n d"], k: int) -> Float[Array, "n d+k-1"]:
    """Return bits and true values of all nodes; the last column is the parity of the first k bits."""
    d = bits.shape[1]
    values = dict(enumerate(np.ascontiguousarray(bits[:, :k].T)))  # by rows: columns are slow to reach
    for q, (a, b) in enumerate(children(d, k)):
        values[d + q] = values[a] * values[b]
    return np.concatenate([bits, np.stack([values[d + q] for q in range(k - 1)], axis=1)], axis=1)


def gradient(seen: Float[Array, "n N"], y: Float[Array, " n"]) -> Float[Array, " N"]:
    """Return the gradient of one node's loss by the node's scores, at zero scores, computed from the definition."""
    z = seen.mean(axis=1)
    errors = (-np.cos(np.pi * z) - y) * np.pi * np.sin(np.pi * z)
    slopes = (seen - z[:, None]) / seen.shape[1]
    return np.asarray(errors @ slopes / len(seen))


def population_gradient(d: int, k: int, q: int = 0) -> Float[Array, " N"]:
    """Return the exact gradient of node q with true tokens and uniform bits, by products over the subtrees.

    Paper: taught-gap
    """
    pairs = children(d, k)
    if not 0 <= q < k - 1:
        raise DomainError(f"a tree over {k} bits has nodes 0 to {k - 2}, got {q}.")
    N = d + q
    both = _moments(pairs, d, q, 2 * np.pi / N, product=()).imag
    labelled = _moments(pairs, d, q, np.pi / N, product=tuple(pairs[q])).imag
    A = -np.pi / 2 * both - np.pi * labelled
    return (A - A.mean()) / N


def _moments(
    pairs: Int[Array, "nodes 2"], d: int, q: int, angle: float, *, product: tuple[int, ...]
) -> Shaped[Array, " N"]:
    """Return E[exp(i angle S) x_j prod_{u in product} x_u] for every token j, S being the sum of all d + q tokens.

    A tree's value has two states. `states[v]` holds, for each j, the expectation over the subtree of v restricted to
    x_v = 1 and to x_v = -1.
    """
    k = len(pairs) + 1
    sign = np.array([1.0, -1.0])
    live = [
        *range(k),
        *range(d, d + q),
    ]  # bits of the tree and nodes that are there; other bits are all alike
    rows = {v: row for row, v in enumerate(live)}
    turn = np.exp(1j * angle * sign)

    def marked(v: int, values: Shaped[Array, "J 2"]) -> Shaped[Array, "J 2"]:
        values[rows[v]] *= sign
        return values * sign ** (product.count(v) % 2)

    states = {v: marked(v, np.tile(turn / 2, (len(live) + 1, 1))) for v in range(k)}
    for node, (a, b) in enumerate(pairs[:q]):
        x, y = states.pop(int(a)), states.pop(int(b))
        equal = x[:, 0] * y[:, 0] + x[:, 1] * y[:, 1]
        unequal = x[:, 0] * y[:, 1] + x[:, 1] * y[:, 0]
        states[d + node] = marked(d + node, np.stack([equal, unequal], axis=1) * turn)
    whole = np.prod([state.sum(axis=1) for state in states.values()], axis=0) * np.cos(angle) ** (d - k)
    found = np.empty(d + q, dtype=complex)
    if d > k:
        found[k:d] = whole[-1] * 1j * np.tan(angle)
    found[live] = whole[:-1]
    return found


def gap(d: int, k: int = 2) -> float:
    """Return the difference, at zero scores, between the gradients of the k relevant bits and of the other d - k bits.

    The label is the parity of k bits and only bits are seen: (pi/d) sin(pi/d)^{k-1} cos(pi/d)^{d-k-1}. For k = 2 it is
    the gap of a node of the first level, about pi^2 / d^2.   Paper: taught-gap, untaught-parity

    >>> round(gap(512) * 512**2 / np.pi**2, 2), f"{gap(64, 8):.0e}"
    (0.99, '3e-11')
    """
    if k < 2 or k % 2 or k >= d:
        raise DomainError(f"the gap is for even k from 2 to d - 1 = {d - 1}, got {k}.")
    angle = math.pi / d
    return angle * math.sin(angle) ** (k - 1) * math.cos(angle) ** (d - k - 1)


def error_variance(d: int, k: int = 2) -> float:
    """Return E[((phi(z) - y) phi'(z))^2] at zero scores, where z is the mean of the d bits seen and y the parity of k
    of them.
    """
    angle = math.pi / d

    def cosine(c: int) -> float:
        return math.cos(c * angle) ** d

    def labelled(c: int) -> float:
        return (-1) ** (k // 2) * math.sin(c * angle) ** k * math.cos(c * angle) ** (d - k)

    squares = (1 - cosine(4)) / 8 + (1 - cosine(2)) / 2
    return math.pi**2 * (squares + (labelled(1) - labelled(3)) / 2)


def samples_for_gap(d: int, k: int = 2, *, deviations: float = 4.0) -> float:
    """Return the n at which half the gap is `deviations` standard deviations of one entry of the sampled gradient.

    >>> f"{samples_for_gap(64):.0f}", f"{samples_for_gap(64, 8):.0e}"
    ('6963', '3e+19')
    """
    return error_variance(d, k) * (2 * deviations / (d * gap(d, k))) ** 2


def run(scores: list[Float[Array, " N"]], bits: Float[Array, "n d"]) -> Float[Array, "n d+k-1"]:
    """Return the bits and the model's own values of all nodes; no true intermediate value is used."""
    n, d = bits.shape
    found = np.concatenate([bits, np.zeros((n, len(scores)), dtype=bits.dtype)], axis=1)
    for q, w in enumerate(scores):
        p = np.exp(w - w.max())
        p = (p / p.sum()).astype(bits.dtype)
        found[:, d + q] = -np.cos(np.pi * (found[:, : d + q] @ p))
    return found


def end_gradient(
    scores: list[Float[Array, " N"]], bits: Float[Array, "n d"], y: Float[Array, " n"]
) -> list[Float[Array, " N"]]:
    """Return the gradients by all scores if nodes have the model's own values and only the last node has a label, y."""
    n, d = bits.shape
    attention = [np.exp(w - w.max()) / np.exp(w - w.max()).sum() for w in scores]
    seen = run(scores, bits)
    back = np.zeros((n, len(scores)))  # derivative of the loss in each node's value
    back[:, -1] = (seen[:, -1] - y) / n
    found: list[Float[Array, " N"]] = []
    for q in reversed(range(len(scores))):
        p, before = attention[q], seen[:, : d + q]
        in_z = back[:, q] * np.pi * np.sin(np.pi * (before @ p))
        back[:, :q] += in_z[:, None] * p[d:]
        along = in_z @ before
        found.append(p * (along - p @ along))
    return found[::-1]


def error_bound(d: int, k: int, L: float) -> float:
    """Return a bound, for all 2^d inputs, on |output - parity| of the model whose scores are L at children, else 0.

    With N = d + k - 2 tokens before the last node, the attention on other tokens than its two children is delta = (N -
    2)/(2 e^L + N - 2), and for earlier nodes it is less. If the children's values have errors of at most e, then z is
    within 2 delta + e of the mean of the true values. phi has slope 0 there and curvature at most pi^2, so the error of
    the node is at most e' = pi^2/2 (2 delta + e)^2. This is applied once for each level.   Paper: taught-own-steps
    """
    check_tree(d, k)
    others = d + k - 4
    delta, e = others / (2 * math.exp(L) + others), 0.0
    for _ in range(k.bit_length() - 1):
        e = math.pi**2 / 2 * (2 * delta + e) ** 2
    return e
