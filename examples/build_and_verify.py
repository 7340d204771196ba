"""Write down a head that computes a sparse function, and prove that it does: no training, no sampling."""

import sparsehead as sh

f = sh.parse("x2 & !x5 ^ (x7 | x11)", T=1000)
model = sh.build(f)
certificate = sh.verify(model, f)

print(f"{f} reads {f.s} of {f.T} positions")
print(f"one head, {model.d} dimensions; exact on all 2^{f.T} inputs: {certificate.exact}")
print(f"largest error {certificate.max_error:.1e}, established by {certificate.method}")

wrong = sh.parse("x2 & !x5", T=1000)
print(f"claimed to be {wrong}: exact is {sh.verify(model, wrong).exact}")
