"""Weights that anybody can make again: of every name and shape, from NumPy's generator."""

import numpy as np


def weights(shapes, seed=0):
    """Float32 arrays by name, for `{name: shape}`; as large as in a network that was just made."""
    return {name: one(name, shape, seed) for name, shape in shapes.items()}


def tensors(shapes, seed=0):
    """The same as tensors."""
    import torch

    return {name: torch.from_numpy(values) for name, values in weights(shapes, seed).items()}


def one(name, shape, seed):
    values = np.random.default_rng([seed, *name.encode()]).normal(size=tuple(shape))
    if name.endswith("running_var"):
        values = np.abs(values) + 0.5
    elif len(shape) > 1:
        values *= 1.5 / np.sqrt(np.prod(shape[1:]))
    else:
        values = 0.3 * values + ("norm" in name and name.endswith("weight"))
    return values.astype(np.float32)


def waves(samples, count=2, seed=1):
    """Noise that swells, (count, samples), float32."""
    noise = np.random.default_rng(seed).normal(size=(count, samples))
    return (noise * np.linspace(0.01, 0.3, samples)).astype(np.float32)
