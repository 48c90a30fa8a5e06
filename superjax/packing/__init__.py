"""Packing directions on the sphere: coherence, spherical codes and energies, optimised across devices."""

from superjax.packing.anneal import AnnealHparams
from superjax.packing.closed_forms import exact_packing, has_closed_form
from superjax.packing.measure import coherence, gram_histogram, largest_cosine, riesz_energy
from superjax.packing.objectives import OBJECTIVES, Objective
from superjax.packing.orbits import orbit, orbit_coherence, pack_orbits
from superjax.packing.pack import Packing, memory_needed, pack, proven_bound
from superjax.packing.random import RandomDraws, best_random
from superjax.packing.starts import given_start, load_vectors

__all__ = [
    "OBJECTIVES",
    "AnnealHparams",
    "Objective",
    "Packing",
    "RandomDraws",
    "best_random",
    "coherence",
    "exact_packing",
    "given_start",
    "gram_histogram",
    "has_closed_form",
    "largest_cosine",
    "load_vectors",
    "memory_needed",
    "orbit",
    "orbit_coherence",
    "pack",
    "pack_orbits",
    "proven_bound",
    "riesz_energy",
]
