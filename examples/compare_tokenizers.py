"""Compare two tokenizers on a text: `python compare_tokenizers.py A B FILE`; A and B are files or published names."""

import sys
from pathlib import Path

import bbpe


def load(name: str) -> bbpe.Tokenizer:
    """Load a file, or find a published vocabulary on this machine."""
    return bbpe.load(name) if Path(name).exists() else bbpe.get_encoding(name)


def main(first: str, second: str, file: str) -> None:
    """Print tokens and bytes per token; more bytes per token mean shorter inputs for a model."""
    text = Path(file).read_text("utf-8")
    size = len(text.encode())
    for name in (first, second):
        tok = load(name)
        count = tok.count_tokens(text)
        sizes = f"{len(tok):,} tokens in the vocabulary, {count:,} in the text"
        print(f"{Path(name).name}: {sizes}, {size / max(count, 1):.2f} bytes per token")
    line = max(text.splitlines() or [""], key=len)[:60]
    for name in (first, second):
        print(f"{Path(name).name}: {load(name).tokenize(line)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
