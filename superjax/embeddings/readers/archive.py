"""Turns whatever zipfile raises on a damaged archive into one InputError."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from superjax.core.errors import InputError
from superjax.embeddings.readers.source import first_line

ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


@contextmanager
def refusing_damage(where: str) -> Iterator[None]:
    """Report damage found while an archive is read; what the reader itself refuses passes through."""
    try:
        yield
    except InputError:
        raise
    except ZIP_FAULTS as error:
        raise InputError(f"{where}: damaged zip archive ({first_line(error)}); download or save it again") from error
