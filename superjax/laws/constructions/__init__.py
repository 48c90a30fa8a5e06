"""Explicit line packings of known coherence, built exactly from finite fields, designs and lattices."""

from superjax.laws.constructions.family import Construction
from superjax.laws.constructions.frames import (
    orthonormal_basis,
    paley,
    polygon,
    realified_bases,
    simplex,
    steiner,
)
from superjax.laws.constructions.latin_square import latin_square_complement, latin_square_lines
from superjax.laws.constructions.lattices import barnes_wall, leech, lines_276, lines_2300, root_lines
from superjax.laws.constructions.quadratic import delsarte_goethals, dual_bch, kerdock
from superjax.laws.constructions.reed_muller import reed_muller
from superjax.laws.constructions.registry import Built, best_construction, constructions, largest_construction

__all__ = [
    "Built",
    "Construction",
    "barnes_wall",
    "best_construction",
    "constructions",
    "delsarte_goethals",
    "dual_bch",
    "kerdock",
    "largest_construction",
    "latin_square_complement",
    "latin_square_lines",
    "leech",
    "lines_276",
    "lines_2300",
    "orthonormal_basis",
    "paley",
    "polygon",
    "realified_bases",
    "reed_muller",
    "root_lines",
    "simplex",
    "steiner",
]
