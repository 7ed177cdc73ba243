"""Feed a model with padded batches: `python padded_batches.py TOKENIZER CORPUS`.

With PyTorch, `collate` is the `collate_fn` of a `DataLoader`; `torch.from_numpy(rows.astype("int64"))` makes a tensor.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

import bbpe

BATCH, LONGEST = 8, 128
Batch = tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]


def collate(tok: bbpe.Tokenizer, texts: list[str]) -> Batch:
    """Return ids and mask, both [texts, longest]; False in the mask is padding."""
    return tok.encode_padded(texts, max_length=LONGEST, pad_id=0)


def batches(tok: bbpe.Tokenizer, corpus: str, seed: int) -> Iterator[Batch]:
    """Yield shuffled batches of one epoch: one text per line of the files."""
    texts = [path.read_text("utf-8") for path in sorted(Path(corpus).rglob("*.txt"))]
    lines = [line for text in texts for line in text.splitlines() if line]
    Random(seed).shuffle(lines)
    for start in range(0, len(lines), BATCH):
        yield collate(tok, lines[start : start + BATCH])


def main(tokenizer: str, corpus: str) -> None:
    """Print the shape of each batch."""
    tok = bbpe.load(tokenizer)
    for epoch in range(2):
        for rows, mask in batches(tok, corpus, seed=epoch):
            print(f"epoch {epoch}: ids {rows.shape}, {mask.sum()} of them real, {rows.size - mask.sum()} padding")


if __name__ == "__main__":
    main(*sys.argv[1:])
