"""The vocabulary as text: token strings by row, from the tokenizer.json beside a checkpoint, and how to show them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from superjax.core.errors import InputError
from superjax.embeddings.readers import open_source
from superjax.embeddings.readers.json_file import load_json
from superjax.embeddings.readers.sniff import unreadable

_SPARSEST = 8  # ids may have holes, but a file may not ask for a list many times its own length
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def read_tokens(path: str | Path) -> list[str] | None:
    """Every token's raw string, in the order of the embedding's rows: from `tokenizer.json`, or out of a GGUF file.

    Its length is the number of real tokens: rows of the matrix beyond it are padding.

    Args:
        path: a checkpoint: its folder, or a file whose folder has a `tokenizer.json`.

    Returns:
        Strings by id ("" for an id without token), None where nothing gives them.

    Raises:
        InputError: the file is damaged, or of a model without a list of tokens.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": []}')
        >>> read_tokens(folder)
        ['a', 'b']
    """
    given = Path(path).expanduser()
    file = (given if given.is_dir() else given.parent) / "tokenizer.json"
    try:
        if not file.exists():
            return _of_gguf(given) if given.suffix.lower() == ".gguf" else None
    except OSError as error:
        raise unreadable(file, error) from error
    content = load_json(file, lambda what: _damaged(file, what))
    return _by_id(file, list(_entries(file, content)))


def _of_gguf(path: Path) -> list[str] | None:
    with open_source(path) as source:
        tokens = source.metadata.get("tokenizer.ggml.tokens")
    return tokens if isinstance(tokens, list) else None


def _entries(file: Path, content: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs (id, token): the model's vocabulary, then the added tokens, which win."""
    model = content.get("model") if isinstance(content, dict) else None
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, dict):  # BPE, WordPiece, WordLevel
        yield from ((index, token) for token, index in vocab.items())
    elif isinstance(vocab, list):  # Unigram
        for index, piece in enumerate(vocab):
            if not isinstance(piece, list) or not piece:
                _damaged(file, f"entry {index} of the vocabulary is {piece!r:.40}")
            yield index, piece[0]
    else:
        _damaged(file, "no model.vocab")
    added = content.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(token, dict) for token in added):
        _damaged(file, "added_tokens is not a list of objects")
    yield from ((token.get("id"), token.get("content")) for token in added)


def _by_id(file: Path, entries: list[tuple[Any, Any]]) -> list[str]:
    limit = _SPARSEST * len(entries) + 1000
    for index, token in entries:
        if type(index) is not int or not isinstance(token, str) or not 0 <= index < limit:
            _damaged(file, f"token {token!r:.40} has id {index!r:.40}")
    tokens = [""] * (1 + max((index for index, _ in entries), default=-1))
    for index, token in entries:
        tokens[index] = token
    return tokens


def readable(token: str) -> str:
    """A token as a person reads it: byte-level and sentencepiece markers undone, control characters escaped.

    Args:
        token: the raw string of `read_tokens`.

    Returns:
        Its text; raw where its bytes are no whole UTF-8 text.

    Example:
        >>> readable("Ġthe"), readable("▁the"), readable("Ċ"), readable("cafÃ©"), readable("<0x0A>")
        (' the', ' the', '\\\\n', 'café', '\\\\n')
    """
    if match := _BYTE_TOKEN.fullmatch(token):
        text = chr(int(match[1], 16)) if int(match[1], 16) < 0x80 else token
    else:
        text = _from_byte_level(token).replace("▁", " ")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _from_byte_level(token: str) -> str:
    """Undo GPT-2's mapping of bytes to printable characters (Radford et al. 2019); others are left as they are."""
    table = _byte_of_char()
    if not token or any(char not in table for char in token):
        return token
    try:
        return bytes(table[char] for char in token).decode("utf-8")
    except UnicodeDecodeError:
        return token


@cache
def _byte_of_char() -> dict[str, int]:
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + n): byte for n, byte in enumerate(hidden)}


def _damaged(file: Path, what: str) -> NoReturn:
    raise InputError(f"{file}: damaged tokenizer ({what}); download it again or remove it")
