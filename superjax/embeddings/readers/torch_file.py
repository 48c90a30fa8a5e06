"""Reads PyTorch files with `weights_only=True`: zip files are memory-mapped, legacy ones are read whole."""

from __future__ import annotations

import importlib
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from superjax.core.errors import EnvironmentFailure, InputError, InputWarning
from superjax.embeddings.readers.archive import refusing_damage
from superjax.embeddings.readers.source import TensorInfo, TensorSource, first_line
from superjax.embeddings.readers.torch_pickle import Inert, harmless, refuse_foreign, wanted_names

if TYPE_CHECKING:
    import torch

_TORCH_FLOOR = (2, 10)
_LEGACY_PICKLES = 5  # magic number, protocol, system, the object, its storage keys
_NESTING_LIMIT = 8
_KINDS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
}  # fmt: skip


class TorchFile(TensorSource):
    """One PyTorch file. Nested dictionaries such as {"model": state_dict} give dotted names ("model.wte.weight")."""

    def __init__(self, path: Path, *, legacy: bool) -> None:
        super().__init__(path)
        self.format = "pytorch-legacy" if legacy else "pytorch"
        torch = _import_torch(path)
        names = _legacy_names(path) if legacy else _zip_names(path)
        refuse_foreign(str(path), names)
        if legacy:
            warnings.warn(
                f"{path}: a legacy PyTorch file has to be read whole; save it again with a current torch.save, "
                "or as .safetensors, to save memory",
                InputWarning,
                stacklevel=2,
            )
        root = _load(torch, path, harmless(names), legacy=legacy)
        self.unnamed = isinstance(root, torch.Tensor)
        self._tensors = _by_name(path, _flat(torch, path, root))
        if not self._tensors:
            raise InputError(f"{path}: holds no tensors; pass the file with the model's weights")

    def names(self) -> Sequence[str]:
        return tuple(self._tensors)

    def info(self, name: str) -> TensorInfo:
        tensor = self._tensors[name]
        return TensorInfo(name, tuple(tensor.shape), _kind(tensor))

    def rows(self, name: str, start: int, stop: int) -> np.ndarray:
        import torch

        tensor = self._tensors[name].detach()
        if tensor.ndim == 0:
            tensor = tensor.reshape(1)
        wide = torch.float64 if tensor.dtype == torch.float64 else torch.float32
        values: np.ndarray = tensor[start:stop].to(wide).numpy()
        return values

    def close(self) -> None:
        self._tensors = {}


def _import_torch(path: Path) -> Any:
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise InputError(f"{path}: reading PyTorch files needs torch; pip install 'superjax[torch]'") from error
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _TORCH_FLOOR:
        raise InputError(
            f"{path}: torch {torch.__version__} is too old to load files safely; "
            f"pip install 'torch>={_TORCH_FLOOR[0]}.{_TORCH_FLOOR[1]}'"
        )
    return torch


def _zip_names(path: Path) -> set[str]:
    """The names that the archive's pickle wants; refuses archives that are not a plain torch.save."""
    with refusing_damage(str(path)), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.filename.endswith("/constants.pkl") for member in members):
            raise InputError(
                f"{path}: a TorchScript archive, which holds code; save torch.jit.load(FILE).state_dict() "
                "with torch.save, or as .safetensors"
            )
        if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
            raise InputError(f"{path}: a compressed or encrypted zip, not a torch.save file; unpack it first")
        pickles = [member for member in members if member.filename.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise InputError(f"{path}: a zip without one data.pkl, not a torch.save file; unpack it first")
        with archive.open(pickles[0]) as stream:
            return _scan(path, stream, 1)


def _legacy_names(path: Path) -> set[str]:
    with path.open("rb") as stream:
        return _scan(path, stream, _LEGACY_PICKLES)


def _scan(path: Path, stream: IO[bytes], pickles: int) -> set[str]:
    try:
        return wanted_names(stream, pickles)
    except (ValueError, EOFError, OverflowError, MemoryError) as error:  # lengths of garbage are huge
        raise InputError(f"{path}: truncated or damaged pickle ({first_line(error)}); download it again") from error


def _load(torch: Any, path: Path, stubs: set[str], *, legacy: bool) -> Any:
    try:
        with (
            warnings.catch_warnings(),
            torch.serialization.safe_globals([(_stub(name), name) for name in stubs]),
        ):
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True, mmap=not legacy)
    except MemoryError as error:
        raise EnvironmentFailure(
            f"{path}: not enough memory to load it; free memory or use a larger machine"
        ) from error
    except Exception as error:  # what a hostile stream makes torch raise has no common base
        raise InputError(
            f"{path}: PyTorch cannot load it with weights_only=True ({first_line(error)}); it is truncated, damaged or "
            "holds more than tensors: save only model.state_dict()"
        ) from error


def _stub(name: str) -> type[Inert]:
    """A class that does nothing and is called like the one it stands in for, so that messages name it."""
    return type(name, (Inert,), {})


def _by_name(path: Path, named: Iterator[tuple[str, "torch.Tensor"]]) -> dict[str, "torch.Tensor"]:
    """The tensors by dotted name; {"a.b": x, "a": {"b": y}} would hide one of the two."""
    found: dict[str, torch.Tensor] = {}
    for name, tensor in named:
        if name in found:
            raise InputError(f"{path}: two tensors are called {name} once nested names are joined; rename one of them")
        found[name] = tensor
    return found


def _flat(torch: Any, path: Path, root: Any) -> Iterator[tuple[str, "torch.Tensor"]]:
    if isinstance(root, torch.Tensor):
        yield path.stem, root
    elif isinstance(root, Mapping):
        yield from _flat_mapping(torch, root, (), _NESTING_LIMIT)
    else:
        raise InputError(f"{path}: holds a {type(root).__name__}, not a state dict; save model.state_dict()")


def _flat_mapping(
    torch: Any, mapping: Mapping[Any, Any], prefix: tuple[str, ...], depth: int
) -> Iterator[tuple[str, "torch.Tensor"]]:
    for key, value in mapping.items():
        if not isinstance(key, str | int):
            continue
        name = (*prefix, str(key))
        if isinstance(value, torch.Tensor):
            yield ".".join(name), value
        elif isinstance(value, Mapping) and depth:
            yield from _flat_mapping(torch, value, name, depth - 1)


def _kind(tensor: "torch.Tensor") -> str:
    """The dtype's name in this package, with a remark where the tensor is not a plain block of values."""
    text = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_nested or str(tensor.layout) != "torch.strided":
        return f"{text} (sparse or nested)"
    if tensor.is_meta:
        return f"{text} (without values)"
    # Strides of 0 claim more entries than the file has: a few bytes could ask for terabytes.
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        return f"{text} (an expanded view)"
    return _KINDS.get(text, text)
