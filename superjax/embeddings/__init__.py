"""Real checkpoints: reading their embedding matrices, and the cosine spectrum of the rows."""

from superjax.embeddings.checkpoint import EmbeddingMatrix, list_tensors, read_matrices, read_matrix
from superjax.embeddings.classes import Verdict, judge
from superjax.embeddings.moments import CosineMoments
from superjax.embeddings.neighbors import Neighbors
from superjax.embeddings.partners import partner_cosines
from superjax.embeddings.rows import RowReport
from superjax.embeddings.spectrum import Spectrum, cosine_spectrum
from superjax.embeddings.tokens import read_tokens, readable

__all__ = [
    "CosineMoments",
    "EmbeddingMatrix",
    "Neighbors",
    "RowReport",
    "Spectrum",
    "Verdict",
    "cosine_spectrum",
    "judge",
    "list_tensors",
    "partner_cosines",
    "read_matrices",
    "read_matrix",
    "read_tokens",
    "readable",
]
