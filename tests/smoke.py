"""What a wheel must do where there is neither a compiler nor a test suite: `python tests/smoke.py`."""

from __future__ import annotations

import ctypes
import importlib.util
import pkgutil
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import bbpe
from bbpe.core.budget import CPU

TEXT = "see my eyes first, see my dogs: 12345 Übermut 東京\n" * 50


def check_trained() -> None:
    tok = bbpe.train_from_iterator([TEXT], 300, pattern="o200k", special_tokens=["<|endoftext|>"])
    ids = tok.encode(TEXT)
    assert len(ids) < len(TEXT)
    assert tok.decode(ids) == TEXT
    assert np.array_equal(tok.encode_to_numpy(TEXT), ids)
    assert tok.encode_batch_to_numpy([TEXT, ""]).offsets.tolist() == [0, len(ids), len(ids)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tok.save(path)
        assert bbpe.load(path) == tok
        ranks = Path(folder) / "ranks.tiktoken"
        tok.save(ranks, drop=["special_tokens"])
        assert bbpe.load(ranks, pattern="o200k", special_tokens=tok.special_tokens).encode(TEXT) == ids


def check_split() -> None:
    for pattern in ("gpt2", "cl100k", "o200k", "deepseek_v3"):
        assert "".join(bbpe.split(TEXT, pattern)) == TEXT, pattern


def check_modules() -> None:
    """All of them are there, and can be imported: those of chats with jinja2, all others without any extra."""
    has_jinja = importlib.util.find_spec("jinja2") is not None
    for module in pkgutil.walk_packages(bbpe.__path__, "bbpe."):
        if module.name != "bbpe.__main__" and (has_jinja or not module.name.startswith("bbpe.compat.chat.")):
            importlib.import_module(module.name)


def has_avx2() -> bool:
    """What the system says of the processor."""
    if sys.platform == "win32":
        return bool(ctypes.windll.kernel32.IsProcessorFeaturePresent(40))
    if sys.platform == "darwin":
        told = subprocess.run(["sysctl", "-n", "hw.optional.avx2_0"], capture_output=True, text=True, check=False)
        return told.stdout.strip() == "1"
    return " avx2 " in Path("/proc/cpuinfo").read_text("utf-8").replace("\n", " ")


def check_cpu() -> None:
    """A compiler that says nothing of the processor would make everything slow without a word."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        assert CPU == "neon", CPU
    else:
        assert (CPU in ("avx2", "avx512")) == has_avx2(), CPU


if __name__ == "__main__":
    check_modules()
    check_cpu()
    check_trained()
    check_split()
    print(f"bbpe {bbpe.__version__} in {Path(bbpe.__file__).parent} works, with the instructions {CPU!r}")
