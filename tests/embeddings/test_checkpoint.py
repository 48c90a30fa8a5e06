"""Which matrix is read, how it is turned, and when two are one (real_problems 3, 4, 5, 19, 20)."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import torch

from superjax.core.errors import InputError, InputWarning
from superjax.embeddings.checkpoint import list_tensors, read_matrices, read_matrix
from superjax.embeddings.model_config import TIES_BY_DEFAULT
from tests.embeddings.checkpoint_files import matrix, same, write_config, write_folder, write_shards

E, U = matrix(seed=1), matrix(seed=2)


@pytest.mark.parametrize(
    ("names", "config"),
    [
        (("model.embed_tokens.weight", "lm_head.weight"), {"model_type": "llama", "tie_word_embeddings": False}),
        (("transformer.wte.weight", "lm_head.weight"), {"model_type": "gpt2", "tie_word_embeddings": False}),
        (("gpt_neox.embed_in.weight", "embed_out.weight"), {"model_type": "gpt_neox", "tie_word_embeddings": False}),
        (("word_embeddings.weight", "lm_head.weight"), None),
        (("decoder.embed_tokens.weight", "lm_head.weight"), None),
        (("shared.weight", "lm_head.weight"), {"model_type": "t5", "tie_word_embeddings": False}),
        (("tok_embeddings.weight", "output.weight"), None),
    ],
)
def test_problem_03_families_from_a_file(tmp_path, names, config):
    folder = write_folder(tmp_path, {names[0]: E, names[1]: U, "h.0.mlp.weight": matrix(8, 8)}, config)
    first, second = read_matrices(folder)
    same(first, E)
    same(second, U)
    assert [first.tensor, second.tensor] == list(names)
    assert first.tied is second.tied is False
    same(read_matrix(folder, role="output"), U)
    assert np.asarray(first).shape == (first.vocab, first.dim) == (50, 8)


def test_problem_03_width_is_not_hidden_size(tmp_path):
    """OPT-350m: 512 columns, hidden size 1024."""
    folder = write_folder(tmp_path, {"model.decoder.embed_tokens.weight": E}, {"vocab_size": 50, "hidden_size": 16})
    found = read_matrix(folder)
    same(found, E)
    assert (found.config_vocab, found.config_width) == (50, 16)
    assert any("width 8" in note and "16" in note for note in found.notes)


def test_problem_03_none_found_lists_what_is_there(tmp_path):
    folder = write_folder(tmp_path, {"weird.table": E, "small.table": matrix(3, 2), "bias": torch.zeros(4)})
    with pytest.raises(InputError, match=r"--tensor=NAME of: weird\.table, small\.table$"):
        read_matrix(folder)


def test_problem_03_several_are_listed(tmp_path):
    folder = write_folder(tmp_path, {"a.wte.weight": E, "b.wte.weight": U})
    with pytest.raises(InputError, match=r"several candidates.*a\.wte\.weight, b\.wte\.weight.*--tensor"):
        read_matrix(folder)
    same(read_matrix(folder, tensor="b.wte.weight"), U)


def test_problem_03_copies_of_one_table_are_one_candidate(tmp_path):
    """T5 and BART store the shared table up to three times."""
    names = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    folder = write_folder(tmp_path, dict.fromkeys(names, E))
    found = read_matrix(folder)
    same(found, E)
    assert found.tensor in names


@pytest.mark.parametrize(
    "prefix", ["_orig_mod.", "module.", "_orig_mod.module.", "model._orig_mod.", "_forward_module."]
)
def test_problem_02_prefixes_give_the_same_matrix(tmp_path, prefix):
    folder = write_folder(tmp_path, {f"{prefix}transformer.wte.weight": E, f"{prefix}lm_head.weight": U})
    first, second = read_matrices(folder)
    same(first, E)
    same(second, U)


def test_problem_02_collision_names_the_file_and_yields_to_tensor(tmp_path):
    folder = write_folder(tmp_path, {"wte.weight": E, "_orig_mod.wte.weight": U})
    with pytest.raises(InputError, match=r"model\.safetensors: .*without their wrappers"):
        read_matrix(folder)
    same(read_matrix(folder, tensor="_orig_mod.wte.weight"), U)


# tying


def test_tied_absent_output(tmp_path):
    """problem 4: only the embedding, and the configuration ties."""
    folder = write_folder(tmp_path, {"model.embed_tokens.weight": E}, {"tie_word_embeddings": True})
    (only,) = read_matrices(folder)
    assert (only.role, only.tied, only.tensor) == ("input", True, "model.embed_tokens.weight")
    output = read_matrix(folder, role="output")
    assert (output.role, output.tied) == ("output", True)
    same(output, E)


def test_problem_04_tied_absent_input(tmp_path):
    folder = write_folder(tmp_path, {"lm_head.weight": U}, {"tie_word_embeddings": True})
    (only,) = read_matrices(folder)
    assert (only.role, only.tied, only.tensor) == ("input", True, "lm_head.weight")
    same(only, U)


@pytest.mark.parametrize("role", ["input", "output"])
@pytest.mark.parametrize("present", ["model.embed_tokens.weight", "lm_head.weight"])
def test_problem_04_half_present(tmp_path, role, present):
    """Untied by configuration with one matrix absent: the file is incomplete, whichever is asked."""
    folder = write_folder(tmp_path, {present: E}, {"tie_word_embeddings": False})
    with pytest.raises(InputError, match=rf"holds {present} but no .*incomplete.*--tensor={present}$"):
        read_matrix(folder, role=role)
    same(read_matrix(folder, tensor=present), E)


def test_four_ways_are_told_apart(tmp_path):
    both = {"model.embed_tokens.weight": E, "lm_head.weight": U}
    one = {"model.embed_tokens.weight": E}
    ways = {
        "tied": (one, {"tie_word_embeddings": True}),
        "untied": (both, {"tie_word_embeddings": False}),
        "headless": (one, {"tie_word_embeddings": False, "architectures": ["LlamaModel"]}),
    }
    found = {way: read_matrix(write_folder(tmp_path / way, *rest)).tied for way, rest in ways.items()}
    assert found == {"tied": True, "untied": False, "headless": None}
    half = write_folder(tmp_path / "half", one, {"tie_word_embeddings": False, "architectures": ["LlamaForCausalLM"]})
    with pytest.raises(InputError, match="incomplete"):
        read_matrix(half)


def test_headless_has_no_output(tmp_path, minilm_folder):
    with pytest.raises(InputError, match="no output head; ask for the input matrix"):
        read_matrices(minilm_folder)
    with pytest.raises(InputError, match="no output head"):
        read_matrix(minilm_folder, role="output")


def test_no_configuration_leaves_the_tie_open(tmp_path):
    """problem 20: a path is enough, no config.json, no registry."""
    folder = write_folder(tmp_path, {"wte.weight": E})
    found = read_matrix(folder)
    assert found.tied is None
    assert "no configuration" in found.tie_note
    with pytest.raises(InputError, match="no output matrix is stored"):
        read_matrix(folder, role="output")


@pytest.mark.parametrize("model_type", ["gpt2", "opt", "gemma", "bloom", "t5"])
def test_families_that_tie_by_default(tmp_path, model_type):
    """Files leave a class's default out: gpt2's config.json does not mention tying."""
    folder = write_folder(tmp_path, {"wte.weight": E}, {"model_type": model_type})
    assert read_matrix(folder, role="output").tied is True


def test_default_ties_agree_with_transformers():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import CONFIG_MAPPING

        assert all(CONFIG_MAPPING[name]().tie_word_embeddings is True for name in TIES_BY_DEFAULT)
        assert not any(CONFIG_MAPPING[name]().tie_word_embeddings for name in ("llama", "qwen2", "mistral", "gpt_neox"))


def test_problem_05_says_tied_but_differs(tmp_path):
    folder = write_folder(tmp_path, {"wte.weight": E, "lm_head.weight": U}, {"tie_word_embeddings": True})
    with pytest.warns(InputWarning, match="says tied, but .* are different; the tensors are believed"):
        first, second = read_matrices(folder)
    assert first.tied is second.tied is False
    same(second, U)


def test_problem_05_says_untied_but_is_a_copy(tmp_path):
    folder = write_folder(tmp_path, {"wte.weight": E, "lm_head.weight": E}, {"tie_word_embeddings": False})
    with pytest.warns(InputWarning, match="says not tied, but .* bit for bit the same"):
        (only,) = read_matrices(folder)
    assert only.tied is True


@pytest.mark.parametrize("key", ["text_config", "llm_config", "thinker_config"])
def test_problem_05_nested_flag(tmp_path, key):
    folder = write_folder(
        tmp_path, {"model.embed_tokens.weight": E}, {key: {"tie_word_embeddings": True, "vocab_size": 50}}
    )
    found = read_matrix(folder)
    assert (found.tied, found.config_vocab) == (True, 50)


def test_one_bit_makes_them_different(tmp_path):
    other = E.clone()
    other[49, 7] = float(np.nextafter(np.float32(other[49, 7]), np.float32(9)))
    folder = write_folder(tmp_path, {"wte.weight": E, "lm_head.weight": other})
    assert read_matrix(folder).tied is False
    zero, minus = torch.zeros(4, 3), -torch.zeros(4, 3)
    assert read_matrix(write_folder(tmp_path / "z", {"wte.weight": zero, "lm_head.weight": minus})).tied is False


@pytest.mark.parametrize("row", [0, 23, 49])
def test_a_difference_in_any_block_is_seen(tmp_path, monkeypatch, row):
    """Blocks of two rows; one bit of one row differs."""
    monkeypatch.setattr("superjax.embeddings.readers.source._BLOCK_BYTES", 2 * 4 * 8)
    other = E.clone()
    folder = write_folder(tmp_path, {"wte.weight": E, "lm_head.weight": other})
    assert read_matrix(folder).tied is True
    other[row, -1] = np.nextafter(other[row, -1].item(), np.float32(9), dtype=np.float32).item()
    assert read_matrix(write_folder(tmp_path, {"wte.weight": E, "lm_head.weight": other})).tied is False


def test_nan_rows_do_not_untie(tmp_path):
    nan = E.clone()
    nan[3] = float("nan")
    assert read_matrix(write_folder(tmp_path, {"wte.weight": nan, "lm_head.weight": nan})).tied is True


def test_tie_by_values_across_dtypes(tmp_path):
    half = E.to(torch.bfloat16)
    folder = write_folder(tmp_path, {"wte.weight": half, "lm_head.weight": half.to(torch.float32)})
    assert read_matrix(folder).tied is True


@pytest.mark.parametrize(
    "tensors",
    [
        {"lm_head.qweight": torch.zeros(4, 4, dtype=torch.int32)},
        {"lm_head.weight": torch.zeros(4, 4, dtype=torch.uint8)},
    ],
)
def test_quantised_partner_leaves_the_tie_open(tmp_path, tensors):
    folder = write_folder(tmp_path, {"model.embed_tokens.weight": E, **tensors}, {"tie_word_embeddings": False})
    assert read_matrix(folder).tied is None
    with pytest.raises(InputError, match=r"quantised.*use the unquantised checkpoint"):
        read_matrix(folder, role="output")


# orientation


def test_problem_19_unembedding_of_transformer_lens_is_turned(tmp_path):
    folder = write_folder(tmp_path, {"embed.W_E": E, "unembed.W_U": U.T})
    first, second = read_matrices(folder)
    same(first, E)
    same(second, U)
    assert (first.transposed, second.transposed) == (False, True)
    assert any("transposed" in note for note in second.notes)


def test_problem_19_tied_transformer_lens(tmp_path):
    assert read_matrix(write_folder(tmp_path, {"W_E": E, "W_U": E.T})).tied is True


@pytest.mark.parametrize("wide", [False, True])
def test_problem_19_orientation_by_vocabulary(tmp_path, wide):
    stored = E.T if wide else E
    folder = write_folder(tmp_path, {"unembed.W_U": stored}, {"vocab_size": 50})
    same(read_matrix(folder, role="output"), E)


def test_orientation_by_the_other_matrix_when_wider_than_tall(tmp_path):
    """A toy transformer: 20 tokens in 64 dimensions, W_U is [64, 20]."""
    small = matrix(20, 64)
    folder = write_folder(tmp_path, {"W_E": small, "W_U": small.T})
    same(read_matrix(folder, role="output"), small)


def test_ambiguous_orientation_is_refused(tmp_path):
    folder = write_folder(tmp_path, {"W_U": matrix(64, 20)})
    with pytest.raises(InputError, match=r"no telling which axis is the vocabulary.*vocab_size"):
        read_matrix(folder, role="output")


def test_transposed_table_of_an_ordinary_name(tmp_path):
    found = read_matrix(write_folder(tmp_path, {"wte.weight": E.T}, {"vocab_size": 50}))
    same(found, E)
    assert found.transposed


@pytest.mark.parametrize("stored", [(384, 256), (256, 384)])
def test_problem_03_a_vocabulary_as_large_as_the_width_decides_nothing(tmp_path, stored):
    config = {"vocab_size": 256, "hidden_size": 256}
    folder = write_folder(tmp_path, {"wte.weight": matrix(*stored)}, config)
    with pytest.raises(InputError, match=r"gives 256 as vocabulary and as width: no telling.*correct or remove"):
        read_matrix(folder)
    square = write_folder(tmp_path / "square", {"wte.weight": matrix(256, 256)}, config)
    assert not read_matrix(square).transposed
    neither = write_folder(tmp_path / "neither", {"wte.weight": matrix(384, 128)}, config)
    assert read_matrix(neither).vocab == 384


# --tensor and listings


def test_tensor_takes_any_matrix(tmp_path):
    """A sparse autoencoder's decoder, one feature a row."""
    folder = write_folder(tmp_path, {"W_dec": U, "W_enc": matrix(8, 50), "b": torch.zeros(8)})
    found = read_matrix(folder, tensor="W_dec")
    same(found, U)
    assert (found.role, found.tied) == ("other", None)
    with pytest.raises(InputError, match=r"b has shape \[8\], expected two axes"):
        read_matrix(folder, tensor="b")


