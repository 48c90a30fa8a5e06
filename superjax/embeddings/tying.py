"""Decides whether input and output embedding are one matrix: by the tensors, then by what the configuration says."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from superjax.core.errors import InputError, InputWarning
from superjax.embeddings.model_config import ModelConfig
from superjax.embeddings.names import Candidates, Role
from superjax.embeddings.readers import TensorSource
from superjax.embeddings.stored import StoredMatrix

_WORDS = {"input": "input embedding", "output": "output (unembedding) matrix"}


class Tie(NamedTuple):
    """The decision and why it could not be made, if it could not."""

    tied: bool | None
    note: str = ""


def other(role: Role) -> Role:
    """The other of the two roles."""
    return "output" if role == "input" else "input"


def tie_of_pair(array: np.ndarray, role: Role, partner: StoredMatrix, config: ModelConfig) -> Tie:
    """Both matrices are stored: they are tied if they agree bit for bit; warns where the configuration says otherwise.

    Args:
        array: the matrix already read, [V, d].
        role: its role.
        partner: the other one, compared block by block.
        config: what the model says of itself.

    Returns:
        tied True or False.
    """
    tied = partner.same_values(array)
    if config.ties is not None and config.ties != tied:
        said, found = ("tied", "different") if config.ties else ("not tied", "bit for bit the same")
        warnings.warn(
            f"{config.path}: tie_word_embeddings says {said}, but the stored {_WORDS[role]} and {_WORDS[other(role)]} "
            f"are {found}; the tensors are believed",
            InputWarning,
            stacklevel=2,
        )
    return Tie(tied)


def tie_of_one(source: TensorSource, present: Role, candidates: Candidates, config: ModelConfig) -> Tie:
    """One matrix is stored under a known name, the other is not among the readable ones.

    Args:
        source: the open checkpoint.
        present: the role that is stored.
        candidates: by name, quantised ones included.
        config: what the model says of itself.

    Returns:
        tied True where the configuration (or its model type's default) ties, None where nothing is known: a headless
        model, another shard, a quantised partner, no configuration.

    Raises:
        InputError: the configuration says that the model has two matrices, so half of it is missing.
    """
    absent = other(present)
    if candidates.quantised[absent]:
        return Tie(None, f"the {_WORDS[absent]} is quantised ({candidates.quantised[absent][0]}) and was not compared")
    if source.elsewhere:
        return Tie(None, f"the {_WORDS[absent]} is not in this file ({source.elsewhere})")
    if config.headless:
        return Tie(None, "the model has no output head")
    if config.ties is False:
        name = candidates.readable[present][0]
        raise InputError(
            f"{source.path}: holds {name} but no {_WORDS[absent]}, and {config.path} says tie_word_embeddings=false: "
            f"the checkpoint is incomplete; download the rest, or read what is there with --tensor={name}"
        )
    if config.ties or config.ties_by_default:
        return Tie(True)
    return Tie(None, f"no {_WORDS[absent]} is stored and no configuration says whether it is tied")
