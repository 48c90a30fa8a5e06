"""Every dtype is upcast exactly, float8 with its scales; in blocks of any size (real_problems 6)."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from superjax.core.errors import InputError
from superjax.embeddings.checkpoint import read_matrix
from tests.embeddings.checkpoint_files import matrix, raw_safetensors, same, write_folder

E = matrix(seed=1)


@pytest.fixture(params=["one block", "many blocks"], autouse=True)
def block_bytes(request, monkeypatch):
    """Real matrices are read in many blocks of rows, the small ones here in one: read them both ways."""
    if request.param == "many blocks":
        monkeypatch.setattr("superjax.embeddings.readers.source._BLOCK_BYTES", 7 * 4 * 8)


@pytest.mark.parametrize("kind", ["safetensors", "bin"])
@pytest.mark.parametrize(
    ("dtype", "name"),
    [(torch.float64, "F64"), (torch.float32, "F32"), (torch.float16, "F16"), (torch.bfloat16, "BF16"),
     (torch.float8_e4m3fn, "F8_E4M3"), (torch.float8_e5m2, "F8_E5M2")],
)  # fmt: skip
def test_problem_06_dtypes(tmp_path, kind, dtype, name):
    tensor = (100 * E.double()).to(dtype)
    path = tmp_path / f"model.{kind}"
    (save_file if kind == "safetensors" else torch.save)({"wte.weight": tensor}, path)
    found = read_matrix(path)
    same(found, tensor.to(torch.float64 if name == "F64" else torch.float32).numpy())
    assert found.dtype == name


def test_problem_06_every_16_bit_and_8_bit_pattern(tmp_path):
    """NaN, infinities and subnormals too, against ml_dtypes; a NaN stays a NaN."""
    kinds = {
        "BF16": ml_dtypes.bfloat16,
        "F16": np.float16,
        "F8_E4M3": ml_dtypes.float8_e4m3fn,
        "F8_E5M2": ml_dtypes.float8_e5m2,
    }
    for kind, dtype in kinds.items():
        bits = np.arange(1 << 8 * np.dtype(dtype).itemsize, dtype=f"u{np.dtype(dtype).itemsize}")
        data = bits.tobytes()
        header = {"wte.weight": {"dtype": kind, "shape": [16, bits.size // 16], "data_offsets": [0, len(data)]}}
        found = read_matrix(raw_safetensors(tmp_path / "all.safetensors", header, data)).array
        expected = bits.view(dtype).astype(np.float32).reshape(16, -1)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool, torch.complex64])
@pytest.mark.parametrize("kind", ["safetensors", "bin"])
def test_other_dtypes_are_refused_by_name(tmp_path, dtype, kind):
    path = tmp_path / f"model.{kind}"
    (save_file if kind == "safetensors" else torch.save)({"wte.weight": torch.zeros(4, 3, dtype=dtype)}, path)
    with pytest.raises(
        InputError, match=r"wte\.weight has dtype \S+, which is quantised or no plain float.*unquantised"
    ):
        read_matrix(path)


def test_problem_08_gptq_is_refused_by_name(tmp_path):
    folder = write_folder(tmp_path, {"model.embed_tokens.qweight": torch.zeros(4, 4, dtype=torch.int32)})
    with pytest.raises(InputError, match=r"quantised \(model\.embed_tokens\.qweight\); use the unquantised"):
        read_matrix(folder)


# float8 scales

F8 = (E * 3).to(torch.float8_e4m3fn)
BIG = matrix(300, 260).to(torch.float8_e4m3fn)


def scaled(tmp_path, tensor, config=None, **scales):
    tensors = {"lm_head.weight": tensor} | {f"lm_head.{name}": scale for name, scale in scales.items()}
    return read_matrix(write_folder(tmp_path, tensors, config), role="output")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (50,), (50, 1)])
def test_float8_scales_per_tensor_and_per_row(tmp_path, shape, dtype):
    scale = torch.from_numpy(np.random.default_rng(3).uniform(0.5, 2, shape).astype(np.float32)).to(dtype)
    column = scale.float().numpy().reshape(-1, 1)
    same(scaled(tmp_path, F8, weight_scale=scale), F8.float().numpy() * column)


@pytest.mark.parametrize("block", [None, (128, 128), (100, 64)])
def test_float8_scales_by_block(tmp_path, block):
    """DeepSeek: weight_scale_inv, whose entries multiply blocks of 128 x 128, the last ones smaller."""
    b = block or (128, 128)
    scale = np.random.default_rng(3).uniform(0.5, 2, (-(-300 // b[0]), -(-260 // b[1]))).astype(np.float32)
    full = np.kron(scale, np.ones(b, np.float32))[:300, :260]
    config = {"quantization_config": {"quant_method": "fp8"} | ({"weight_block_size": list(b)} if block else {})}
    found = scaled(tmp_path, BIG, config, weight_scale_inv=torch.from_numpy(scale))
    same(found, BIG.float().numpy() * full)


def test_float8_scales_from_pytorch(tmp_path):
    torch.save({"wte.weight": F8, "wte.weight_scale": torch.tensor(0.25)}, tmp_path / "m.bin")
    same(read_matrix(tmp_path / "m.bin"), F8.float().numpy() * np.float32(0.25))


@pytest.mark.parametrize(
    ("scales", "says"),
    [
        ({"weight_scale_2": torch.ones(1), "weight_scale": torch.ones(1)}, "weight_scale_2"),
        ({"scale_weight": torch.ones(1)}, "scale_weight, not known here"),
        ({"weight_scale": torch.ones(8)}, r"has shape \[8\], which fits neither"),
        ({"weight_scale": torch.ones(7, 3)}, r"has shape \[7, 3\]"),
        ({"weight_scale": torch.ones(50, dtype=torch.uint8)}, "has dtype U8, not known for float8 scales"),
    ],
)
def test_unknown_float8_scales_are_refused_by_name(tmp_path, scales, says):
    with pytest.raises(InputError, match=rf"{says}.*use the unquantised checkpoint"):
        scaled(tmp_path, F8, **scales)


def test_float8_without_scales(tmp_path):
    found = scaled(tmp_path, F8, input_scale=torch.ones(1))
    same(found, F8.float().numpy())
    assert any("without scales" in note for note in found.notes)
    with pytest.raises(InputError, match=r"float8 \(fp8\) without lm_head\.weight_scale"):
        scaled(tmp_path, F8, {"quantization_config": {"quant_method": "fp8"}})
