"""The tokenizer: an immutable value that encodes and decodes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .core.encoder import Encoder, short_first
from .core.ids import TokenBytes
from .corpus.files import CorpusPaths, Format, check_format, corpus_paths
from .corpus.sources import Reading
from .encoding import file_ids
from .encoding.engine import CacheInfo, TextEncoder, id_dtype
from .encoding.file_ids import Document, FileEncoder
from .encoding.measures import Measures, as_batch
from .encoding.nbest import UnigramWays
from .encoding.rule_encoder import RuleEncoder, text_encoder
from .lazy import FirstUse
from .pipeline.special_tokens import Selection, SpecialTokens
from .saving import Part, save
from .spec.spec import TokenizerSpec, decoded_tokens, is_of_text, make_spec, other_tokens, vocab_of_ranks
from .splitting.patterns import get_pattern
from .text import Text, bytes_to_alphabet
from .threads import check_threads
from .types import Ragged

if TYPE_CHECKING:
    from .tiktoken import Encoding


class Tokenizer(Measures):
    """A byte-level BPE tokenizer.

    Made by `bbpe.train`, `bbpe.load`, `Tokenizer.from_merges` or `Tokenizer.from_ranks`; equal, hashable
    and picklable by content; safe to share between threads and with forked children.

    >>> tok = bbpe.train_from_iterator(["low lower lowest"], vocab_size=260)
    >>> tok.decode(tok.encode("slow")) == "slow"
    True
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        if not isinstance(spec, TokenizerSpec):
            raise TypeError(
                f"a Tokenizer is made of a TokenizerSpec, not {type(spec).__name__}; bbpe.load, bbpe.train, "
                "Tokenizer.from_merges and Tokenizer.from_ranks make one"
            )
        self.__dict__["spec"] = spec
        self.__dict__["_around"] = ((), ()) if spec.template is None else spec.template.around

    _around: tuple[tuple[int, ...], tuple[int, ...]]

    @FirstUse
    def _encoder(self) -> TextEncoder:
        return text_encoder(self.spec)

    @FirstUse
    def _tokens(self) -> TokenBytes:
        return TokenBytes(self.spec.vocab, other_tokens(self.spec))

    @FirstUse
    def _token_bytes(self) -> TokenBytes:
        written = decoded_tokens(self.spec)
        return self._tokens if written is None else TokenBytes(*written)

    @FirstUse
    def _specials(self) -> SpecialTokens:
        spec, encoder = self.spec, self._encoder
        normalize = encoder.normalize if isinstance(encoder, RuleEncoder) else None
        return SpecialTokens(spec.special_tokens, spec.added_tokens, spec.token_options, normalize)

    @FirstUse
    def _short(self) -> Encoder | None:
        # a short text takes less time than asking what to look for in it
        return self._encoder.short if self._specials.matcher() is None else None

    @classmethod
    def from_merges(
        cls,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]],
        *,
        pattern: str | Sequence[str],
        special_tokens: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> Tokenizer:
        """Make a tokenizer of ids to bytes and merges in order of priority (merge-list mode, as HF's).

        Raises `VocabularyError` when the two do not fit together and `PatternError` on an unknown pattern.
        """
        chosen = get_pattern(pattern)
        return cls(make_spec(vocab, merges, pattern=chosen, special_tokens=special_tokens, name=name))

    @classmethod
    def from_ranks(
        cls,
        ranks: Mapping[bytes, int],
        *,
        pattern: str | Sequence[str],
        special_tokens: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> Tokenizer:
        """Make a tokenizer of tokens to ranks, which are the ids (rank mode, as tiktoken's).

        Any two neighbours merge whose concatenation is a token, the lowest rank first; a pretoken that is
        itself a token is that token.  Raises as `from_merges` does.
        """
        vocab = vocab_of_ranks(ranks)
        chosen = get_pattern(pattern)
        return cls(
            make_spec(vocab, None, pattern=chosen, special_tokens=special_tokens, whole_pretokens=True, name=name)
        )

    # -- encoding ------------------------------------------------------------------------------------

    @short_first
    def encode(
        self,
        text: Text,
        *,
        pair: Text | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
        add_special_tokens: bool = False,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> list[int]:
        """Return the ids of a text, or of a text and its `pair` in one row.

        Special tokens in the text are plain text unless allowed: `"all"` or a set of them.  One that is
        disallowed and not allowed raises `SpecialTokenError`, naming it and its place.  Bytes that are not
        UTF-8 are encoded as the bytes they are; in a `str` a lone surrogate is U+FFFD.  `add_special_tokens` puts what
        the tokenizer's template has around a text (BOS, EOS), or around and between two, around its ids; without a
        template that is nothing.  A template without a form for pairs raises `ValueError`.

        `dropout` skips each merge, whenever it comes to be made, with that probability (Provilkov et al., 2020,
        "BPE-Dropout"); whole pretokens are not looked up then.  The same `seed`, 0 to 2**64 - 1, gives the same ids on
        every machine; without one each call is another.  Raises `ValueError` when it is not 0 to 1.

        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=257, special_tokens=["<s>"])
        >>> tok.encode("<s>", allowed_special="all"), len(tok.encode("<s>"))
        ([256], 3)
        """
        encoder = self._dropping(dropout, seed) if dropout else self._encoder
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        ids = encoder.to_list(text, matcher)
        if pair is not None:
            second = encoder.to_list(pair, matcher)
            template = self.spec.template if add_special_tokens else None
            return [*ids, *second] if template is None else template.joined(ids, second)
        if add_special_tokens:
            before, behind = self._around
            return [*before, *ids, *behind]
        return ids

    def _dropping(self, dropout: float, seed: int | None) -> TextEncoder:
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout is {dropout}; expected a probability, 0 to 1")
        chosen = secrets.randbits(64) if seed is None else seed
        if not 0 <= chosen < 1 << 64:
            raise ValueError(f"seed is {seed}; expected 0 to 2**64 - 1")
        return self._encoder.dropping(dropout, chosen)

    @short_first
    def encode_ordinary(self, text: Text) -> list[int]:
        """Return the ids of a text in which special tokens are plain text."""
        return self.encode(text)

    def encode_bytes(
        self,
        text: bytes | bytearray | memoryview,
        *,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> list[int]:
        """Return the ids of bytes, UTF-8 or not; raises `TypeError` on a `str`."""
        if isinstance(text, str):
            raise TypeError("encode_bytes takes bytes; encode takes str too")
        return self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)

    def encode_to_numpy(
        self,
        text: Text,
        *,
        dtype: npt.DTypeLike = np.uint32,
        threads: int | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
        add_special_tokens: bool = False,
    ) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the ids of a text as an array, uint32[n] or, with `dtype=np.uint16`, uint16[n].

        `threads=None` uses every core when there is enough text.  Raises `ValueError` on a dtype that is
        neither, or too small for the vocabulary; otherwise as `encode`.

        >>> bbpe.train_from_iterator(["a b"], vocab_size=256).encode_to_numpy("a", dtype=np.uint16)
        array([64], dtype=uint16)
        """
        chosen = id_dtype(dtype, self.vocab_size)
        check_threads(threads)
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        ids = self._encoder.to_array(text, matcher, threads)
        if add_special_tokens:
            before, behind = self._around
            ids = np.concatenate([np.array(before, np.uint32), ids, np.array(behind, np.uint32)])
        return ids.astype(chosen, copy=False)

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """Return the ids of each text, in order; `threads=None` uses every core when there is enough text."""
        check_threads(threads)
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        rows = self._encoder.lists(as_batch(texts), matcher, threads)
        before, behind = self._around
        return [[*before, *row, *behind] for row in rows] if add_special_tokens else rows

    def encode_batch_to_numpy(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
        add_special_tokens: bool = False,
    ) -> Ragged:
        """Return the ids of each text as `Ragged(ids: uint32[total], offsets: int64[len(texts) + 1])`."""
        check_threads(threads)
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        rows = self._encoder.rows(as_batch(texts), matcher, threads)
        return rows.between(*self._around) if add_special_tokens else rows

    def encode_iterable(
        self, chunks: Iterable[Text], *, allowed_special: Selection = (), disallowed_special: Selection = ()
    ) -> Iterator[int]:
        """Yield the ids of the joined chunks, wherever they were cut.

        Memory grows with the largest chunk and twice the longest pretoken, not with the text; with a regex
        that is no named pattern the text is collected first, because it may look ahead without bound.
        """
        return self._encoder.stream(chunks, self._specials.matcher(allowed_special, disallowed_special))

    def encode_files(
        self,
        files: CorpusPaths,
        *,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
        text_field: str = "text",
        format: Format | None = None,  # noqa: A002
    ) -> Iterator[npt.NDArray[np.uint32]]:
        r"""Yield the ids of each document of files as uint32[n], in order.

        `files`, `text_field` and `format` as in `bbpe.count`: a file is one document, but that a row of JSON lines or
        Parquet is one, those without text left out.  Files are read a block at a time, compressed ones too; only the
        ids of one document are held whole, and its text where the tokenizer has rules that change texts.

        Raises `CorpusError` naming what cannot be read as text, or changes while it is read; `OSError` naming a file
        that cannot be read.

        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low"], vocab_size=258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}\n{"text": null}\n{"text": "lo"}')
        ...     [ids.tolist() for ids in tok.encode_files(folder)]
        [[257], [256]]
        """
        found = self._documents(files, allowed_special, disallowed_special, text_field, format)
        return (document.ids() for document in found)

    def _documents(
        self, files: CorpusPaths, allowed: Selection, disallowed: Selection, field: str, asked: Format | None
    ) -> Iterator[Document]:
        """Yield the documents of files; all names are looked at before the first file is read."""
        check_format(asked)
        reading = Reading(field, file_ids.BLOCK, asked)
        listed = [reading.file(path) for path in corpus_paths(files)]
        return chain.from_iterable(map(self._file_encoder(allowed, disallowed, reading).documents, listed))

    def _file_encoder(self, allowed: Selection, disallowed: Selection, reading: Reading) -> FileEncoder:
        specials = [text.encode("utf-8", "surrogatepass") for text in (*self.special_tokens, *self.added_tokens)]
        return FileEncoder(self._encoder, self._specials.matcher(allowed, disallowed), specials, reading)

    def encode_nbest(self, text: Text, n: int) -> list[tuple[list[int], float]]:
        """Return the n best ways to encode a text by a Unigram model: ids and the sum of their scores, the best first.

        There may be fewer; special tokens in the text are plain text.  `TypeError` when the model is not Unigram.

        >>> tok = bbpe.train_from_iterator(["ab ab abc"], 262, model="unigram")
        >>> len(tok.encode_nbest("ab", 2))
        2
        """
        return UnigramWays(self._encoder).best(text, n)

    def encode_sampled(
        self, text: Text, *, alpha: float = 0.1, nbest: int | None = None, seed: int | None = None
    ) -> list[int]:
        """Return the ids of one way at random to encode a text by a Unigram model (Kudo, 2018).

        Of the `nbest` best ways, or of all, each is as probable as e^(alpha * sum of scores): `alpha=0` takes all
        alike, a large one hardly any but the best.  With a `seed` it is the same each time; the rest is as in
        `encode_nbest`.
        """
        return UnigramWays(self._encoder).drawn(text, alpha=alpha, nbest=nbest, seed=seed)

    def tokenize(self, text: Text) -> list[str]:
        """Return the tokens of a text in GPT-2's byte alphabet, as `vocab.json` writes them; WordPiece's as text.

        >>> bbpe.train_from_iterator(["a b"], vocab_size=256).tokenize("a b")
        ['a', 'Ġ', 'b']
        """
        tokens = [self._tokens.token(token_id) for token_id in self.encode(text)]
        return [token.decode() if is_of_text(self.spec) else bytes_to_alphabet(token) for token in tokens]

    def cache_info(self) -> CacheInfo:
        """Return how many bytes the caches take: this tokenizer's, and all of the process's with their limit."""
        shared, idle, used, limit = self._encoder.encoder.states.info()
        return CacheInfo(shared + idle, used, limit)

    def clear_cache(self) -> None:
        """Free this tokenizer's caches; calls that run meanwhile keep theirs until they end.

        Memory that was kept for the next large array of ids, whichever tokenizer's, is freed too.

        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
        >>> tok.clear_cache()
        >>> tok.cache_info().tokenizer
        0
        """
        self._encoder.encoder.states.clear()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        drop: Collection[Part] = (),
    ) -> None:
        """Write the tokenizer to a file or folder: all of it, or nothing.

        What was written is read back and compared before it takes the place of anything, so `bbpe.load(path)` gives an
        equal tokenizer.  Only a rank file is read with `pattern=`.

        Args:
            path: The file, or the folder.  Its suffix says the format: `.json`, `.tiktoken`, `.model`, `.gguf`, `.txt`
                (BERT's vocab.txt), `.codes`; any other name is a folder, which gets a tokenizer.json and what was
                beside it when it was loaded.
            format: The format, where the name does not say it: "huggingface", "tiktoken", "gpt2" (a folder with
                vocab.json and merges.txt), "vocab_txt", "wordpiece", "codes", "tekken", "gguf" or "sentencepiece".
            drop: What to leave out on purpose, where the format has no place for it: "special_tokens" (added tokens
                and the template too), "template", "pattern".

        Raises:
            VocabularyError: The format cannot hold this tokenizer; the message names what it would lose.
            ValueError: There is no such format.
            OSError: The file cannot be written.

        Example:
            >>> import tempfile
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=258, special_tokens=["<s>"])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     tok.save(folder + "/tok-1.5")
            ...     bbpe.load(folder + "/tok-1.5") == tok
            True

        """
        save(self, path, format=format, drop=drop)

    # -- views ---------------------------------------------------------------------------------------

    def as_tiktoken(self) -> Encoding:
        """Return this tokenizer behind the interface of `tiktoken.Encoding`, with its defaults and errors.

        Added tokens are special tokens there.  The package `tiktoken` is not needed.  Raises `VocabularyError` on a
        tokenizer with normalizers, prefixes, options of special tokens or symbols that are characters.

        >>> tok = bbpe.train_from_iterator(["low"], vocab_size=258, special_tokens=["<|endoftext|>"])
        >>> tok.as_tiktoken().encode("<|endoftext|>", disallowed_special=())[:3]
        [27, 91, 68]
        """
        return self._tiktoken

    @FirstUse
    def _tiktoken(self) -> Encoding:
        from .tiktoken import Encoding

        return Encoding(self)

    def as_huggingface(self, **options: Any) -> Any:
        """Return this tokenizer as a `transformers.PreTrainedTokenizerFast`, with the same ids.

        It pads, truncates, gives offsets, applies chat templates and saves as all of them do; the work is done by HF's
        `tokenizers`.  A `tokenizer_config.json` and a chat template beside the file that was loaded hold, and
        `options`, the arguments of `PreTrainedTokenizerFast` such as `pad_token`, go before them.  Raises `ImportError`
        without `transformers`, `VocabularyError` when a tokenizer.json cannot hold the tokenizer.

        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> tok.as_huggingface()(["low", "lower"])["input_ids"]  # doctest: +SKIP
        [[257], [257, 68, 81]]
        """
        from .compat.transformers import as_huggingface

        return as_huggingface(self, **options)
