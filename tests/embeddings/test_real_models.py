"""Real models from packages, the same values in every format (issue "It must show" 2)."""

from __future__ import annotations

import numpy as np
import torch

from superjax.embeddings.checkpoint import read_matrix
from tests.embeddings.checkpoint_files import matrix, same, write_shards

E = matrix(seed=1)


def test_minilm_in_every_format(minilm_folder, tmp_path):
    import transformers

    expected = transformers.AutoModel.from_pretrained(minilm_folder, dtype=torch.float32)
    table = expected.get_input_embeddings().weight.detach().numpy()
    assert table.shape == (30522, 384)
    same(read_matrix(minilm_folder), table)
    state = expected.state_dict()
    torch.save(state, tmp_path / "model.bin")
    same(read_matrix(tmp_path / "model.bin"), table)
    names = list(state)
    shards = {f"pytorch_model-{i + 1:05d}-of-00004.bin": {n: state[n] for n in names[i::4]} for i in range(4)}
    same(read_matrix(write_shards(tmp_path / "shards", shards)), table)
    expected.save_pretrained(tmp_path / "small", max_shard_size="20MB")
    assert len(list((tmp_path / "small").glob("*.safetensors"))) > 1
    found = read_matrix(tmp_path / "small")
    same(found, table)
    assert found.format == "sharded safetensors"


def test_wordllama(wordllama_file):
    from safetensors.numpy import load_file

    found = read_matrix(wordllama_file)
    same(found, load_file(wordllama_file)["embedding.weight"].astype(np.float32))
    assert (found.array.shape, found.dtype) == ((32000, 256), "F16")


def test_smollm2_from_gguf_and_from_the_pytorch_file_made_of_it(smollm2_gguf, tmp_path):
    import transformers

    loaded = transformers.AutoModelForCausalLM.from_pretrained(
        smollm2_gguf.parent, gguf_file=smollm2_gguf.name, dtype=torch.float32
    )
    torch.save(loaded.state_dict(), tmp_path / "pytorch_model.bin")
    loaded.config.save_pretrained(tmp_path)

    from_gguf, from_pytorch = read_matrix(smollm2_gguf), read_matrix(tmp_path)
    assert (from_gguf.array.shape, from_gguf.config_vocab) == ((49152, 576), 49152)
    same(from_pytorch, from_gguf.array)
    assert from_gguf.tied is from_pytorch.tied is True
    assert np.isfinite(from_gguf.array).all()
    assert from_gguf.array.std() > 0.01
