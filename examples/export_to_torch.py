"""A written head as a torch module: same outputs, batched, differentiable, and a file that plain torch can load."""

import numpy as np
import torch

import sparsehead as sh
from sparsehead._base.rng import stream

f = sh.parse("maj(x1, x4, x9)", T=12)
model = sh.build(f)
module = sh.to_torch(model)

bits = stream(0, "bits").integers(2, size=(256, 12))
outputs = module(torch.tensor(bits))
print(f"same outputs: {np.allclose(outputs.detach().numpy(), model(bits), atol=1e-9)}")

outputs.sum().backward()
trainable = [name for name, p in module.named_parameters() if p.grad is not None]
print(f"gradients for {len(trainable)} tensors, such as {trainable[0]}")

path = sh.save(model, "majority.safetensors", force=True)
print(f"{path.name}: {sh.load(path).predict(bits[:5])} for labels {f(bits[:5])}")
