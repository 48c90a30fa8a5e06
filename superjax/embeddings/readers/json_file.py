"""Loads the JSON files around weights: bounded in size, and every fault one InputError."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from superjax.core.errors import InputError
from superjax.embeddings.readers.sniff import unreadable
from superjax.embeddings.readers.source import first_line

_LARGEST = 512 << 20


def load_json(path: Path, refuse: Callable[[str], NoReturn]) -> Any:
    """The content of a JSON file.

    Args:
        path: the file.
        refuse: raises the caller's InputError for a cause.

    Returns:
        What the file holds, of any type.

    Raises:
        InputError: unreadable, larger than 512 MiB, or not JSON.
    """
    try:
        if path.stat().st_size > _LARGEST:
            refuse("is larger than any real one")
        return json.loads(path.read_bytes())
    except InputError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        refuse(f"is not JSON ({first_line(error)})")
