"""Knows how model families call their input embedding and output (unembedding) matrix, under any wrapper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, cast, get_args

from superjax.core.errors import InputError
from superjax.embeddings.readers.source import listed

Role = Literal["input", "output"]
ROLES: tuple[Role, ...] = get_args(Role)

_ANYWHERE: dict[Role, tuple[str, ...]] = {
    "input": (
        "embed_tokens.weight",  # Llama, Mistral, Qwen, Gemma, Phi-3, GLM, DeepSeek, gpt-oss, OPT, BART, Whisper
        "shared.weight",  # T5, BART
        "wte.weight",  # GPT-2, GPT-J, MPT, Qwen 1, OLMo 1
        "embed_in.weight",  # GPT-NeoX, Pythia
        "word_embeddings.weight",  # Bloom, Falcon, BERT and its kin, ChatGLM, Megatron
        "word_embedding.weight",  # XLNet
        "tok_embeddings.weight",  # original Llama and Mistral files, InternLM 2, ModernBERT
        "token_embedding.weight",  # CLIP's text model
        "token_embd.weight",  # GGUF
        "W_E",  # TransformerLens
    ),
    "output": (
        "lm_head.weight",
        "lm_head.linear.weight",  # Phi-1, first files
        "embed_out.weight",  # GPT-NeoX, Pythia
        "output_layer.weight",  # ChatGLM, Megatron
        "lm_head.decoder.weight",  # RoBERTa and its kin
        "cls.predictions.decoder.weight",  # BERT
        "predictions.decoder.weight",  # ALBERT
        "vocab_projector.weight",  # DistilBERT
        "generator_lm_head.weight",  # ELECTRA
        "lm_loss.weight",  # XLNet
        "pred_layer.proj.weight",  # XLM
        "unembedding.weight",  # gpt-oss, original files
        "W_U",  # TransformerLens
    ),
}
_AT_THE_TOP: dict[Role, tuple[str, ...]] = {
    "input": (
        "embeddings.weight",  # Mamba, XLM, RWKV in transformers
        "embedding.weight",  # Mamba, original files; gpt-oss, original files; static embeddings
        "embeddings",  # static embeddings
        "embed.weight",  # DeepSeek, original files
        "emb.weight",  # RWKV, original files
    ),
    "output": (
        "output.weight",  # original Llama and Mistral files, InternLM 2, GGUF
        "head.weight",  # DeepSeek and RWKV, original files
        "ff_out.weight",  # OLMo 1
        "proj_out.weight",  # Whisper
    ),
}
"""Words too common to be believed deep inside a model: only under `_CONTAINERS`."""

_CONTAINERS = frozenset(
    ("model", "backbone", "language_model", "transformer", "rwkv", "net", "state_dict", "model_state_dict", "params")
)
_WRAPPERS = frozenset(
    ("_orig_mod", "module", "_forward_module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_dp_module")
)
_OTHER_SENSES = """
    audio audio_encoder audio_model audio_tower code2wav code_predictor codec image_encoder image_tower mtp qformer
    speech speech_encoder talker token2wav vision vision_encoder vision_model vision_tower visual visual_model
    vq_model vqmodel
"""
_FOREIGN = frozenset(_OTHER_SENSES.split())
"""Parts of a model whose tables are not the vocabulary's: other senses, and multi-token-prediction layers."""
_INSIDE_A_LAYER = re.compile(r"(^|\.)(layers?|blocks?|blk|h)\.\d+\.")
_TRANSPOSED = ("W_U",)
_QUANTISED_TAILS = ("qweight", "weight_packed", "weight_quantized", "weight.absmax", "weight.SCB")


class Candidates(NamedTuple):
    """The tensors of a checkpoint that may be the matrices: readable ones by role, and quantised ones."""

    readable: dict[Role, list[str]]
    quantised: dict[Role, list[str]]


def canonical(name: str) -> str:
    """A tensor name without what compilers and distributed trainers wrap around modules.

    Example:
        >>> canonical("_orig_mod.module.transformer.wte.weight")
        'transformer.wte.weight'
    """
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)


def role_of(name: str) -> Role | None:
    """Which of the two matrices a tensor name means, if any.

    Args:
        name: as it stands in the checkpoint, wrappers included.

    Returns:
        "input", "output" or None.

    Example:
        >>> role_of("model.language_model.embed_tokens.weight"), role_of("embed_out.weight")
        ('input', 'output')
        >>> role_of("visual.embed_tokens.weight") is role_of("wpe.weight") is None
        True
    """
    plain = canonical(name)
    parts = plain.split(".")
    if _FOREIGN.intersection(parts) or _INSIDE_A_LAYER.search(plain):
        return None
    for role in ROLES:
        if any(plain == alias or plain.endswith("." + alias) for alias in _ANYWHERE[role]):
            return role
        for alias in _AT_THE_TOP[role]:
            above = plain.removesuffix(alias)
            if above != plain and _CONTAINERS.issuperset(above.removesuffix(".").split(".") if above else ()):
                return role
    return None


def stored_transposed(name: str) -> bool:
    """Whether the family that uses this name stores the matrix as [d, V].

    Example:
        >>> stored_transposed("unembed.W_U"), stored_transposed("embed.W_E")
        (True, False)
    """
    return canonical(name).split(".")[-1] in _TRANSPOSED


def find_candidates(names: Iterable[str]) -> Candidates:
    """Sort a checkpoint's tensor names into candidates for the two matrices.

    Args:
        names: all tensor names of the checkpoint.

    Returns:
        `Candidates`; a role without any has an empty list.

    Raises:
        InputError: two candidates have the same name once their wrappers are taken off.

    Example:
        >>> find_candidates(["wte.weight", "wpe.weight", "lm_head.qweight"])
        Candidates(readable={'input': ['wte.weight'], 'output': []},
                   quantised={'input': [], 'output': ['lm_head.qweight']})
    """
    found = Candidates({"input": [], "output": []}, {"input": [], "output": []})
    seen: dict[str, str] = {}
    for name in names:
        if role := role_of(name):
            plain = canonical(name)
            if plain in seen:
                raise InputError(
                    f"{seen[plain]}, {name}: both are {plain} without their wrappers; choose one with --tensor=NAME"
                )
            seen[plain] = name
            found.readable[role].append(name)
        elif quantised_role := _quantised_role(name):
            found.quantised[quantised_role].append(name)
    return found


def _quantised_role(name: str) -> Role | None:
    for tail in _QUANTISED_TAILS:
        if name.endswith("." + tail):
            return role_of(name.removesuffix(tail) + "weight")
    return None


def parse_roles(roles: Sequence[str]) -> tuple[Role, ...]:
    """The asked roles, each once, in the order asked.

    Args:
        roles: "input" and "output" in any order.

    Returns:
        The same without repetition.

    Raises:
        InputError: another word, or none at all.

    Example:
        >>> parse_roles(["output", "input", "output"])
        ('output', 'input')
    """
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        raise InputError(f"matrix: {listed([repr(r) for r in unknown]) or 'nothing'} asked; use input, output or both")
    return cast("tuple[Role, ...]", tuple(dict.fromkeys(roles)))
