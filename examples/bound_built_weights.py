"""What capacity theory says about weights that were written down: term by term, and whether it is vacuous."""

import sparsehead as sh

for T in (100, 1000, 10_000):
    model = sh.build(sh.conjunction((3, 14, 15), T=T), encoding="trainable")
    bound = sh.bound(model, m=10_000)
    share = max(term.share for term in bound.items)
    print(
        f"T={T:6d}: ln N = {bound.log_covering:10.4g}, {share:.0%} of it from {bound.dominated_by}; "
        f"{'vacuous' if bound.vacuous else 'not vacuous'}, samples needed {bound.samples_needed:.2g}"
    )
