"""Chooses the tensors of an open checkpoint that are the matrices asked for, and reads them."""

from __future__ import annotations

import difflib
from typing import NamedTuple, NoReturn

import numpy as np

from superjax.core.errors import InputError
from superjax.embeddings.model_config import config_from_gguf, read_config
from superjax.embeddings.names import Candidates, Role, find_candidates, role_of, stored_transposed
from superjax.embeddings.readers import TensorSource, listed
from superjax.embeddings.stored import StoredMatrix, stored_matrix
from superjax.embeddings.tying import Tie, other, tie_of_one, tie_of_pair


class Selected(NamedTuple):
    """One matrix that was read: where it lay, its values [V, d], the role it plays, and the tie."""

    stored: StoredMatrix
    array: np.ndarray
    role: Role | None
    tie: Tie


class Selection:
    """An open checkpoint with its configuration and the candidates among its tensors."""

    def __init__(self, source: TensorSource) -> None:
        self.source = source
        self.names = source.names()
        is_gguf = bool(source.metadata)
        self.config = config_from_gguf(source.metadata, self.names) if is_gguf else read_config(source.path.parent)

    def named(self, tensor: str) -> Selected:
        """Any two-axis tensor by its exact name; tying is not looked into."""
        if tensor not in self.names:
            close = difflib.get_close_matches(tensor, self.names, n=3, cutoff=0.5)
            hint = f"close: {listed(close)}" if close else f"there are: {listed(self._matrices())}"
            raise InputError(f"{self.source.path}: no tensor {tensor}; {hint}")
        stored = self._stored(tensor)
        return Selected(stored, stored.read(), role_of(tensor), Tie(None))

    def by_role(self, asked: tuple[Role, ...]) -> list[Selected]:
        """The matrices of the roles asked; the second is compared block by block, and left out where it is tied."""
        if self.source.unnamed and role_of(self.names[0]) is None:
            return [self._only_array(asked)]
        candidates = self._candidates()
        name = self._one_of(asked[0], candidates)
        if name is None:
            return [self._from_partner(asked[0], candidates)]
        stored = self._stored(name)
        array = stored.read()
        tie = self._tie(array, asked[0], candidates)
        found = [Selected(stored, array, asked[0], tie)]
        if len(asked) > 1 and tie.tied is not True:
            second = self._stored(self._one_of(asked[1], candidates) or self._refuse(asked[1], candidates))
            found.append(Selected(second, second.read(), asked[1], tie))
        return found

    def _only_array(self, asked: tuple[Role, ...]) -> Selected:
        """The single matrix of a file without names, for the single role asked."""
        if len(asked) > 1:
            raise InputError(f"{self.source.path}: holds one matrix, but input and output were asked; ask for one")
        stored = self._stored(self.names[0])
        return Selected(stored, stored.read(), asked[0], Tie(None))

    def _from_partner(self, role: Role, candidates: Candidates) -> Selected:
        """A role that is not stored: the other one serves if the model ties them."""
        partner = None if candidates.quantised[role] else self._one_of(other(role), candidates)
        if partner is None:
            self._refuse(role, candidates)
        tie = tie_of_one(self.source, other(role), candidates, self.config)
        if not tie.tied:
            self._refuse(role, candidates)
        stored = self._stored(partner)
        return Selected(stored, stored.read(), role, tie)

    def _tie(self, array: np.ndarray, role: Role, candidates: Candidates) -> Tie:
        if not candidates.readable[other(role)]:
            return tie_of_one(self.source, role, candidates, self.config)
        try:
            partner = self._stored(self._one_of(other(role), candidates) or "")
        except InputError as error:  # the matrix asked is fine; the other one only serves to compare
            return Tie(None, f"the {other(role)} matrix could not be compared ({error})")
        return tie_of_pair(array, role, partner, self.config)

    def _candidates(self) -> Candidates:
        try:
            return find_candidates(self.names)
        except InputError as error:
            raise InputError(f"{self.source.path}: {error}") from error

    def _one_of(self, role: Role, candidates: Candidates) -> str | None:
        """The tensor of a role; several count as one if they hold the same values (T5 stores its table three times)."""
        names = candidates.readable[role]
        if len(names) < 2:
            return names[0] if names else None
        first, *rest = [self._stored(name) for name in names]
        same_shape = all(stored.shape == first.shape for stored in rest)
        array = first.read() if same_shape else None
        if array is None or not all(stored.same_values(array) for stored in rest):
            raise InputError(
                f"{self.source.path}: several candidates for the {role} matrix: {listed(names)}; "
                "choose one with --tensor=NAME"
            )
        return names[0]

    def _stored(self, name: str) -> StoredMatrix:
        partner = self._partner_shape(name) if stored_transposed(name) else None
        return stored_matrix(self.source, name, self.config, partner)

    def _partner_shape(self, name: str) -> tuple[int, int] | None:
        partner = next((n for n in self.names if (role := role_of(n)) and role != role_of(name)), None)
        shape = self.source.info(partner).shape if partner else None
        return (shape[0], shape[1]) if shape and len(shape) == 2 else None

    def _refuse(self, role: Role, candidates: Candidates) -> NoReturn:
        where = self.source.path
        if quantised := candidates.quantised[role]:
            raise InputError(
                f"{where}: the {role} matrix is quantised ({quantised[0]}); use the unquantised checkpoint"
            )
        if self.source.elsewhere:
            raise InputError(f"{where}: no {role} matrix in this file, which is {self.source.elsewhere}")
        if role == "output" and self.config.headless:
            raise InputError(f"{where}: the model has no output head; ask for the input matrix")
        if candidates.readable[other(role)]:
            raise InputError(
                f"{where}: no {role} matrix is stored and no configuration says that it is tied; "
                f"ask for the {other(role)} matrix, or set tie_word_embeddings in config.json"
            )
        raise InputError(
            f"{where}: no {role} matrix known by name; choose one with --tensor=NAME of: "
            f"{listed(self._matrices()) or 'nothing, no two-axis float tensor is there'}"
        )

    def _matrices(self) -> list[str]:
        """Names of all two-axis float tensors that are here, the largest first."""
        sizes = {
            info.name: info.shape[0] * info.shape[1]
            for info in self.source.listing()
            if info.shape and len(info.shape) == 2 and info.dtype in self.source.floats
        }
        return sorted(sizes, key=lambda name: -sizes[name])
