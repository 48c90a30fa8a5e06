"""The names of the two matrices in every family, under wrappers, beside look-alikes (real_problems 2, 3)."""

from __future__ import annotations

import pytest

from superjax.core.errors import InputError
from superjax.embeddings.names import canonical, find_candidates, parse_roles, role_of

FAMILIES = {
    # family: (input, output), None where the family's files have none
    "Llama, Mistral, Qwen, Gemma, Phi-3, GLM, DeepSeek, gpt-oss": ("model.embed_tokens.weight", "lm_head.weight"),
    "GPT-2": ("transformer.wte.weight", "lm_head.weight"),
    "GPT-2 without prefix": ("wte.weight", None),
    "GPT-NeoX, Pythia": ("gpt_neox.embed_in.weight", "embed_out.weight"),
    "OPT": ("model.decoder.embed_tokens.weight", "lm_head.weight"),
    "OPT without model": ("decoder.embed_tokens.weight", None),
    "Bloom": ("word_embeddings.weight", None),
    "Bloom with head": ("transformer.word_embeddings.weight", "lm_head.weight"),
    "Falcon": ("transformer.word_embeddings.weight", "lm_head.weight"),
    "MPT": ("transformer.wte.weight", None),
    "Phi-1": ("transformer.embd.wte.weight", "lm_head.linear.weight"),
    "T5": ("shared.weight", "lm_head.weight"),
    "BERT": ("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"),
    "BERT without head": ("embeddings.word_embeddings.weight", None),
    "RoBERTa": ("roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"),
    "DistilBERT": ("distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight"),
    "ALBERT": ("albert.embeddings.word_embeddings.weight", "predictions.decoder.weight"),
    "ELECTRA": ("electra.embeddings.word_embeddings.weight", "generator_lm_head.weight"),
    "ModernBERT": ("model.embeddings.tok_embeddings.weight", None),
    "XLNet": ("transformer.word_embedding.weight", "lm_loss.weight"),
    "Mamba": ("backbone.embeddings.weight", "lm_head.weight"),
    "Mamba, original": ("backbone.embedding.weight", "lm_head.weight"),
    "RWKV, original": ("emb.weight", "head.weight"),
    "Llama, original": ("tok_embeddings.weight", "output.weight"),
    "InternLM2": ("model.tok_embeddings.weight", "output.weight"),
    "gpt-oss, original": ("embedding.weight", "unembedding.weight"),
    "DeepSeek, original": ("embed.weight", "head.weight"),
    "OLMo 1": ("model.transformer.wte.weight", "model.transformer.ff_out.weight"),
    "ChatGLM": ("transformer.embedding.word_embeddings.weight", "transformer.output_layer.weight"),
    "GGUF": ("token_embd.weight", "output.weight"),
    "TransformerLens": ("embed.W_E", "unembed.W_U"),
    "TransformerLens, bare": ("W_E", "W_U"),
    "LLaVA": ("language_model.model.embed_tokens.weight", "language_model.lm_head.weight"),
    "LLaVA, transformers 5": ("model.language_model.embed_tokens.weight", "lm_head.weight"),
    "CLIP text": ("text_model.embeddings.token_embedding.weight", None),
    "Qwen Omni": ("thinker.model.embed_tokens.weight", "thinker.lm_head.weight"),
    "Whisper": ("model.decoder.embed_tokens.weight", "proj_out.weight"),
    "static": ("embedding.weight", None),
}
LOOK_ALIKES = [
    "wpe.weight",
    "transformer.wpe.weight",
    "model.decoder.embed_positions.weight",
    "embeddings.position_embeddings.weight",
    "embeddings.token_type_embeddings.weight",
    "vision_tower.vision_model.embeddings.position_embedding.weight",
    "vision_model.embeddings.patch_embedding.weight",
    "visual.embed_tokens.weight",
    "model.visual.shared.weight",
    "talker.model.embed_tokens.weight",
    "model.layers.61.embed_tokens.weight",
    "model.layers.61.shared_head.head.weight",
    "encoder.layer.0.attention.output.weight",
    "transformer.blocks.3.ff_out.weight",
    "blk.0.output.weight",
    "model.embed_tokens_per_layer.weight",
    "embed_tokens.weight.exp_avg",
    "classifier.head.weight",
    "decoder.weight",
    "encoder.embeddings.weight",
    "token_embd_norm.weight",
]


@pytest.mark.parametrize("family", FAMILIES)
def test_problem_03_families(family):
    names = [name for name in FAMILIES[family] if name is not None]
    found = find_candidates([*LOOK_ALIKES, *names])
    assert found.readable["input"] + found.readable["output"] == names


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alikes_have_no_role(name):
    assert role_of(name) is None


@pytest.mark.parametrize(
    "wrapped",
    [
        "_orig_mod.transformer.wte.weight",
        "module.transformer.wte.weight",
        "_orig_mod.module.transformer.wte.weight",
        "module.module.transformer.wte.weight",
        "_forward_module.transformer.wte.weight",
        "_fsdp_wrapped_module.transformer._fsdp_wrapped_module.wte.weight",
        "transformer._orig_mod.wte.weight",
        "transformer.wte._orig_mod.weight",
    ],
)
def test_problem_02_wrappers_anywhere(wrapped):
    assert canonical(wrapped) == "transformer.wte.weight"
    assert role_of(wrapped) == "input"


def test_problem_02_model_orig_mod():
    assert role_of("model._orig_mod.embed_tokens.weight") == "input"
    assert role_of("module.output.weight") == "output"
    assert role_of("attention.output.weight") is None


def test_problem_02_collision_is_refused():
    """A real child called _orig_mod: taking the wrapper off would merge two tensors."""
    with pytest.raises(InputError, match=r"wte\.weight, _orig_mod\.wte\.weight: both are wte\.weight"):
        find_candidates(["wte.weight", "_orig_mod.wte.weight"])


def test_a_collision_elsewhere_is_no_concern():
    found = find_candidates(["wte.weight", "block.weight", "block._orig_mod.weight"])
    assert found.readable["input"] == ["wte.weight"]


@pytest.mark.parametrize("tail", ["qweight", "weight_packed", "weight.absmax"])
def test_quantised_matrices_are_told(tail):
    assert find_candidates([f"lm_head.{tail}"]).quantised["output"] == [f"lm_head.{tail}"]


@pytest.mark.parametrize("roles", [[], ["inputs"], ["input", "both"], [""]])
def test_unknown_roles(roles):
    with pytest.raises(InputError, match="use input, output or both"):
        parse_roles(roles)