def test_wrong_tensor_name_lists_the_close_ones(tmp_path):
    folder = write_folder(tmp_path, {"model.embed_tokens.weight": E, "lm_head.weight": U})
    with pytest.raises(InputError, match=r"no tensor model\.embed_token\.weight; close: model\.embed_tokens\.weight"):
        read_matrix(folder, tensor="model.embed_token.weight")
    with pytest.raises(InputError, match="no tensor zzz; there are: "):
        read_matrix(folder, tensor="zzz")


def test_list_tensors(tmp_path):
    folder = write_shards(tmp_path, {"model-00001-of-00002.safetensors": {"wte.weight": E.half(), "b": torch.zeros(3)}},
                          **{"lm_head.weight": "model-00002-of-00002.safetensors"})  # fmt: skip
    assert {(t.name, t.shape, t.dtype) for t in list_tensors(folder)} == {
        ("wte.weight", (50, 8), "F16"), ("b", (3,), "F32"), ("lm_head.weight", None, "")}  # fmt: skip


def test_python_caller_errors(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((3, 2)))
    with pytest.raises(InputError, match="use input, output or both"):
        read_matrices(tmp_path / "rows.npy", roles=["embedding"])
    with pytest.raises(InputError, match="holds one matrix, but input and output were asked"):
        read_matrices(tmp_path / "rows.npy")


