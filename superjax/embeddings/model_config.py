"""What a checkpoint says of its model: vocabulary, width, tying and quantisation, from config.json or GGUF metadata."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from superjax.core.errors import InputError
from superjax.embeddings.readers.json_file import load_json

_NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "decoder", "generator")
_VOCAB_KEYS = ("vocab_size", "padded_vocab_size", "n_vocab", "d_vocab")
_WIDTH_KEYS = ("hidden_size", "d_model", "n_embd", "dim")
_NO_LM_HEAD = re.compile(r"(?<!LMHead)(?<!DoubleHeads)(Model|Classification|QuestionAnswering|MultipleChoice|Encoder)$")
# Model types whose configuration class ties unless told otherwise (transformers 5.24); files leave defaults out.
_TYING_FAMILIES = """
    albert bart bert big_bird bigbird_pegasus biogpt blenderbot bloom camembert cohere cohere2 convbert deberta
    deberta-v2 distilbert electra ernie4_5 esm falcon falcon_mamba gemma gemma2 gemma3 gemma3_text gemma3n
    gemma3n_text gpt2 gpt_bigcode gpt_neo lfm2 longformer longt5 m2m_100 mamba marian mbart minicpm3 mistral3
    mobilebert modernbert mpnet mpt mt5 openai-gpt opt paligemma pegasus recurrent_gemma roberta smollm3 starcoder2
    switch_transformers t5 t5gemma umt5 whisper xglm xlm xlm-roberta xlnet
"""
TIES_BY_DEFAULT = frozenset(_TYING_FAMILIES.split())
_GGUF_ENCODERS = frozenset(
    ("bert", "gemma-embedding", "jina-bert-v2", "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "t5encoder")
)


@dataclass(frozen=True)
class ModelConfig:
    """What is known of a model beside its tensors; None where nothing is said."""

    path: Path | None = None
    vocab: int | None = None
    """Rows the vocabulary should have."""
    width: int | None = None
    """Width of the hidden states; the embedding's may differ (OPT-350m)."""
    ties: bool | None = None
    """Whether input and output are said, in so many words, to be one matrix."""
    ties_by_default: bool = False
    """Whether the model type ties when nothing is said."""
    headless: bool = False
    """Whether the architecture has no language-model head."""
    quantisation: str | None = None
    block: tuple[int, int] = (128, 128)
    """Rows and columns that share one float8 scale."""


def read_config(folder: Path) -> ModelConfig:
    """Read `config.json` of a folder; an absent file gives an empty configuration.

    Args:
        folder: where the weights lie.

    Returns:
        The `ModelConfig`; text models nested in multimodal configurations are looked into.

    Raises:
        InputError: the file is there but is not JSON, not an object, or gives a value of the wrong type.
    """
    path = folder / "config.json"

    def refuse(what: str) -> NoReturn:
        raise InputError(f"{path}: the configuration {what}; correct or remove it")

    if not path.is_file():
        return ModelConfig()
    content = load_json(path, refuse)
    if not isinstance(content, dict):
        refuse("is not a JSON object")
    return _from_json(path, content)


def _from_json(path: Path, content: dict[str, Any]) -> ModelConfig:
    parts = list(_parts(content, depth=3))
    ties = [flag for part in parts if (flag := _flag(path, part, "tie_word_embeddings")) is not None]
    quantisation = next((q for part in parts if isinstance(q := part.get("quantization_config"), dict)), {})
    architectures = content.get("architectures")
    names = [name for name in architectures if isinstance(name, str)] if isinstance(architectures, list) else []
    return ModelConfig(
        path=path,
        vocab=_size(path, parts, _VOCAB_KEYS),
        width=_size(path, parts, _WIDTH_KEYS),
        ties=any(ties) if ties else None,
        ties_by_default=str(content.get("model_type")) in TIES_BY_DEFAULT,
        headless=bool(names) and all(_NO_LM_HEAD.search(name) for name in names),
        quantisation=str(quantisation.get("quant_method", "unnamed")) if quantisation else None,
        block=_block(path, quantisation.get("weight_block_size")),
    )


def _parts(content: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    """The configuration and those nested in it, the innermost text model first."""
    for key in _NESTED:
        if isinstance(nested := content.get(key), dict) and depth:
            yield from _parts(nested, depth - 1)
    yield content


def _flag(path: Path, part: Mapping[str, Any], key: str) -> bool | None:
    value = part.get(key)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"{path}: {key} is {value!r}, expected true or false; correct or remove it")
    return value


def _size(path: Path, parts: list[Mapping[str, Any]], keys: tuple[str, ...]) -> int | None:
    for part in parts:
        for key in keys:
            value = part.get(key)
            if value is None:
                continue
            if type(value) is not int or value < 1:
                raise InputError(f"{path}: {key} is {value!r}, expected a whole number above 0; correct or remove it")
            return value
    return None


def _block(path: Path, value: Any) -> tuple[int, int]:
    if value is None:
        return ModelConfig.block
    if not isinstance(value, list) or len(value) != 2 or not all(type(n) is int and n > 0 for n in value):
        raise InputError(f"{path}: weight_block_size is {value!r}, expected two whole numbers; correct or remove it")
    return value[0], value[1]


def config_from_gguf(metadata: Mapping[str, Any], names: Collection[str]) -> ModelConfig:
    """The configuration a GGUF file carries in its metadata.

    llama.cpp uses `token_embd` as the output where a generating model stores none, so absence means tied.

    Args:
        metadata: the file's key-value pairs.
        names: its tensors' names.

    Returns:
        The `ModelConfig`.
    """
    architecture = str(metadata.get("general.architecture", ""))
    headless = architecture in _GGUF_ENCODERS

    def number(key: str) -> int | None:
        value = metadata.get(f"{architecture}.{key}")
        return value if type(value) is int and value > 0 else None

    tokens = metadata.get("tokenizer.ggml.tokens")
    return ModelConfig(
        vocab=number("vocab_size") or (len(tokens) if isinstance(tokens, list) and tokens else None),
        width=number("embedding_length"),
        ties=True if not headless and "output.weight" not in names else None,
        headless=headless,
    )
