"""The tokenizer: an immutable value that encodes and decodes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast

from .core.short_calls import ShortCalls, places_first, short_batches_first, short_first
from .encoding.engine import CacheInfo, added, checked_seed, id_dtype, short_call
from .encoding.limits import Side, as_batch, check_side, checked_errors, checked_limit, truncated
from .encoding.parts import NamedId, NamedToken, TokenizerParts, warm_up
from .encoding.vocabulary import with_added_tokens
from .errors import no_tokenizer
from .lazy import VIEWS, lazy_property, np, npt, safe_import
from .pipeline.special_tokens import Selection
from .records import kind, whole
from .spec.spec import TokenizerSpec, make_spec, other_tokens, vocab_of_ranks
from .splitting.patterns import get_pattern
from .text import Text, counted, readable
from .threads import check_threads

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from .compat.sentencepiece import SentencePieceProcessor
    from .compat.tokenizers import Tokenizer as HuggingFaceTokenizer
    from .corpus.fields import FieldName
    from .corpus.files import CorpusPaths, Format
    from .encoding.chunks import Boundary
    from .encoding.decode import Ids, Rows
    from .encoding.rows import Item, PaddingLength, RowEncoder, Truncation
    from .encoding.stream import StreamDecoder, UnknownIds
    from .formats.saving import Part
    from .report.trace import Trace
    from .tiktoken import Encoding
    from .types import AlignedIds, Chunk, EncodedChat, EncodedChats, Padded, Ragged, TrainOn, Unit

_T = TypeVar("_T", bound=Text)


class Tokenizer:
    """An immutable tokenizer that turns texts into ids and ids into texts.

    `bbpe.train`, `bbpe.load`, `bbpe.get_encoding`, `Tokenizer.from_merges` and `Tokenizer.from_ranks` make one.
    Tokenizers are compared, hashed and pickled by content, that is by everything that can change an id, a text or an
    offset.
    Threads and forked child processes can share them.

    All methods that encode have two arguments in common. `allowed_special` has the special tokens to search for in a
    text, `"all"` or a set; any other special token in a text is plain text. `disallowed_special`, `"all"` or a set, has
    the special tokens that raise `SpecialTokenError` if a text has them and they are not allowed.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower lowest"], vocab_size=260)
        >>> tok.decode(tok.encode("slow")) == "slow"
        True

    """

    # a slot is found without a look at a dictionary, by each call
    __slots__ = ("__dict__", "__weakref__", "_parts")

    #: The complete definition of the tokenizer as data.
    spec: TokenizerSpec
    #: The parts with which the package works.
    _parts: TokenizerParts
    _around: tuple[tuple[int, ...], tuple[int, ...]]

    def __init__(self, spec: TokenizerSpec) -> None:
        if not isinstance(spec, TokenizerSpec):
            raise TypeError(
                f"spec must be a TokenizerSpec, not {type(spec).__name__}; bbpe.load, bbpe.train, "
                "Tokenizer.from_merges and Tokenizer.from_ranks make a tokenizer"
            )
        self.__dict__["spec"] = spec
        parts = TokenizerParts()
        parts.spec = spec
        object.__setattr__(self, "_parts", parts)
        self.__dict__["_around"] = ((), ()) if spec.template is None else spec.template.around

    @lazy_property
    def _rows(self) -> RowEncoder:
        safe_import("bbpe.encoding.rows")
        from .encoding.rows import RowEncoder
        return RowEncoder(self._parts.encoder, self.spec)

    @lazy_property
    def _place_calls(self) -> ShortCalls:
        return ShortCalls(partial(self._parts.places.call, self._parts.specials))

    @lazy_property
    def _short(self) -> ShortCalls:
        # encoding a short text takes less time than looking up its matcher
        return ShortCalls(partial(short_call, self._parts.encoder, self._parts.specials, self._around))

    @classmethod
    def from_merges(
        cls, vocab: Mapping[int, bytes], merges: Iterable[tuple[bytes, bytes]], *, pattern: str | Sequence[str],
        special_tokens: Mapping[str, int] | None = None, name: str | None = None,
    ) -> Tokenizer:  # fmt: skip
        """Make a tokenizer from a vocabulary and a list of merges, which HF's `tokenizers` uses.

        Args:
            vocab: Ids to the bytes of ordinary tokens.
            merges: Pairs of tokens in order of priority.
            pattern: The name of a split pattern, a regex, or several regexes that split one after another.
            special_tokens: Special tokens to their ids.
            name: A name for display; it has no effect on ids.

        Raises:
            VocabularyError: The vocabulary and the merges do not fit together.
            PatternError: The pattern is unknown or cannot be followed.

        Example:
            >>> vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"lo"}
            >>> Tokenizer.from_merges(vocab, [(b"l", b"o")], pattern="gpt2").encode("low")
            [256, 119]

        """
        return cls(make_spec(vocab, merges, pattern=get_pattern(pattern), special_tokens=special_tokens, name=name))

    @classmethod
    def from_ranks(
        cls, ranks: Mapping[bytes, int], *, pattern: str | Sequence[str],
        special_tokens: Mapping[str, int] | None = None, name: str | None = None,
    ) -> Tokenizer:  # fmt: skip
        """Make a tokenizer from tokens and their ranks, which are the ids, as in tiktoken.

        Two neighbours merge if their concatenation is a token; the pair with the lowest rank merges first. A pretoken
        that is a token stays whole.

        Args:
            ranks: The bytes of ordinary tokens to their ranks.
            pattern: The name of a split pattern, a regex, or several regexes that split one after another.
            special_tokens: Special tokens to their ids.
            name: A name for display; it has no effect on ids.

        Raises:
            VocabularyError: A single byte has no rank, or two tokens have the same rank.
            PatternError: The pattern is unknown or cannot be followed.

        Example:
            >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256}
            >>> Tokenizer.from_ranks(ranks, pattern="gpt2").encode("low")
            [256, 119]

        """
        options: Any = {"special_tokens": special_tokens, "whole_pretokens": True, "name": name}
        return cls(make_spec(vocab_of_ranks(ranks), None, pattern=get_pattern(pattern), **options))

    # -- encoding ------------------------------------------------------------------------------------

    @short_first
    def encode(
        self, text: Text, pair: Text | None = None, *, allowed_special: Selection = (),
        disallowed_special: Selection = (), add_special_tokens: bool = False, dropout: float = 0.0,
        seed: int | None = None,
    ) -> list[int]:  # fmt: skip
        """Return the ids of a text, or of a text and its pair in one row.

        Args:
            text: A `str`, in which an unpaired surrogate is read as U+FFFD, or bytes, which need not be UTF-8.
            pair: A second text, whose ids are in the same row.
            allowed_special: The special tokens to search for: "all" or a set of them.
            disallowed_special: The special tokens to reject: "all" or a set of them.
            add_special_tokens: Whether to add the ids of the tokenizer's template (BOS, EOS, separators). A tokenizer
                without a template adds nothing.
            dropout: The probability, 0 to 1, of skipping each possible merge (Provilkov et al., 2020, "BPE-Dropout");
                whole pretokens are not looked up then.
            seed: A number from 0 to 2**64 - 1. A seed gives the same ids on every machine; None draws a new seed.

        Returns:
            The ids.

        Raises:
            SpecialTokenError: The text has a disallowed special token; the message has its position.
            ValueError: `dropout` or `seed` is out of range, or the template has no form for pairs.
            TypeError: The text is neither str nor bytes.

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=257, special_tokens=["<s>"])
            >>> tok.encode("<s>", allowed_special="all"), len(tok.encode("<s>"))
            ([256], 3)

        """
        encoder = self._parts.encoder
        if dropout:
            encoder = encoder.with_dropout(dropout, checked_seed(dropout, seed))
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        if pair is None:
            return encoder.to_list(text, matcher, added(self._around, add_special_tokens))
        ids, second = encoder.to_list(text, matcher), encoder.to_list(pair, matcher)
        return self._rows.joined(ids, second, add_special_tokens)

    def encode_bytes(
        self, text: bytes | bytearray | memoryview, *, allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> list[int]:  # fmt: skip
        """Return the ids of bytes, which need not be UTF-8.

        Args:
            text: The bytes. `encode` accepts bytes too, but this method refuses a `str`.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.

        Returns:
            The ids.

        Raises:
            TypeError: The text is a `str`.
            SpecialTokenError: The text has a disallowed special token.

        """
        if isinstance(text, str):
            raise TypeError("encode_bytes takes bytes, not str; encode takes str too")
        return self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)

    def encode_to_numpy(
        self, text: Text, *, dtype: npt.DTypeLike = "uint32", threads: int | None = None,
        allowed_special: Selection = (), disallowed_special: Selection = (), add_special_tokens: bool = False,
    ) -> npt.NDArray[np.integer[Any]]:  # fmt: skip
        """Return the ids of a text as an array.

        Args:
            text: A `str` or bytes.
            dtype: uint32, uint16, int32 or int64.
            threads: The number of threads; None uses every core when there is enough text.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.
            add_special_tokens: As in `encode`.

        Returns:
            The ids, shape [n].

        Raises:
            ValueError: The dtype is not supported, or is too small for the vocabulary.
            SpecialTokenError: The text has a disallowed special token.

        Example:
            >>> bbpe.train_from_iterator(["a b"], vocab_size=256).encode_to_numpy("a", dtype=np.uint16)
            array([64], dtype=uint16)

        """
        chosen = id_dtype(dtype, self.vocab_size)
        check_threads(threads)
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        around = added(self._around, add_special_tokens)
        return self._parts.encoder.to_array(text, matcher, threads, around).astype(chosen, copy=False)

    @short_batches_first
    def encode_batch(
        self, texts: Iterable[Item], *, threads: int | None = None, allowed_special: Selection = (),
        disallowed_special: Selection = (), add_special_tokens: bool = False,
    ) -> list[list[int]]:  # fmt: skip
        """Return the ids of each text as lists.

        Args:
            texts: An iterable of `str` or bytes, or a column of Arrow: a pyarrow Array, a polars Series, or any other
                object with `__arrow_c_array__` or `__arrow_c_stream__`. A tuple of two texts is a pair, as in `encode`.
            threads: The number of threads; None uses every core when there is enough text.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.
            add_special_tokens: As in `encode`.

        Returns:
            A list of ids for each text.

        Raises:
            SpecialTokenError: A text has a disallowed special token.
            ValueError: There is a pair, and the template has no form for pairs.
            TypeError: `texts` is a single text, a set or a mapping, or one of its items is neither a text nor a pair,
                or a row of a column is null.

        Example:
            >>> bbpe.train_from_iterator(["low lower"], vocab_size=258).encode_batch(["low", ""])
            [[257], []]

        """
        check_threads(threads)
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        return self._rows.lists(texts, matcher, threads, add_special_tokens)

    def encode_batch_to_numpy(
        self, texts: Iterable[Item], *, threads: int | None = None, allowed_special: Selection = (),
        disallowed_special: Selection = (), add_special_tokens: bool = False,
    ) -> Ragged:  # fmt: skip
        """Return the ids of each text in one flat array.

        Args:
            texts: As in `encode_batch`.
            threads: As in `encode_batch`.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.
            add_special_tokens: As in `encode`.

        Returns:
            `Ragged(ids, offsets)`: all ids, uint32[total], and the start of each row, int64[len(texts) + 1].

        Raises:
            SpecialTokenError: A text has a disallowed special token.
            ValueError: There is a pair, and the template has no form for pairs.
            TypeError: `texts` is a single text, a set or a mapping, or one of its items is neither a text nor a pair.

        Example:
            >>> bbpe.train_from_iterator(["low lower"], vocab_size=258).encode_batch_to_numpy(["low", "", "l"]).offsets
            array([0, 1, 1, 2])

        """
        check_threads(threads)
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        return self._rows.ragged(texts, matcher, threads, add_special_tokens)

    def encode_padded(
        self, texts: Iterable[Item], max_length: int | None = None, pad_id: int | None = None, side: Side | None = None,
        pad_to_multiple_of: int | None = None, *, truncation: Truncation | None = None,
        truncation_side: Side | None = None, stride: int | None = None, padding: PaddingLength | None = None,
        dtype: npt.DTypeLike = "uint32", threads: int | None = None, allowed_special: Selection = (),
        disallowed_special: Selection = (), add_special_tokens: bool = False,
    ) -> Padded:  # fmt: skip
        """Return the ids of texts as one array whose rows have the same length.

        Truncation and padding give the rows of HF's `tokenizers` with the same options. The options of the tokenizer's
        file are the defaults; without any, rows are padded at the right to the longest one.

        Args:
            texts: As in `encode_batch`.
            max_length: The most ids in a row; longer texts are truncated, and the ids of `add_special_tokens` are kept.
            pad_id: The id for padding; None takes `pad_token`, or the end-of-text token if there is no `pad_token`.
            side: The side of a row that is padded, "right" or "left".
            pad_to_multiple_of: The length of rows is rounded up to a multiple of this.
            truncation: The text of a pair that loses ids: "only_first", "only_second", or "longest_first" (also True),
                which shares the row evenly between two texts that are both too long for it.
            truncation_side: The side of a text that loses ids, "right" or "left".
            stride: A number makes a truncated text continue in further rows, each of which repeats this many ids.
            padding: The length of the rows: that of the "longest" one (also True), or "max_length".
            dtype: As in `encode_to_numpy`.
            threads: As in `encode_batch`.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.
            add_special_tokens: As in `encode`.

        Returns:
            A `Padded`, a tuple of the ids, `dtype`[n, m], and a mask, bool[n, m], that is false at padding. Its
            attributes have the type ids, the text of each row, and more.

        Raises:
            SpecialTokenError: There is no token for padding, or a text has a disallowed special token.
            ValueError: A number is out of range, a text cannot be truncated by these options, one of them has no
                `max_length`, or there is a pair and the template has no form for pairs.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> ids, mask = tok.encode_padded(["low", "lower"], pad_id=0)
            >>> ids.tolist(), mask.tolist()
            ([[257, 0, 0], [257, 68, 81]], [[True, False, False], [True, True, True]])

        """
        pad = self._parts.vocabulary.padding() if pad_id is None else pad_id
        rules = self._rows.rules(
            max_length, pad, side, pad_to_multiple_of, truncation, truncation_side, stride, padding, dtype
        )
        check_threads(threads)
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        return self._rows.padded(texts, matcher, threads, add_special_tokens, rules)

    @places_first
    def encode_with_offsets(
        self, text: Text, unit: Unit = "char", *, allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> tuple[list[int], npt.NDArray[np.int64]]:  # fmt: skip
        """Return the ids of a text, and the span of the text that each id comes from.

        A token with a part of a character spans the whole character, so neighbours overlap there; spans in bytes join
        exactly. White space belongs to its token. If a tokenizer.json has a post-processor with `trim_offsets`, spans
        leave out the blanks at both ends of a token, as in HF's `tokenizers`. If normalizers or prefixes change the
        text, a span has the original characters that the token comes from, in bytes too; an inserted character has the
        span of the character next to it.

        Args:
            text: A `str` or bytes.
            unit: "char": indices of a `str`, or characters of bytes, where each invalid byte is one character; "byte":
                bytes of UTF-8; "utf16": UTF-16 units.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.

        Returns:
            The ids, and their starts and ends, int64[n, 2].

        Raises:
            VocabularyError: An id has no place in the text; the message has the reason.
            SpecialTokenError: The text has a disallowed special token.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> ids, offsets = tok.encode_with_offsets("lower é")
            >>> offsets.tolist()
            [[0, 3], [3, 4], [4, 5], [5, 6], [6, 7], [6, 7]]

        """
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        return self._parts.places.with_offsets(text, unit, matcher)

    def encode_aligned(
        self, text: Text, pair: Text | None = None, unit: Unit = "char", *, allowed_special: Selection = (),
        disallowed_special: Selection = (), add_special_tokens: bool = False,
    ) -> AlignedIds:  # fmt: skip
        """Return the ids of a text, or of a text and its pair in one row, and where each of them comes from.

        The result has what token classification and question answering need: spans, the number of the word that each id
        is in, and the text that it is in.

        Args:
            text: A `str` or bytes.
            pair: A second text, as in `encode`.
            unit: The unit of offsets, as in `encode_with_offsets`.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.
            add_special_tokens: As in `encode`.

        Returns:
            An `AlignedIds`, whose `offsets` are those of `encode_with_offsets`.

        Raises:
            VocabularyError: An id has no place in the text; the message has the reason.
            SpecialTokenError: The text has a disallowed special token.
            ValueError: `unit` is unknown, or the template has no form for pairs.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> tok.encode_aligned("low low", "lower").word_ids
            [0, 1, 1, 0, 0, 0]

        """
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        return self._parts.places.aligned(text, pair, unit, matcher, add_special_tokens)

    def encode_iterable(
        self, chunks: Iterable[Text], *, allowed_special: Selection = (), disallowed_special: Selection = ()
    ) -> Iterator[int]:
        """Yield the ids of a text that arrives in chunks, which may be split anywhere.

        Memory grows with the largest chunk and the longest pretoken, not with the text. With a regex that is not
        equivalent to a known pattern, the text is collected first, because the regex may look ahead without a bound.

        Args:
            chunks: The parts of one text, `str` or bytes.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.

        Yields:
            The ids of the joined chunks.

        Example:
            >>> list(bbpe.train_from_iterator(["low lower"], vocab_size=258).encode_iterable(["l", "ow"]))
            [257]

        """
        kind("chunks", chunks, Iterable, "an iterable of parts of a text")
        return self._parts.encoder.stream(chunks, self._parts.specials.matcher(allowed_special, disallowed_special))

    def encode_files(
        self, files: CorpusPaths, *, allowed_special: Selection = (), disallowed_special: Selection = (),
        text_field: FieldName = "text", format: Format | None = None,  # noqa: A002
    ) -> Iterator[npt.NDArray[np.uint32]]:  # fmt: skip
        r"""Yield the ids of each document of files, in order.

        A file of text is one document. In JSON lines and Parquet each row is a document; rows without a text are
        skipped. Files, also compressed ones, are read a block at a time: memory holds the ids of one document, and its
        text if the tokenizer has rules that change texts.

        Args:
            files: As in `bbpe.count`: a path, a glob, a folder, or a list of them.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.
            text_field: The field of JSON lines, or the column of Parquet, with the text: a name, a path such as
                "meta.text", or a list of these, in order of preference.
            format: The kind of all files; None determines it from their names and first bytes.

        Yields:
            The ids of a document, uint32[n].

        Raises:
            CorpusError: A file cannot be read as text, or changes while it is read; the message names it.
            OSError: A file cannot be read.

        Example:
            >>> from pathlib import Path
            >>> from tempfile import TemporaryDirectory
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=258)
            >>> with TemporaryDirectory() as folder:
            ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}\n{"text": null}\n{"text": "lo"}')
            ...     [ids.tolist() for ids in tok.encode_files(folder)]
            [[257], [256]]

        """
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        safe_import("bbpe.encoding.file_ids")
        from .encoding.file_ids import FileEncoder
        encoder = FileEncoder(self._parts.encoder, matcher, self._parts.specials.texts, text_field, format)
        return (document.ids() for document in encoder.corpus(files))

    def encode_nbest(self, text: Text, n: int) -> list[tuple[list[int], float]]:
        """Return the n best segmentations of a text by a Unigram model.

        Args:
            text: A `str` or bytes; special tokens in it are plain text.
            n: The number of segmentations, 1 to 65,536; there may be fewer.

        Returns:
            The ids of each segmentation and the sum of their scores, the best first.

        Raises:
            TypeError: The model is not Unigram.
            ValueError: `n` is out of range.

        Example:
            >>> tok = bbpe.train_from_iterator(["ab ab abc"], 262, model="unigram")
            >>> len(tok.encode_nbest("ab", 2))
            2

        """
        safe_import("bbpe.encoding.nbest")
        from .encoding.nbest import UnigramSampler
        return UnigramSampler(self._parts.encoder).nbest(text, n)

    def encode_sampled(
        self, text: Text, *, alpha: float = 0.1, nbest: int | None = None, seed: int | None = None
    ) -> list[int]:
        """Return the ids of a random segmentation of a text by a Unigram model (Kudo, 2018).

        Args:
            text: A `str` or bytes; special tokens in it are plain text.
            alpha: The probability of a segmentation is proportional to e^(alpha * sum of scores): 0 makes all equally
                likely, and a large number prefers the best.
            nbest: Draw from this many best segmentations; None draws from all.
            seed: A seed gives the same ids each time; None draws a new seed.

        Returns:
            The ids.

        Raises:
            TypeError: The model is not Unigram.
            ValueError: `alpha` or `nbest` is out of range.

        """
        safe_import("bbpe.encoding.nbest")
        from .encoding.nbest import UnigramSampler
        return UnigramSampler(self._parts.encoder).sample(text, alpha=alpha, nbest=nbest, seed=seed)

    def tokenize(self, text: Text) -> list[str]:
        """Return the tokens of a text as keys of `vocab.json`: in GPT-2's byte alphabet, or as text for WordPiece.

        Args:
            text: A `str` or bytes.

        Returns:
            The tokens.

        Example:
            >>> bbpe.train_from_iterator(["a b"], vocab_size=256).tokenize("a b")
            ['a', 'Ġ', 'b']

        """
        return [self._parts.vocabulary.key(token_id) for token_id in self.encode(text)]

    def pieces(self, text: Text, *, allowed_special: Selection = ()) -> list[str]:
        """Return the tokens of a text as people read them; each byte of a part of a character is written in hex.

        Args:
            text: A `str` or bytes.
            allowed_special: As in `encode`.

        Returns:
            The texts of the tokens, one for each id.

        Example:
            >>> bbpe.train_from_iterator(["low low"], vocab_size=258).pieces("low é")
            ['low', ' ', '<0xC3>', '<0xA9>']

        """
        token = self._parts.vocabulary.tokens.token
        return [readable(token(token_id)) for token_id in self.encode(text, allowed_special=allowed_special)]

    def trace(self, text: Text, *, allowed_special: Selection = ()) -> Trace:
        """Return how the model makes the tokens of a text, step by step.

        The steps are merges with their ranks (BPE), longest matches (WordPiece), or all tokens that fit with their
        scores (Unigram).

        Args:
            text: A `str` or bytes, of at most 4,096 bytes.
            allowed_special: As in `encode`.

        Returns:
            A `bbpe.Trace`, which prints as text and draws itself in a notebook; its `ids` are those of `encode`.

        Raises:
            ValueError: The text is too long.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower lowest"], vocab_size=258)
            >>> [step.made for step in tok.trace("lowest").pretokens[0].steps]
            [b'lo', b'low']

        """
        return VIEWS["trace"](self, text, allowed_special=allowed_special)  # type: ignore[no-any-return]

    def to_html(self, text: Text, *, allowed_special: Selection = ()) -> str:
        """Return a page of HTML that shows the tokens of a text as boxes, with ids and bytes; it needs no other file.

        Args:
            text: A `str` or bytes.
            allowed_special: As in `encode`.

        Example:
            >>> page = bbpe.train_from_iterator(["low lower"], vocab_size=258).to_html("<b>low")
            >>> "<b>low" in page
            False

        """
        return str(VIEWS["html"](text, {self.name or "tokenizer": self}, allowed_special=allowed_special))

    # -- counts and limits ---------------------------------------------------------------------------

    def count_tokens(
        self, text: Text, *, threads: int | None = None, allowed_special: Selection = (),
        disallowed_special: Selection = (), add_special_tokens: bool = False,
    ) -> int:  # fmt: skip
        """Return `len(encode(text))` without storing the ids.

        Args:
            text: A `str` or bytes.
            threads: As in `encode_to_numpy`.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.
            add_special_tokens: As in `encode`.

        Returns:
            The number of tokens.

        Raises:
            SpecialTokenError: The text has a disallowed special token.

        Example:
            >>> bbpe.train_from_iterator(["low lower"], vocab_size=258).count_tokens("lower")
            3

        """
        check_threads(threads)
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        count = self._parts.encoder.count(text, matcher, threads)
        # most calls add nothing, and are short
        return count if add_special_tokens is False else count + sum(map(len, added(self._around, add_special_tokens)))

    def count_tokens_batch(
        self, texts: Iterable[Text], *, threads: int | None = None, allowed_special: Selection = (),
        disallowed_special: Selection = (), add_special_tokens: bool = False,
    ) -> npt.NDArray[np.int64]:  # fmt: skip
        """Return the number of tokens of each text.

        Args:
            texts: As in `encode_batch`.
            threads: As in `encode_batch`.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.
            add_special_tokens: As in `encode`.

        Returns:
            The numbers, int64[len(texts)].

        Raises:
            SpecialTokenError: A text has a disallowed special token.
            TypeError: `texts` is a single text, a set or a mapping, or one of its items is not a text.

        Example:
            >>> bbpe.train_from_iterator(["low lower"], vocab_size=258).count_tokens_batch(["low", "", "lower"])
            array([1, 0, 3])

        """
        check_threads(threads)
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        found = self._parts.encoder.counts(as_batch(texts), matcher, threads)
        return found if add_special_tokens is False else found + sum(map(len, added(self._around, add_special_tokens)))

    def fits(
        self, text: Text, n: int, *, allowed_special: Selection = (), disallowed_special: Selection = ()
    ) -> bool:
        """Return whether a text has at most n tokens, reading no more of it than necessary.

        The call takes as long for 100 MB as for 1 KB, so it may miss a disallowed special token far into a text. Two
        kinds of tokenizers encode the whole text: those that drop text, and those with normalizers other than Unicode
        forms, lower-casing and replacements that do not shorten.

        Args:
            text: A `str` or bytes.
            n: The limit.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.

        Raises:
            ValueError: `n` is negative.

        Example:
            >>> bbpe.train_from_iterator(["low lower"], vocab_size=258).fits("lower", 2)
            False

        """
        limit = checked_limit(n)
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        return self._parts.encoder.count_up_to(text, limit, matcher) <= n

    def truncate(
        self, text: _T, n: int, side: Side = "right", *, allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> _T:  # fmt: skip
        """Return a text truncated at one side to at most n tokens.

        The result has at most n tokens when it is encoded alone, and no half character. It ends where the first n
        tokens of the text end, or earlier; for side "left" it begins where the last n tokens begin, or later.

        Args:
            text: A `str` or bytes.
            n: The limit.
            side: The side at which the text is truncated: "right" keeps the beginning, "left" the end.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.

        Returns:
            The text itself if it fits, otherwise a slice of the same type.

        Raises:
            ValueError: `n` is negative, or `side` is neither "left" nor "right".
            SpecialTokenError: The text has a disallowed special token.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> tok.truncate("lower low", 2), tok.truncate("lower low", 2, side="left")
            ('lowe', ' low')

        """
        check_side(side)
        limit, matcher = checked_limit(n), self._parts.specials.matcher(allowed_special, disallowed_special)
        return truncated(self._parts.encoder, self._parts.vocabulary.tokens, text, limit, side, matcher)

    def chunk(
        self, text: Text, max_tokens: int, *, overlap: int = 0, boundary: Boundary = "token",
        allowed_special: Selection = (), disallowed_special: Selection = (),
    ) -> list[Chunk]:  # fmt: skip
        """Return parts of a text that have at most `max_tokens` tokens each when they are encoded alone.

        Without an overlap the parts join to the text. A part never ends within a grapheme cluster, which readers see as
        one character. The exceptions are a cluster with more than `max_tokens` tokens, and one with more than 512
        bytes, which no script needs. The time is linear in the length of the text.

        Args:
            text: A `str` or bytes.
            max_tokens: The limit, at least 1.
            overlap: A part begins with the last tokens of the part before it, at most this many.
            boundary: Where parts end: after any "token", or where a "word", a "sentence", a "line" or a "paragraph" (at
                a blank line) ends, if one ends in the part; or a function that takes the text and returns such indices.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.

        Returns:
            The parts in order, each with its start, end, number of tokens and text.

        Raises:
            ValueError: `max_tokens` or `overlap` is out of range, or one character alone has more tokens.
            TypeError: `boundary` returns what are no indices.
            SpecialTokenError: The text has a disallowed special token.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower lowest"], vocab_size=259)
            >>> for chunk in tok.chunk("low lower lowest", 4, boundary="word"):
            ...     print(chunk)
            Chunk(start=0, end=9, tokens=4, text='low lower')
            Chunk(start=9, end=16, tokens=4, text=' lowest')

        """
        safe_import("bbpe.encoding.chunks")
        from .encoding.chunks import chunked
        matcher = self._parts.specials.matcher(allowed_special, disallowed_special)
        return chunked(self._parts.encoder, self._parts.vocabulary.tokens, text, max_tokens, overlap, boundary, matcher)

    # -- decoding ------------------------------------------------------------------------------------

    def decode(
        self, ids: Ids, *, errors: str = "replace", threads: int | None = None, skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "raise",
    ) -> str:  # fmt: skip
        """Return the text of ids.

        Args:
            ids: A sequence of int, or an integer array of one dimension.
            errors: The treatment of bytes that are not UTF-8, as in `bytes.decode`.
            threads: The number of threads; None uses every core when there are enough ids.
            skip_special_tokens: Whether to drop special tokens; added tokens are kept.
            unknown_ids: The treatment of ids without a token, which a model with a padded last layer may sample:
                "raise", "skip", or "mark", which writes U+FFFD.

        Returns:
            The text.

        Raises:
            TokenIdError: An id is negative, too large, or has no token; the message names the first one.
            TypeError: `ids` is not a sequence of int or an integer array.
            ValueError: `errors` or `unknown_ids` is unknown.

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
            >>> tok.decode(tok.encode("a b")), tok.decode(tok.encode_to_numpy("é")[:1], errors="ignore")
            ('a b', '')

        """
        return self._parts.decoder.text(ids, checked_errors(errors), threads, skip_special_tokens, unknown_ids)

    def decode_bytes(self, ids: Ids, *, threads: int | None = None) -> bytes:
        r"""Return the bytes of ids.

        If no rule changes a text, `decode_bytes(encode(text))` is its UTF-8.

        Args:
            ids: As in `decode`.
            threads: As in `decode`.

        Returns:
            The bytes.

        Raises:
            TokenIdError: An id has no token; the message names the first one.
            TypeError: `ids` is not a sequence of int or an integer array.

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
            >>> tok.decode_bytes(tok.encode(b"a\xff"))
            b'a\xff'

        """
        return self._parts.decoder.data(ids, threads)

    def decode_batch(
        self, batch: Rows, *, errors: str = "replace", threads: int | None = None, skip_special_tokens: bool = False,
        unknown_ids: UnknownIds = "raise",
    ) -> list[str]:  # fmt: skip
        """Return the text of each row of ids, in order.

        Args:
            batch: Rows of ids, each as in `decode`; a `Ragged`; an integer array [rows, ids]; or a column of Arrow with
                lists of integers.
            errors: The treatment of bytes that are not UTF-8, as in `bytes.decode`.
            threads: The number of threads; None uses every core when there are enough ids.
            skip_special_tokens: As in `decode`.
            unknown_ids: As in `decode`.

        Returns:
            A text for each row.

        Raises:
            TokenIdError: An id of a row has no token.
            TypeError: `batch` is not a batch of ids, or it is a set or a mapping; the message names the first row that
                is not a row of ids.
            ValueError: `errors` or `unknown_ids` is unknown.

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
            >>> tok.decode_batch(tok.encode_batch_to_numpy(["a", "", "b a"]))
            ['a', '', 'b a']

        """
        return self._parts.decoder.texts(batch, checked_errors(errors), threads, skip_special_tokens, unknown_ids)

    def decode_with_offsets(self, ids: Ids) -> tuple[str, list[int]]:
        """Return the text of ids, and for each id the index of the first character that it has a byte of.

        Args:
            ids: As in `decode`.

        Returns:
            The text and the indices, as in tiktoken.

        Raises:
            UnicodeDecodeError: The bytes are not UTF-8.
            TokenIdError: An id has no token.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> tok.decode_with_offsets(tok.encode("low é"))
            ('low é', [0, 3, 4, 4])

        """
        return self._parts.decoder.text_with_offsets(ids)

    def stream_decoder(
        self, *, errors: str = "replace", skip_special_tokens: bool = False, unknown_ids: UnknownIds = "raise",
        prompt: Ids = (), stop: Iterable[str] | None = None, include_stop: bool = False,
    ) -> StreamDecoder:  # fmt: skip
        """Return a decoder that takes one id at a time, for ids that a model generates.

        Args:
            errors: As in `decode`.
            skip_special_tokens: As in `decode`.
            unknown_ids: As in `decode`.
            prompt: Ids before the first one. The decoder does not return their text but continues it: for example, it
                keeps a blank at the beginning of the first word.
            stop: Strings that end the text. The decoder looks for them in the text that it returns, not in the prompt,
                nor in skipped special tokens. The first end of one counts.
            include_stop: Whether the text includes the stop string; nothing is held back then.

        Returns:
            A `StreamDecoder`, for one stream.

        Raises:
            ValueError: `errors` is no handler, `unknown_ids` is not "raise", "skip" or "mark", a stop string is empty,
                or `include_stop` is True without `stop`.
            TokenIdError: An id of the prompt has no token.
            TypeError: `prompt` is not a sequence of int or an integer array, or `stop` is not a list of strings.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> "".join(map(tok.stream_decoder().push, tok.encode("lower")))
            'lower'
            >>> decoder = tok.stream_decoder(stop=["</tool>", "User:"])
            >>> "".join(decoder.stream(tok.encode("low</tool> lower"))), decoder.stopped
            ('low', '</tool>')

        """
        handler = checked_errors(errors)
        return self._parts.decoder.stream(handler, skip_special_tokens, unknown_ids, prompt, stop, include_stop)

    def is_canonical(self, ids: Ids) -> bool:
        """Return whether encoding the text of ids gives the same ids.

        Models may generate other ids for a text. Special tokens are encoded as special tokens.

        Args:
            ids: As in `decode`.

        Raises:
            TokenIdError: An id has no token.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> tok.is_canonical(tok.encode("low")), tok.is_canonical(tok.encode("l") + tok.encode("ow"))
            (True, False)

        """
        safe_import("bbpe.encoding.nbest")
        from .encoding.nbest import is_canonical
        return is_canonical(self._parts.encoder, self._parts.decoder, self._parts.specials, ids)

    # -- vocabulary ----------------------------------------------------------------------------------

    def id_to_token(self, token_id: int) -> bytes:
        """Return the bytes of an ordinary or special token.

        Args:
            token_id: The id.

        Raises:
            TokenIdError: No token has this id.

        Example:
            >>> bbpe.train_from_iterator(["low"], vocab_size=257).id_to_token(256)
            b'lo'

        """
        return self._parts.vocabulary.tokens.token(token_id)

    def token_to_id(self, token: bytes | str) -> int:
        """Return the id of a token; a special token takes precedence over an ordinary one.

        Args:
            token: A key of `get_vocab`, the text of a token, or its bytes. A `str` is looked up as a key first, and
                then as a text. What `tokenize` returns are keys, but for bytes that files write as `<0xC3>`.

        Raises:
            TokenNotFoundError: There is no such token; the error is also a `TokenIdError` and a `KeyError`.
            TypeError: `token` is neither str nor bytes.

        Example:
            >>> tok = bbpe.train_from_iterator(["a cat"], vocab_size=259)
            >>> [tok.token_to_id(token) for token in (*tok.tokenize("a cat"), " cat", b" cat")]
            [64, 258, 258, 258]

        """
        return self._parts.vocabulary.id_of(token)

    def get_vocab(self) -> dict[str, int]:
        """Return all tokens and their ids: in GPT-2's byte alphabet, and tokens of characters as files write them."""
        return self._parts.vocabulary.keys()

    @property
    def vocab_size(self) -> int:
        """The highest id plus one."""
        return self._parts.vocabulary.size

    def __len__(self) -> int:
        return len(self.spec.vocab) + len(other_tokens(self.spec))

    @property
    def name(self) -> str | None:
        """The name of the tokenizer, None if it has none."""
        return self.spec.name

    @property
    def pattern(self) -> str:
        """The name of the split pattern, or its regexes, one on each line."""
        return str(self.spec.pattern)

    @property
    def unicode_version(self) -> str:
        """The version of Unicode that the pattern uses to classify characters."""
        return self.spec.pattern.unicode_version

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges in order of priority; for ranks, merges that give the same ids; none for models other than BPE."""
        return self._parts.vocabulary.merges()

    @property
    def ranks(self) -> dict[bytes, int]:
        """Tokens and their ranks; `VocabularyError` when ranks would not give the same ids."""
        safe_import("bbpe.formats.common.ranks")
        from .formats.common.ranks import ranks_of
        return ranks_of(self.spec)

    @property
    def special_tokens(self) -> dict[str, int]:
        """Special tokens and their ids."""
        return dict(self.spec.special_tokens)

    @property
    def added_tokens(self) -> dict[str, int]:
        """Tokens that always match, and their ids."""
        return dict(self.spec.added_tokens)

    @lazy_property
    def special_tokens_set(self) -> frozenset[str]:
        """The special tokens."""
        return frozenset(self.spec.special_tokens)

    def is_special_token(self, token_id: int) -> bool:
        """Return whether an id is that of a special token.

        Args:
            token_id: The id; the result is False for an id without a token.

        """
        return whole("token_id", token_id) in self._parts.decoder.special_ids

    @property
    def eot_token(self) -> int:
        """The id of the end-of-text token; `SpecialTokenError` when there is none."""
        return self._parts.vocabulary.end_of_text()

    pad_token = NamedToken("pad")
    """The token for padding that the loaded files name; None when they name none."""
    pad_token_id = NamedId("pad")
    """The id of `pad_token`; None when there is none."""
    bos_token = NamedToken("bos")
    """The token for the beginning of a text that the loaded files name; None when they name none."""
    bos_token_id = NamedId("bos")
    """The id of `bos_token`; None when there is none."""
    eos_token = NamedToken("eos")
    """The token for the end of a text that the loaded files name; None when they name none."""
    eos_token_id = NamedId("eos")
    """The id of `eos_token`; None when there is none."""
    unk_token = NamedToken("unk")
    """The unknown token that the loaded files or the model name; None when there is none."""
    unk_token_id = NamedId("unk")
    """The id of `unk_token`; None when there is none."""

    def with_added_tokens(self, tokens: Iterable[str], *, special: bool = False) -> Tokenizer:
        """Return a tokenizer with more tokens, as `add_tokens` and `add_special_tokens` of HF's `tokenizers` define it.

        Args:
            tokens: The texts of the tokens. A key of `get_vocab` keeps its id; any other token gets the next id.
            special: Whether the tokens are special: they match in the texts of calls that allow them. Otherwise they
                always match.

        Returns:
            The new tokenizer; this one does not change.

        Raises:
            TypeError: A token is not a `str`.
            ValueError: A token is empty.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258).with_added_tokens(["<tool>", "low"])
            >>> tok.added_tokens, tok.encode("low<tool>")
            ({'<tool>': 258, 'low': 257}, [257, 258])

        """
        return type(self)(with_added_tokens(self.spec, tokens, special=special, keys=self._parts.vocabulary.keys()))

    def with_roles(
        self, *,
        bos_token: str | None = None, eos_token: str | None = None, pad_token: str | None = None,
        unk_token: str | None = None, cls_token: str | None = None, sep_token: str | None = None,
        mask_token: str | None = None, chat_template: str | None = None,
    ) -> Tokenizer:  # fmt: skip
        """Return a tokenizer that names special tokens by their roles in a model, and has a chat template.

        `save` to a folder writes them, and `AutoTokenizer` of `transformers` reads them there: a tokenizer_config.json
        with the names, and a chat_template.jinja. Roles that you do not give stay as they are.

        Args:
            bos_token: The special token at the beginning of a text.
            eos_token: The special token at the end of a text.
            pad_token: The special token that pads rows.
            unk_token: The special token for text that the vocabulary lacks.
            cls_token: The special token before a text that is classified.
            sep_token: The special token between two texts.
            mask_token: The special token in place of a hidden one.
            chat_template: The text of a template that replaces the templates of the files; it is Jinja, as for
                `transformers`.

        Returns:
            The new tokenizer; this one does not change.

        Raises:
            TypeError: An argument is neither a `str` nor None.
            ValueError: A role names a token that is not special, or the template has no expression.
            VocabularyError: The tokenizer_config.json that was loaded with the tokenizer is not JSON.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=260, special_tokens=["<|end|>", "<|pad|>"])
            >>> named = tok.with_roles(eos_token="<|end|>", pad_token="<|pad|>")
            >>> named.eos_token, named.pad_token_id
            ('<|end|>', 259)

        """
        given = {
            "bos": bos_token, "eos": eos_token, "pad": pad_token, "unk": unk_token, "cls": cls_token, "sep": sep_token,
            "mask": mask_token,
        }  # fmt: skip
        roles = {use: text for use, text in given.items() if text is not None}
        safe_import("bbpe.spec.roles")
        from .spec.roles import with_roles
        return type(self)(with_roles(self.spec, roles, chat_template))

    # -- files, caches, views ------------------------------------------------------------------------

    def save(
        self, path: str | os.PathLike[str], *,
        format: str | None = None,  # noqa: A002
        drop: Collection[Part] = (),
    ) -> None:  # fmt: skip
        """Write the complete tokenizer to a file or folder, or nothing.

        The result is read back and compared before it replaces a file, so `bbpe.load(path)` gives the same ids and
        texts; of `.codes` only the merges, as codes have no ids and no alphabet. The chat template and the roles of
        special tokens (`eos_token` and the like) are in other files of a folder, so a single file has none of them.
        Only a tokenizer.json keeps how offsets are trimmed. Only a rank file needs `pattern=` for reading.

        Args:
            path: The file or folder. Its suffix determines the format: `.json`, `.tiktoken`, `.model`, `.gguf`, `.txt`
                (BERT's vocab.txt), `.codes`. A name without a suffix is a folder for a tokenizer.json, a
                tokenizer_config.json and the other files that were loaded with it. One that exists keeps its other
                files; nothing is written if `load` would make another tokenizer with them. A single file may have a
                URL, to which it is uploaded; a folder may not.
            format: The format, None for that of the suffix: "huggingface", "tiktoken", "gpt2" (a folder with vocab.json
                and merges.txt), "vocab_txt", "wordpiece", "codes", "tekken", "gguf" or "sentencepiece".
            drop: Parts to leave out on purpose if the format cannot hold them: "special_tokens" (with added tokens and
                the template), "template", "pattern", "padding" (with truncation).

        Raises:
            VocabularyError: The format, or the folder with what is in it, cannot hold this tokenizer; the message names
                the parts that would be lost.
            ValueError: `format`, the suffix or a part of `drop` is unknown, nothing can be written to a URL of this
                kind, or the path is a folder that exists, for a format whose file may have any name.
            CorpusError: The protocol of the URL is unknown.
            OSError: The file cannot be written.

        Example:
            >>> import tempfile
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=258, special_tokens=["<s>"])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     tok.save(folder + "/tok-1.5")
            ...     bbpe.load(folder + "/tok-1.5") == tok
            True

        """
        safe_import("bbpe.formats.saving")
        from .formats.saving import save
        save(self, path, format, drop)

    def warm_up(self) -> None:
        """Make and import what the first calls would make and import.

        Call this in a server before it serves, forks, or drops privileges. The first request then takes no longer than
        others, forked workers share the memory, and no method of any tokenizer imports a module later. Optional
        packages are left out: pyarrow and zstandard for their files, `tokenizers`, `transformers` and gguf for the
        views and the format of these names. jinja2 is imported if this tokenizer has a chat template.

        The imports take about 0.2 s once per process. Two things still cost time when they first occur: a set of
        special tokens as an argument, and a text that is slow to search for tokens.

        Example:
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=257)
            >>> tok.warm_up()

        """
        warm_up(self)

    def cache_info(self) -> CacheInfo:
        """Return the sizes of the caches of this tokenizer and of the process, and their limit."""
        return CacheInfo(*self._parts.encoder.encoder.states.info())

    def clear_cache(self) -> None:
        """Free the caches of this tokenizer; running calls keep theirs until they end.

        The memory that the process keeps for the next large array of ids is freed too.

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
            >>> tok.clear_cache()
            >>> tok.cache_info().tokenizer
            0

        """
        self._parts.encoder.encoder.states.clear()

    def apply_chat_template(
        self, messages: Any, tools: Sequence[Any] | None = None, *,
        documents: Sequence[Mapping[str, Any]] | None = None,
        chat_template: str | None = None, add_generation_prompt: bool = False,
        continue_final_message: bool | str = False, variables: Mapping[str, Any] | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Return the text that a chat template makes of messages, as `transformers` does with `tokenize=False`.

        `encode_chat` returns the ids of the text. Messages are prepared as in `transformers`: fields that are None are
        left out, and a thought has all names that templates use. The template runs in a sandbox with limits.

        Args:
            messages: The messages, dicts with "role" and "content"; or a list of several chats.
            tools: The functions that the model may call, as JSON schemas, or as functions with type hints and a
                docstring that describes their arguments.
            documents: The documents that the model may quote, dicts with "title" and "text".
            chat_template: A template, or the name of one of the files; None takes "tool_use", if the files have it, for
                calls with tools, and else the default.
            add_generation_prompt: Whether to add the beginning of the model's answer.
            continue_final_message: Whether to end the text within the last message, so that the model continues it;
                or the name of the field to continue, "content" by default.
            variables: Variables of the template, such as `{"enable_thinking": False}`. A template may read them or not.
            **options: Variables that the template reads. Options of transformers that ask for ids are errors; values
                that ask for none, such as `tokenize=False`, are accepted.

        Returns:
            The text; for several chats the list of their texts.

        Raises:
            VocabularyError: There is no chat template; or it refuses the messages, fails, or would use more than the
                limits. The error names the template and the line.
            TypeError: A message or tool has a wrong type, or an option is neither an argument nor a variable of the
                template.
            ValueError: An option of transformers asks for ids.
            ImportError: The package `jinja2` is not installed.

        Example:
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=256)
            >>> template = "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
            >>> tok.apply_chat_template([{"role": "user", "content": "Hi"}], chat_template=template)
            '<user>Hi'

        """
        return VIEWS["chat"](
            self, messages, tools, documents=documents, chat_template=chat_template,
            add_generation_prompt=add_generation_prompt, continue_final_message=continue_final_message,
            variables=variables, options=options,
        )  # fmt: skip

    def encode_chat(
        self, messages: Any, tools: Sequence[Any] | None = None, *,
        documents: Sequence[Mapping[str, Any]] | None = None, chat_template: str | None = None,
        add_generation_prompt: bool = False, continue_final_message: bool | str = False,
        variables: Mapping[str, Any] | None = None, content_special: Selection = (), train_on: TrainOn = "assistant",
        turn_end: bool = True, max_length: int | None = None, **options: Any,
    ) -> EncodedChat:  # fmt: skip
        """Return the ids of a chat, which of them the assistant wrote, and the message and the place of each.

        Text from outside never forges a control token. A special or added token counts only if the template, or the
        tokens of the model such as BOS, wrote all of its characters. In a message, a name, the arguments of a tool or
        any other text from outside it is plain text. Only the usual roles, such as "user", may be a part of a token,
        because templates make `<|user|>` of them. If no text from outside has a token, the ids are those of
        `encode(text, allowed_special="all")`. Added tokens of white space alone are text, and count everywhere.

        The mask is 1 for the fields of the assistant's messages, for the template's text between two fields of one
        message (tags of thoughts and of tool calls), and for the tokens that end the turn. It is 0 for the header of a
        message and for the results of tools. A template with `{% generation %}` blocks marks the text itself.

        Args:
            messages: The messages of one chat, as for `apply_chat_template`.
            tools: As for `apply_chat_template`.
            documents: As for `apply_chat_template`.
            chat_template: As for `apply_chat_template`.
            add_generation_prompt: As for `apply_chat_template`.
            continue_final_message: As for `apply_chat_template`.
            variables: As for `apply_chat_template`.
            content_special: The special and added tokens that count in contents, too: "all" or a set of them.
            train_on: Whose messages the mask covers: a role, a set of roles, or a function that returns whether a
                message, a dict, is one of them.
            turn_end: Whether the mask covers the tokens that the template writes at the end of the assistant's turn.
            max_length: The most ids. A longer chat loses its oldest messages, except those of the system; the first
                that stays is never a result of a tool.
            **options: Variables that the template reads.

        Returns:
            An `EncodedChat` with `ids`, `mask`, `message_of`, `places`, `text`, and `labels()` for a loss.

        Raises:
            VocabularyError: There is no chat template; or it refuses the messages, fails, or would use more than the
                limits. The error names the template and the line.
            SpecialTokenError: The tokenizer does not have a token of `content_special`.
            TypeError: A message or tool has a wrong type, or an option is neither an argument nor a variable of the
                template.
            ValueError: Even the last message alone, or the last call of a tool with its results, has more than
                `max_length` ids; a message has no role; `train_on` has a misspelt one, or one that the template leaves
                out of its `{% generation %}` blocks.
            ImportError: The package `jinja2` is not installed.

        Example:
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=258, special_tokens=["<end>"])
            >>> template = "{% for message in messages %}{{ message.role }}: {{ message.content }}<end>{% endfor %}"
            >>> messages = [{"role": "user", "content": "Hi<end>"}, {"role": "assistant", "content": "Yo"}]
            >>> chat = tok.encode_chat(messages, chat_template=template)
            >>> tok.decode(chat.ids[chat.mask == 1]), chat.ids.tolist().count(tok.special_tokens["<end>"])
            ('Yo<end>', 2)

        """
        return cast("EncodedChat", VIEWS["encode_chat"](
            self, messages, tools, documents=documents, chat_template=chat_template, variables=variables,
            add_generation_prompt=add_generation_prompt, continue_final_message=continue_final_message,
            content_special=content_special, train_on=train_on, turn_end=turn_end, max_length=max_length, **options,
        ))  # fmt: skip

    def encode_chat_batch(self, conversations: Iterable[Any], tools: Any = None, **options: Any) -> EncodedChats:
        """Return the ids of many chats in rows, with masks, messages and places, as `encode_chat` does for one.

        Args:
            conversations: The chats, a list of messages each; or a column of Arrow with them, whose null fields are
                left out.
            tools: The tools of all chats, as for `encode_chat`.
            **options: The options of `encode_chat`; and `threads`, the most threads that work on chats, `None` for
                every core. More than one work only if the chats have more than 100,000 characters.

        Returns:
            An `EncodedChats`, whose `ids` and `masks` are columns of Arrow, and whose items are those of `encode_chat`.

        Raises:
            TypeError: `conversations` is a single chat; and as `encode_chat` does.

        Example:
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=256)
            >>> template = "{% for message in messages %}{{ message.content }}{% endfor %}"
            >>> tok.encode_chat_batch([[{"role": "assistant", "content": "Hi"}]] * 2, chat_template=template).masks[1]
            array([1, 1], dtype=uint32)

        """
        return cast("EncodedChats", VIEWS["encode_chat_batch"](self, conversations, tools, **options))

    def continue_chat(
        self, chat: EncodedChat, sampled_ids: Ids, messages: Any = (), add_generation_prompt: bool | None = None
    ) -> EncodedChat:
        """Return a chat that continues after ids that a model has sampled; existing ids never change.

        The result has the ids of `chat`, the sampled ids, and the ids of the text that the template writes next: the
        end of the turn, unless it was sampled, and the new messages. The answer is a message of the assistant; its
        content is the text of the sampled ids, without a special token at their end. The template renders the whole
        chat, and bbpe encodes only the text after the answer.

        Args:
            chat: A chat of `encode_chat` with `add_generation_prompt=True` or `continue_final_message=True`, or of this
                method.
            sampled_ids: The ids of the answer, with or without the token that ends it; they may be none.
            messages: The messages after the answer: results of tools, the next message of the user.
            add_generation_prompt: Whether to add the beginning of the next answer; None does so after new messages if
                `chat` has it.

        Returns:
            The whole chat. Its mask has the sampled ids. `differs_at` is the index of the first id that `encode_chat`
            of all messages would not give, and `None` if there is no such id. Ids differ if the model sampled other ids
            than encoding its text gives, or if the template now writes an older message differently.

        Raises:
            TypeError: `chat` is not a result of `encode_chat`, or `sampled_ids` are not ids.
            ValueError: No text was sampled, and the template now writes the beginning of `chat` differently.
            TokenIdError: The tokenizer does not have a sampled id.

        Example:
            >>> template = "{% for m in messages %}{{ m.role }}: {{ m.content }}<end>{% endfor %}{{ 'assistant: ' }}"
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=258, special_tokens=["<end>"])
            >>> chat = tok.encode_chat([{"role": "user", "content": "Hi"}], chat_template=template)
            >>> more = tok.continue_chat(chat, tok.encode("Yo"), [{"role": "user", "content": "Why?"}])
            >>> more.text
            'user: Hi<end>assistant: Yo<end>user: Why?<end>assistant: '

        """
        return cast("EncodedChat", VIEWS["continue_chat"](self, chat, sampled_ids, messages, add_generation_prompt))

    def encode_chat_columns(self, batch: Any, **options: Any) -> dict[str, list[list[int]]]:
        """Return the ids, masks and labels of the chats of a data set, as `datasets.map(..., batched=True)` calls it.

        Args:
            batch: A dict of columns, or a table of Arrow. Fields of messages and tools that are null are left out,
                because a struct of Arrow has the fields of all rows, and `datasets` makes lists of these. JSON in
                strings keeps the nulls in tools and in arguments of calls.
            **options: The options of `encode_chat_batch`; `messages` and `tools`, the names of the columns with the
                messages and the tools of each chat, as lists or as JSON in strings ("tools" may be missing); and
                `ignore`, the label of ids whose mask is 0, by default -100.

        Returns:
            The columns `input_ids`, `labels` and `assistant_masks`. TRL's `SFTTrainer` trains on the labels as they
            are; without that column it makes them of `assistant_masks`.

        Raises:
            ValueError: The batch has no such column, or a row is no chat.
            TypeError: The batch is neither a dict of columns nor a table; or it is a single chat, which is what `map`
                gives without `batched=True`.
            VocabularyError: As in `encode_chat`.

        Example:
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=256)
            >>> template = "{% for message in messages %}{{ message.role }}: {{ message.content }}{% endfor %}"
            >>> batch = {"messages": [[{"role": "assistant", "content": "Hi"}]]}
            >>> tok.encode_chat_columns(batch, chat_template=template)["assistant_masks"]
            [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]]

        """
        return dict(VIEWS["encode_chat_columns"](self, batch, **options))

    def encode_segments(self, segments: Iterable[tuple[str, Selection]]) -> list[int]:
        """Return the ids of one text in segments, each of which says which special tokens count in it.

        A special token counts only if all of it lies in segments that allow it. So a text from outside never makes a
        special token, not even together with its neighbours. In all other ways the segments are one text: merges,
        prefixes and normalizers go across them. Added tokens that are not special count everywhere, as in `encode`.

        Args:
            segments: Pairs of a text and its `allowed_special`: "all", a set of special tokens, or ().

        Returns:
            The ids.

        Raises:
            SpecialTokenError: The tokenizer does not have a token that a segment allows.
            TypeError: A segment is not such a pair.

        Example:
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=257, special_tokens=["<s>"])
            >>> tok.encode_segments([("<s>", "all"), ("<s>", ())])
            [256, 27, 82, 29]

        """
        return list(VIEWS["encode_segments"](self, segments))

    def count_messages(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] | None = None, model: str | None = None, *,
        images: Sequence[tuple[int, int] | int] | None = None, chat_template: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Return the number of tokens of a prompt with messages, up to the beginning of the model's answer.

        With the chat template of the loaded files the number is exact, the length of `encode_chat`; control tokens in
        messages count as text. The vocabularies of OpenAI's models have no template: this tokenizer counts the texts,
        and bbpe adds the tokens around them that OpenAI has published, which is an estimate for newer models. A tool
        call counts as its name, its arguments and three more tokens, and an image by its size; both are estimates.

        Args:
            messages: The messages of one chat, dicts with "role" and "content".
            tools: The functions that the model may call, as for `apply_chat_template`.
            model: The name of a model of OpenAI; None uses the chat template, or the name of the tokenizer.
            images: The images of the messages in order, for a model of OpenAI: (width, height) in pixels, or a number
                of tokens.
            chat_template: As in `apply_chat_template`.
            variables: As in `apply_chat_template`.

        Returns:
            The number of tokens.

        Raises:
            VocabularyError: There is no chat template, and the model is not a chat model of OpenAI; or this is the
                published vocabulary of another model.
            TypeError: A message is not a dict, or `images` is not a list.
            ValueError: A message or tool has a part that cannot be counted, such as sound, an image whose size is not
                given, or a description within the schema of an argument; the error names the message or tool and the
                field. Or a model and a template are given together.

        Example:
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=256)
            >>> tok.count_messages([{"role": "user", "content": "Hi"}], model="gpt-4o")
            12

        """
        return int(VIEWS["messages"](self, messages, tools, model, images, chat_template, variables))

    def as_tiktoken(self) -> Encoding:
        """Return a view of this tokenizer with the interface, defaults and errors of `tiktoken.Encoding`.

        Added tokens are special tokens of the view. The package `tiktoken` is not needed.

        Returns:
            A `bbpe.tiktoken.Encoding`; every call returns the same object.

        Raises:
            VocabularyError: The tokenizer has normalizers, prefixes, options of special tokens or symbols that are
                characters, which tiktoken does not support.

        Example:
            >>> tok = bbpe.train_from_iterator(["low"], vocab_size=258, special_tokens=["<|endoftext|>"])
            >>> tok.as_tiktoken().encode("<|endoftext|>", disallowed_special=())[:3]
            [27, 91, 68]

        """
        return VIEWS["tiktoken"](self)  # type: ignore[no-any-return]

    def as_sentencepiece(self) -> SentencePieceProcessor:
        """Return a view of this tokenizer with the interface of `sentencepiece.SentencePieceProcessor`.

        Its pieces have U+2581 for blanks and `<0x0A>` for bytes. The package `sentencepiece` is not needed.

        Returns:
            A `bbpe.compat.sentencepiece.SentencePieceProcessor`, whose methods have names in CamelCase and snake_case.

        Raises:
            VocabularyError: The symbols of the tokenizer are not characters with U+2581 for blanks.

        Example:
            >>> sp = bbpe.train_from_iterator(["low lower low"], 265, model="unigram").as_sentencepiece()
            >>> sp.encode("low", out_type=str), sp.id_to_piece(sp.piece_to_id("▁low"))
            (['▁low'], '▁low')

        """
        return VIEWS["sentencepiece"](self)  # type: ignore[no-any-return]

    def as_tokenizers(self) -> HuggingFaceTokenizer:
        """Return a view of this tokenizer with the interface of HF's `tokenizers.Tokenizer`.

        Added and special tokens match in all texts, as they do there. Truncation, padding and tokens that you add to
        the view do not change the tokenizer. The package `tokenizers` is not needed.

        Returns:
            A `bbpe.compat.tokenizers.Tokenizer`, whose `encode` returns a `bbpe.compat.tokenizers.Encoding`.

        Example:
            >>> view = bbpe.train_from_iterator(["low lower"], vocab_size=258).as_tokenizers()
            >>> view.encode("low low", "lower").word_ids
            [0, 1, 1, 0, 0, 0]

        """
        return VIEWS["tokenizers"](self)  # type: ignore[no-any-return]

    def as_huggingface(self, **options: Any) -> PreTrainedTokenizerFast:
        """Return this tokenizer as a `transformers.PreTrainedTokenizerFast` with the same ids.

        The result has all methods of that class. HF's `tokenizers` encodes for it; `bbpe.accelerate` makes it fast. It
        has the `tokenizer_config.json` and the chat template that were loaded with the tokenizer.

        Args:
            **options: Arguments of `PreTrainedTokenizerFast`, such as `pad_token`; they override the names in the
                files.

        Returns:
            A `transformers.PreTrainedTokenizerFast`.

        Raises:
            ImportError: `transformers` is not installed.
            VocabularyError: A tokenizer.json cannot hold this tokenizer.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> tok.as_huggingface()(["low", "lower"])["input_ids"]  # doctest: +SKIP
            [[257], [257, 68, 81]]

        """
        return VIEWS["transformers"](self, **options)  # type: ignore[no-any-return]

    # -- a value -------------------------------------------------------------------------------------

    @lazy_property
    def fingerprint(self) -> str:
        """A digest of everything that can change an id or a text, as 64 hex digits."""
        safe_import("bbpe.spec.fingerprint")
        from .spec.fingerprint import fingerprint
        return fingerprint(self.spec, self._parts.encoder.encoder.model)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        pairs = [(spec.special_tokens, spec.trims) for spec in (self.spec, other.spec)]
        return self is other or (pairs[0] == pairs[1] and self.fingerprint == other.fingerprint)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __copy__(self, memo: object = None) -> Self:
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[Any, ...]:
        safe_import("bbpe.spec.pickled")
        from .spec.pickled import spec_bytes, unpickled
        return unpickled, (type(self), spec_bytes(self.spec))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Tokenizer is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Tokenizer is immutable; cannot delete {name!r}")

    def _repr_html_(self) -> str:
        return str(VIEWS["summary"](self))

    def __repr__(self) -> str:
        tokens = counted(len(self), "token")
        name = f" {self.name}" if self.name else ""
        return f"<bbpe.Tokenizer{name}: {tokens}, {self._parts.vocabulary.learned_as()}>"


def checked_tokenizer(given: object, argument: str = "tokenizer") -> Tokenizer:
    """Return an argument that is a tokenizer; `TypeError` that names it, and how what was given becomes one."""
    if not isinstance(given, Tokenizer):
        raise no_tokenizer(given, argument, VIEWS["maker"](given))
    return given
