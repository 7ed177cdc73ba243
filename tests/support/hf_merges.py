"""The merges that HF `tokenizers` learns from the whole corpora: asked once, kept as digests in hf_merges.json.

`python tests/support/hf_merges.py` asks HF again, which takes it many minutes, and writes that file.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bbpe.text import alphabet_to_bytes

KEPT = Path(__file__).with_name("hf_merges.json")
CORPORA = Path(__file__).resolve().parents[3] / "shared" / "corpora"
#: Thousands of tokens.
SIZES = {"en": (32, 64, 128), "code": (32,), "multi": (32,), "ja": (32, 64, 128), "zh": (32,)}

Merges = list[tuple[bytes, bytes]]


def merges_by_hf(texts: Sequence[str], vocab_size: int) -> Merges:
    import tokenizers

    hf = tokenizers.Tokenizer(tokenizers.models.BPE())
    hf.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=1,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    hf.train_from_iterator(texts, trainer)
    pairs = json.loads(hf.to_str())["model"]["merges"]
    return [(alphabet_to_bytes(left), alphabet_to_bytes(right)) for left, right in pairs]


def documents(text: str) -> list[str]:
    """2,000 lines each, so that HF uses its threads and no document is huge."""
    lines = text.splitlines(keepends=True)
    return ["".join(lines[i : i + 2_000]) for i in range(0, len(lines), 2_000)]


def sha256_of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_of_merges(merges: Iterable[tuple[bytes, bytes]]) -> str:
    """Of a line for each merge, both sides in hexadecimal."""
    return hashlib.sha256("".join(f"{left.hex()} {right.hex()}\n" for left, right in merges).encode()).hexdigest()


def record(text: str, sizes: Iterable[int]) -> dict[str, Any]:
    """What HF says about a corpus, every size trained by itself."""
    found = {str(size): sha256_of_merges(merges_by_hf(documents(text), size * 1_000)) for size in sizes}
    return {"corpus": sha256_of_text(text), "merges": found}


def main() -> None:
    import tokenizers

    corpora = {}
    for name, sizes in SIZES.items():
        text = lzma.decompress((CORPORA / f"{name}.txt.xz").read_bytes()).decode()
        corpora[name] = record(text, sizes)
    kept = {"tokenizers": tokenizers.__version__, "corpora": corpora}
    KEPT.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