# config.json


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a JSON object"),
        ("3", "not a JSON object"),
        ('{"vocab_size": "50"}', "vocab_size is '50', expected a whole number above 0"),
        ('{"vocab_size": -1}', "vocab_size"),
        ('{"vocab_size": true}', "vocab_size"),
        ('{"vocab_size": [50]}', "vocab_size"),
        ('{"hidden_size": 8.5}', "hidden_size"),
        ('{"tie_word_embeddings": "yes"}', "tie_word_embeddings is 'yes', expected true or false"),
        ('{"text_config": {"vocab_size": {}}}', "vocab_size"),
        ('{"quantization_config": {"weight_block_size": 128}}', "weight_block_size"),
    ],
)
def test_broken_configuration(tmp_path, text, says):
    write_folder(tmp_path, {"wte.weight": E})
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError, match=rf"config\.json: .*{says}.*correct or remove it$"):
        read_matrix(tmp_path)


@pytest.mark.parametrize(
    "config",
    [
        {"vocab_size": None, "architectures": None, "text_config": 3},
        {"architectures": "LlamaModel", "model_type": 7, "quantization_config": []},
        {"architectures": [1, None], "text_config": {"text_config": {"text_config": {"text_config": {}}}}},
    ],
)
def test_odd_configurations_that_do_no_harm(tmp_path, config):
    same(read_matrix(write_folder(tmp_path, {"wte.weight": E}, config)), E)


def test_configuration_beside_a_single_file(tmp_path):
    write_folder(tmp_path, {"wte.weight": E})
    write_config(tmp_path, tie_word_embeddings=True)
    assert read_matrix(tmp_path / "model.safetensors").tied is True


def test_notes_and_messages_are_single_lines(tmp_path):
    folder = write_folder(tmp_path, {"W_U": U.T, "bad\nname": E}, json.loads('{"vocab_size": 50}'))
    with pytest.raises(InputError) as caught:
        read_matrix(folder, role="output")
    assert "\n" not in str(caught.value)
