"""`BBPETokenizer`: the interface of textbook tokenizers, two files and a trainer that takes one string."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ..files import StrPath, local_path, write_atomic
from ..formats import Given, gpt2_files
from ..lazy import np, safe_import
from ..records import checked_path
from ..text import bytes_to_alphabet
from ..tokenizer import Tokenizer
from ..training.bpe import BPE
from ..training.train import train_from_iterator


class BBPETokenizer:
    """A byte-level BPE tokenizer with GPT-2's pattern, read from the two files that `train_tokenizer` writes.

    Args:
        vocab_path: A JSON object from tokens, in GPT-2's byte alphabet, to ids.
        merges_path: A text file with one merge per line, `left right`, in order of priority, without a header.

    Attributes:
        tokenizer: The `bbpe.Tokenizer` that does the work.

    Raises:
        VocabularyError: A file is broken, or the two do not fit together; the message names the file and the position.
        OSError: A file cannot be read.

    Example:
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
        problem, way = "a vocabulary is not read from a URL", "copy it to this machine first"
        vocab = local_path(vocab_path, problem, way, argument="vocab_path")
        merges = local_path(merges_path, problem, way, argument="merges_path")
        self.tokenizer = Tokenizer(gpt2_files.load_files(vocab, merges, Given("gpt2")))

    def encode(self, text: str) -> list[int]:
        """Encode a text.

        Args:
            text: The text; special tokens in it are plain text.

        Returns:
            The ids.
        """
        return self.tokenizer.encode(text)

    def tokenize(self, text: str) -> list[str]:
        """Split a text into its tokens.

        Args:
            text: The text.

        Returns:
            The tokens, in GPT-2's byte alphabet.
        """
        return self.tokenizer.tokenize(text)

    def encode_batch(self, batch: Sequence[str], num_threads: int = 4) -> list[list[int]]:
        """Encode many texts.

        Args:
            batch: The texts.
            num_threads: The number of threads.

        Returns:
            The ids of each text, in order.
        """
        return self.tokenizer.encode_batch(batch, threads=num_threads)

    def decode(self, tokens: Any) -> str:
        """Decode ids.

        Args:
            tokens: The ids: a sequence of int, a numpy array or a torch tensor of one dimension.

        Returns:
            The text; bytes that are not UTF-8 become U+FFFD.

        Raises:
            TokenIdError: No token has one of the ids; the message names it.
        """
        return self.tokenizer.decode(tokens.tolist() if hasattr(tokens, "tolist") else tokens)

    def forward(self, text: str | Sequence[str]) -> Any:
        """Encode a text, or several texts into one row.

        Args:
            text: One text, or a sequence of texts.

        Returns:
            The ids, int64[n]: a torch tensor if torch is installed, otherwise a numpy array.
        """
        ids: Iterable[int] = self.encode(text) if isinstance(text, str) else chain(*self.encode_batch(text))
        array = np.fromiter(ids, np.int64)
        try:
            safe_import("torch")
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
        """Train on one string, and write the vocabulary and the merges.

        Among pairs of equal count the pair that occurs first in the text, as segmented at that moment, is merged.  Ids
        number the tokens in the order of their strings.

        Args:
            data: The text to train on.
            vocab_size: The number of tokens, at least 256, for the bytes.  Training stops with fewer when every
                pretoken is one token.
            vocab_outfile: The JSON file to write the vocabulary to; `None` writes none.
            merges_outfile: The file to write the merges to; `None` writes none.

        Raises:
            ValueError: `vocab_size` is less than 256, or both files have the same path.
            CorpusError: `data` is empty.
            OSError: A file cannot be written.
        """
        if not isinstance(data, str):
            raise TypeError(f"data must be a str, not {type(data).__name__}")
        files = (("vocab_outfile", vocab_outfile), ("merges_outfile", merges_outfile))
        given = [checked_path(name, path) for name, path in files if path is not None]
        if len({Path(path).resolve() for path in given}) < len(given):
            shown = os.fspath(given[0])
            raise ValueError(f"vocab_outfile and merges_outfile are both {shown!r}; expected two paths, one for each")
        trained = train_from_iterator([data], vocab_size, model=BPE(tie_break="first"))
        if merges_outfile is not None:
            lines = [f"{bytes_to_alphabet(left)} {bytes_to_alphabet(right)}\n" for left, right in trained.merges]
            write_atomic(merges_outfile, "".join(lines).encode())
        if vocab_outfile is not None:
            vocab = {token: token_id for token_id, token in enumerate(sorted(trained.get_vocab()))}
            write_atomic(vocab_outfile, json.dumps(vocab, ensure_ascii=False).encode())
