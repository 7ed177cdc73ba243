"""`BBPETokenizer`: a vocab.json, a merges.txt without a header, and a trainer that takes one string."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..files import StrPath, write_atomic
from ..formats import gpt2_files
from ..text import bytes_to_alphabet
from ..tokenizer import Tokenizer
from ..training.bpe import BPE
from ..training.train import train_from_iterator


class BBPETokenizer:
    """A byte-level BPE tokenizer with GPT-2's pattern, read from the two files that `train_tokenizer` writes.

    `vocab_path` is a JSON object of tokens, in the byte alphabet, to ids; `merges_path` holds a line
    `left right` for each merge, in order.  `tokenizer` is the `bbpe.Tokenizer` that does the work.

    Raises `VocabularyError` naming the file and the place when a file is broken or the two do not fit
    together, `OSError` when one cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = folder + "/vocab.json", folder + "/merges.txt"
    ...     BBPETokenizer.train_tokenizer("low lower lowest", 260, *files)
    ...     tok = BBPETokenizer(*files)
    >>> tok.tokenize("lower low")
    ['low', 'e', 'r', 'Ġlow']
    >>> tok.decode(tok.encode("lower low"))
    'lower low'
    """

    def __init__(self, vocab_path: StrPath, merges_path: StrPath) -> None:
        self.tokenizer = Tokenizer(gpt2_files.load_files(vocab_path, merges_path, pattern="gpt2"))

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return self.tokenizer.encode(text)

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of a text, in the byte alphabet."""
        return self.tokenizer.tokenize(text)

    def encode_batch(self, batch: Sequence[str], num_threads: int = 4) -> list[list[int]]:
        """Return the ids of each text, in order."""
        return self.tokenizer.encode_batch(batch, threads=num_threads)

    def decode(self, tokens: Any) -> str:
        """Return the text of ids: a sequence of int, a numpy array or a torch tensor.

        Bytes that are not UTF-8 become U+FFFD.  Raises `TokenIdError` naming an id that no token has.
        """
        return self.tokenizer.decode(tokens.tolist() if hasattr(tokens, "tolist") else tokens)

    def forward(self, text: str | Sequence[str]) -> Any:
        """Return the ids of a text, or of all texts of a list one after the other: int64[n].

        It is a torch tensor where torch is installed, else a numpy array.
        """
        ids: Iterable[int] = self.encode(text) if isinstance(text, str) else chain(*self.encode_batch(text))
        array = np.fromiter(ids, np.int64)
        try:
            import torch
        except ImportError:
            return array
        return torch.from_numpy(array)

    __call__ = forward

    @staticmethod
    def train_tokenizer(
        data: str,
        vocab_size: int,
        vocab_outfile: StrPath | None = None,
        merges_outfile: StrPath | None = None,
    ) -> None:
        """Train on one string and write a vocabulary of `vocab_size` tokens and its merges.

        The 256 bytes count.  Of pairs with the same count the one that the text, as it is segmented now,
        shows first is merged.  Ids number the tokens in the order of their strings.  When every pretoken is
        one token, training stops with fewer.

        Raises `ValueError` when `vocab_size` is less than 256, `CorpusError` when `data` is empty.
        """
        if not isinstance(data, str):
            raise TypeError(f"data must be a str, not {type(data).__name__}")
        trained = train_from_iterator([data], vocab_size, model=BPE(tie_break="first"))
        if merges_outfile is not None:
            lines = [f"{bytes_to_alphabet(left)} {bytes_to_alphabet(right)}\n" for left, right in trained.merges]
            write_atomic(merges_outfile, "".join(lines).encode())
        if vocab_outfile is not None:
            vocab = {token: token_id for token_id, token in enumerate(sorted(trained.get_vocab()))}
            write_atomic(vocab_outfile, json.dumps(vocab, ensure_ascii=False).encode())
