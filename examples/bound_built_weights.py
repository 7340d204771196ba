"""What capacity theory says about weights that were written down: term by term, and whether it is vacuous."""

import sparsehead as sh

for T in (100, 1000, 10_000):
    model = sh.build(sh.conjunction((3, 14, 15), T=T), encoding="trainable")
    bound = sh.bound(model, m=10_000)
    share = max(term.share for term in bound.items)
    print(
        f"T={T:6d}: ln N = {bound.log_covering:.3g}, {share:.0%} of it from {bound.dominated_by}; by norms alone "
        f"{bound.forms['ours']:.3g}. {'Vacuous' if bound.vacuous else 'Not vacuous'} at m = {bound.m}: "
        f"{bound.samples_needed:.2g} samples would do for a gap of 0.05"
    )
