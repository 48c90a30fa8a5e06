"""The vocabulary of tokenizer.json: real files against the tokenizers package, and damaged ones."""

from __future__ import annotations

import json

import pytest

from superjax.core.errors import InputError
from superjax.embeddings.tokens import read_tokens, readable


def test_minilm_equals_the_tokenizers_package(minilm_folder):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(minilm_folder / "tokenizer.json"))
    tokens = read_tokens(minilm_folder)
    assert tokens == [tokenizer.id_to_token(index) for index in range(30522)]
    assert read_tokens(minilm_folder / "model.safetensors") == tokens


def test_byte_level_text_equals_the_tokenizers_package(tmp_path):
    """readable() undoes byte-level markers as the package's own decoder does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    text = ["the café, naïve", " x = 1\n\ty", "日本語 日本語", "Ωmega Ωmega"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(text * 5, trainer)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    tokens = read_tokens(tmp_path)
    assert tokens is not None
    assert len(tokens) == tokenizer.get_vocab_size()
    whole = 0
    for index, token in enumerate(tokens):
        decoded = tokenizer.decode([index])
        if "\N{REPLACEMENT CHARACTER}" not in decoded and decoded.isprintable():
            assert readable(token) == decoded
            whole += 1
    assert whole > 100


def test_unigram_and_added_tokens(tmp_path):
    content = {
        "model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["▁the", -1.5]]},
        "added_tokens": [{"id": 0, "content": "<pad>"}, {"id": 3, "content": "<extra>"}],
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert read_tokens(tmp_path) == ["<pad>", "▁the", "", "<extra>"]


def test_tokens_of_a_gguf_file_equal_the_package(smollm2_gguf):
    import gguf

    expected = gguf.GGUFReader(smollm2_gguf).get_field("tokenizer.ggml.tokens").contents()
    assert read_tokens(smollm2_gguf) == expected
    assert " the" in map(readable, expected)


def test_absent_tokenizer(tmp_path):
    assert read_tokens(tmp_path) is None
    assert read_tokens(tmp_path / "rows.npy") is None


@pytest.mark.parametrize(
    ("token", "text"),
    [("<0x41>", "A"), ("<0xE9>", "<0xE9>"), ("##ing", "##ing"), ("é", "é"), ("", ""), ("▁▁", "  "), ("ĉ", "\\t"),
     ("ðŁ", "ðŁ"), ("\x1b[31m", "\\x1b[31m"), ("日本", "日本")],
)  # fmt: skip
def test_readable(token, text):
    assert readable(token) == text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"model": 3}',
        b'{"model": {"vocab": 3}}',
        b'{"model": {"vocab": {"a": -1}}}',
        b'{"model": {"vocab": {"a": "0"}}}',
        b'{"model": {"vocab": {"a": true}}}',
        b'{"model": {"vocab": {"a": 99999999999}}}',
        b'{"model": {"vocab": [3]}}',
        b'{"model": {"vocab": [[]]}}',
        b'{"model": {"vocab": [[5, 0.1]]}}',
        b'{"model": {"vocab": {}}, "added_tokens": {"a": 1}}',
        b'{"model": {"vocab": {}}, "added_tokens": [{"content": "a"}]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_damaged_tokenizer(tmp_path, content):
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(InputError, match=r"tokenizer\.json: damaged tokenizer .*; download it again or remove it$"):
        read_tokens(tmp_path)
