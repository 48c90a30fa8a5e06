"""Toy autoencoders of superposition: exact sparse data, ensembles in one program, and what they are measured by.

Two hundred models in a dozen lines::

    import numpy as np
    from superjax import toy

    members = toy.grid(
        n=200, m=20, batch=1024, decay=list(np.linspace(-1, 1, 10)), alpha=list(np.linspace(0, 2, 5)),
        seed=[0, 1, 2, 3],
    )
    result = toy.train_ensemble(members, toy.Training(steps=2000))
    geometries = [toy.geometry(params.W) for params in result.params]
    for member, loss, found in zip(result.members, result.loss, geometries):
        print(member.decay, member.alpha, member.seed, loss, found.phi_half)
"""

from superjax.toy.curves import Curve, gather_curves
from superjax.toy.decay import norm_decay, warmup_cosine
from superjax.toy.engine import Training
from superjax.toy.ensemble import EnsembleResult, train_ensemble
from superjax.toy.exponents import ExponentFit, fit_exponent
from superjax.toy.features import DISTRIBUTIONS, activation_probabilities
from superjax.toy.members import Member, grid
from superjax.toy.metrics import Geometry, Overlaps, geometry
from superjax.toy.model import ACTIVATIONS, Params, loss, reconstruct
from superjax.toy.saved import as_module, load_params, to_arrays
from superjax.toy.sweep import PRESETS, Preset, Sweep, preset
from superjax.toy.theory import (
    ideal_weak_loss,
    ignored_loss,
    random_overlap_moments,
    strong_exponent,
    trivial_loss,
    welch_overlap,
)
from superjax.toy.trained import Trained, Unfinished

__all__ = [
    "ACTIVATIONS",
    "DISTRIBUTIONS",
    "PRESETS",
    "Curve",
    "EnsembleResult",
    "ExponentFit",
    "Geometry",
    "Member",
    "Overlaps",
    "Params",
    "Preset",
    "Sweep",
    "Trained",
    "Training",
    "Unfinished",
    "activation_probabilities",
    "as_module",
    "fit_exponent",
    "gather_curves",
    "geometry",
    "grid",
    "ideal_weak_loss",
    "ignored_loss",
    "load_params",
    "loss",
    "norm_decay",
    "preset",
    "random_overlap_moments",
    "reconstruct",
    "strong_exponent",
    "to_arrays",
    "train_ensemble",
    "trivial_loss",
    "warmup_cosine",
    "welch_overlap",
]
