"""A view for `tokenizers`: the interface of its `Tokenizer` over the engine of bbpe.

The package `tokenizers` is not needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ... import formats
from ...core.column import Column
from ...encoding.limits import check_list
from ...encoding.stream import StreamDecoder
from ...files import ReadFile, StrPath
from ...formats.huggingface import tokenizer_json
from ...formats.huggingface.scores import dumps, kept_number, score_of
from ...lazy import np, safe_import
from ...loading import load
from ...published.names import hub_folder
from ...records import flag, kind, replace, whole
from ...spec.rules import RowSide
from ...tokenizer import Tokenizer as _Tokenizer
from ..columns import opened
from .components import (
    AddedToken,
    Component,
    Decoder,
    Model,
    Normalizer,
    PostProcessor,
    as_added,
    tokens_of,
    with_tokens,
)
from .encoding import Encoding, check_direction, checked_pad
from .row_options import STRATEGIES, Padding, Truncation, pad_rows, row
from .streams import DecodeStream
from .texts import HfTexts

__all__ = ["AddedToken", "DecodeStream", "Encoding", "Tokenizer"]

_Result = TypeVar("_Result")
#: The words of `tokenizers`, which programs may look for.
_EXPECTED = "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]], not {}"


async def _in_thread(call: Callable[..., _Result], *arguments: Any, **options: Any) -> _Result:
    # a program that awaits this runs asyncio, whose import takes a third as long as that of everything else here
    safe_import("asyncio")
    import asyncio

    return await asyncio.to_thread(call, *arguments, **options)


class Tokenizer:
    """A tokenizer with the interface of `tokenizers.Tokenizer`; `Tokenizer.as_tokenizers` makes one.

    Added and special tokens match in all texts unless `encode_special_tokens` is true.  Unlike a `bbpe.Tokenizer` it
    can change: `add_tokens`, `enable_truncation` and `enable_padding` change it.  `normalizer`, `pre_tokenizer`,
    `model`, `decoder` and `post_processor` are read-only.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=259, special_tokens=["<pad>"]).as_tokenizers()
        >>> tok.enable_padding(pad_id=tok.token_to_id("<pad>"), pad_token="<pad>")
        >>> [row.tokens for row in tok.encode_batch(["low lo", "low"])]
        [['low', 'Ġ', 'lo'], ['low', '<pad>', '<pad>']]
    """

    def __init__(self, tokenizer: _Tokenizer) -> None:
        self._hf_texts = HfTexts(tokenizer)
        self._is_plain = False
        self._truncation = Truncation.of(tokenizer.spec.truncation)
        self._padding = Padding.of(tokenizer.spec.padding)
        self._given: dict[int, AddedToken] = {}

    @classmethod
    def from_file(cls, path: StrPath) -> Tokenizer:
        """Return a tokenizer of a file of any format that `bbpe.load` reads."""
        return cls(load(path))

    @classmethod
    def from_str(cls, json: str) -> Tokenizer:
        """Return a tokenizer of the text of a tokenizer.json."""
        kind("json", json, str, "a str")
        return cls.from_buffer(json.encode("utf-8", "surrogatepass"))

    @classmethod
    def from_buffer(cls, buffer: bytes) -> Tokenizer:
        """Return a tokenizer of the bytes of a tokenizer.json."""
        kind("buffer", buffer, bytes | bytearray | memoryview, "bytes")
        made = cls(tokenizer_of_json(buffer))
        made._hf_texts = hf_texts_of_json(buffer, made._hf_texts.tokenizer)
        return made

    @classmethod
    def from_pretrained(cls, identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """Return a tokenizer of a repository in the hub's cache; nothing is downloaded."""
        if revision != "main":
            raise ValueError(f"revision is {revision!r}; expected 'main', the revision that bbpe.load finds")
        # the file alone, because a folder has the ids of the class that it names
        kind("identifier", identifier, str | os.PathLike, "the name of a repository or a path")
        folder = hub_folder(identifier) or Path(identifier)
        file = folder / tokenizer_json.NAMES[0][0]
        return cls(load(file if file.is_file() else identifier))

    # -- encoding --------------------------------------------------------------------------------------------

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in a text are plain text."""
        return self._is_plain

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._is_plain = flag("encode_special_tokens", value)

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Return the encoding of a text or a pair of texts.

        Args:
            sequence: A text, or with `is_pretokenized` a list of words.
            pair: A second text in the same row.
            is_pretokenized: Whether texts are lists of words; then offsets are those in each word.
            add_special_tokens: Whether to add the ids of the template.

        Returns:
            The encoding, truncated and padded as `enable_truncation` and `enable_padding` have set it.

        Raises:
            TypeError: A text is not a `str`, or not a list of words.
            ValueError: The texts cannot be truncated by these options.
        """
        texts = (sequence,) if pair is None else (sequence, pair)
        adds, parts = flag("add_special_tokens", add_special_tokens), self._encoded(texts, is_pretokenized)
        return pad_rows([row(self._hf_texts, parts, adds, self._truncation)], self._padding)[0]

    def encode_batch(
        self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Return the encodings of texts, or pairs of texts as tuples or lists of two, padded to one length.

        Args:
            input: The texts, or pairs of texts; or a column of Arrow, of whose row an encoding makes a `str` when it is
                asked for offsets or words.
            is_pretokenized: As in `encode`.
            add_special_tokens: As in `encode`.

        Returns:
            An encoding for each of them.

        Raises:
            TypeError: `input` is a single text, one of its items is neither a text nor a pair, or a row of a column is
                null.
            ValueError: The texts cannot be truncated by these options.
        """
        if isinstance(input, str | bytes):
            raise TypeError(f"a batch is a list of texts, not {type(input).__name__}")
        check_list(input, "input")
        texts, adds = opened(input), flag("add_special_tokens", add_special_tokens)
        if isinstance(texts, Column):
            sizes = [1] * len(texts)
        else:
            items = [_texts_of(item, is_pretokenized) for item in texts]
            texts, sizes = [text for item in items for text in item], list(map(len, items))
        parts = iter(self._encoded(texts, is_pretokenized))
        rules, hf_texts = self._truncation, self._hf_texts
        rows = [row(hf_texts, [next(parts) for _ in range(size)], adds, rules) for size in sizes]
        for each in rows:  # as for one text, before the longest of all is known
            pad_rows([each], self._padding)
        return pad_rows(rows, self._padding)

    encode_batch_fast = encode_batch

    def _encoded(self, texts: Sequence[Any] | Column, is_pretokenized: bool) -> list[Encoding]:
        """Return the encodings of single texts, without templates."""
        hf_texts = self._hf_texts
        matcher = hf_texts.matcher(self.encode_special_tokens)
        if flag("is_pretokenized", is_pretokenized):
            return [hf_texts.encoded_words(_checked_words(text), matcher) for text in texts]
        if isinstance(texts, Column):
            return hf_texts.encoded_column(texts, matcher)
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"TextInputSequence must be str, not {type(text).__name__}")
        if len(texts) == 1:
            return [hf_texts.encoded(texts[0], matcher)]
        return hf_texts.encoded_each(list(texts), matcher)

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Return encodings in a row by the template, truncated and padded.

        Args:
            encoding: The encoding of a text without a template.
            pair: That of a second text.
            add_special_tokens: As in `encode`.

        Returns:
            The row.
        """
        texts = (encoding,) if pair is None else (encoding, pair)
        for name, text in zip(("encoding", "pair"), texts, strict=False):
            kind(name, text, Encoding, "an Encoding")
        adds = flag("add_special_tokens", add_special_tokens)
        return pad_rows([row(self._hf_texts, texts, adds, self._truncation)], self._padding)[0]

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of ids that the template adds to a text or a pair."""
        return self._hf_texts.added_count(is_pair)

    async def async_encode(self, *arguments: Any, **options: Any) -> Encoding:
        """Return what `encode` returns, from another thread."""
        return await _in_thread(self.encode, *arguments, **options)

    async def async_encode_batch(self, *arguments: Any, **options: Any) -> list[Encoding]:
        """Return what `encode_batch` returns, from another thread."""
        return await _in_thread(self.encode_batch, *arguments, **options)

    async_encode_batch_fast = async_encode_batch

    # -- decoding --------------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids.

        Args:
            ids: The ids; those without a token have no text.
            skip_special_tokens: Whether to drop special tokens.

        Returns:
            The text.
        """
        return self._hf_texts.decoded(ids, skip_special_tokens)

    def decode_batch(self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Return the text of each row of ids; the arguments are those of `decode`."""
        check_list(sequences, "sequences")
        flag("skip_special_tokens", skip_special_tokens)
        return [self._hf_texts.decoded(ids, skip_special_tokens) for ids in sequences]

    async def async_decode_batch(self, *arguments: Any, **options: Any) -> list[str]:
        """Return what `decode_batch` returns, from another thread."""
        return await _in_thread(self.decode_batch, *arguments, **options)

    def stream_decoder(self, ids: Sequence[int], skip_special_tokens: bool) -> StreamDecoder | None:
        """Return a decoder of one id at a time, after the ids of a prompt."""
        inner = self._hf_texts.tokenizer
        return inner.stream_decoder(skip_special_tokens=skip_special_tokens, unknown_ids="skip", prompt=ids)

    # -- truncation and padding ------------------------------------------------------------------------------

    def enable_truncation(
        self, max_length: int, stride: int = 0, strategy: str = "longest_first", direction: RowSide = "right"
    ) -> None:
        """Truncate rows to a length.

        Args:
            max_length: The most ids, with those of the template.  Nothing is truncated if the template alone is longer,
                as in `tokenizers`.
            stride: The number of ids that each overflowing row repeats.
            strategy: The text of a pair that loses ids: "longest_first", "only_first" or "only_second".
            direction: The side that loses ids, "right" or "left".

        Raises:
            TypeError: A number is no int.
            ValueError: The strategy or the direction is unknown, a number is negative, or the stride leaves no room.
        """
        check_direction(direction, "truncation")
        if not isinstance(strategy, str) or strategy not in STRATEGIES:
            raise ValueError(f"Unknown `strategy`: `{strategy}`. Use one of {', '.join(STRATEGIES)}")
        max_length, stride = whole("max_length", max_length, 0), whole("stride", stride, 0)
        room = max_length - self.num_special_tokens_to_add(False)
        if 0 <= room < stride:
            raise ValueError(
                f"stride is {stride}, and max_length {max_length} has room for {room} ids of a text; expected no more"
            )
        self._truncation = Truncation(max_length, stride, strategy, direction)

    def no_truncation(self) -> None:
        """Truncate no more."""
        self._truncation = None

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The options of `enable_truncation`; None without truncation."""
        return None if self._truncation is None else self._truncation._asdict()

    def enable_padding(
        self, direction: RowSide = "right", pad_id: int = 0, pad_type_id: int = 0, pad_token: str = "[PAD]",
        length: int | None = None, pad_to_multiple_of: int | None = None,
    ) -> None:  # fmt: skip
        """Pad rows to one length.

        Args:
            direction: The side of the padding, "right" or "left".
            pad_id: The id of padding.
            pad_type_id: The type id of padding.
            pad_token: The token of padding.
            length: The length; None takes that of the longest row.
            pad_to_multiple_of: The length is rounded up to a multiple of this.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: The direction is unknown, or a number is negative or no uint32.
        """
        pad_id, pad_type_id = checked_pad(direction, pad_id, pad_type_id, pad_token)
        length = None if length is None else whole("length", length, 0)
        if pad_to_multiple_of is not None:
            pad_to_multiple_of = whole("pad_to_multiple_of", pad_to_multiple_of, 0)
        self._padding = Padding(length, pad_to_multiple_of, pad_id, pad_token, pad_type_id, direction)

    def no_padding(self) -> None:
        """Pad no more."""
        self._padding = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """The options of `enable_padding`; None without padding."""
        return None if self._padding is None else self._padding._asdict()

    # -- vocabulary ------------------------------------------------------------------------------------------

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token; None if there is no such token."""
        kind("token", token, str, "a str")
        return self._hf_texts.keys.get(token)

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id; None if there is no such id."""
        return self._hf_texts.names.get(whole("id", id))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return all tokens and their ids, or those of the model."""
        if flag("with_added_tokens", with_added_tokens):
            return dict(self._hf_texts.keys)
        outside = self._outside
        return {key: token_id for key, token_id in self._hf_texts.keys.items() if token_id not in outside}

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens, or of those of the model."""
        return len(self._hf_texts.keys) - (0 if flag("with_added_tokens", with_added_tokens) else len(self._outside))

    @property
    def _outside(self) -> set[int]:
        """The ids of added tokens after those of the model."""
        last = max(self._hf_texts.spec.vocab, default=-1)
        return {token_id for token_id in self.get_added_tokens_decoder() if token_id > last}

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Return the added and special tokens by their ids."""
        return tokens_of(self._hf_texts.spec) | self._given

    def add_tokens(self, tokens: Iterable[str | AddedToken]) -> int:
        """Add tokens that always match.

        Args:
            tokens: The texts of tokens, or `AddedToken`s.

        Returns:
            The number of tokens that are new, or that have other options than before.

        Raises:
            TypeError: A token is neither a `str` nor an `AddedToken`, or `tokens` is one `str`.
        """
        return self._add(tokens, special=False)

    def add_special_tokens(self, special_tokens: Iterable[str | AddedToken]) -> int:
        """Add special tokens; the arguments are those of `add_tokens`, and each `AddedToken` becomes special."""
        return self._add(special_tokens, special=True)

    def _add(self, tokens: Iterable[str | AddedToken], *, special: bool) -> int:
        check_list(tokens, "special_tokens" if special else "tokens")
        if isinstance(tokens, str):
            raise TypeError(f"tokens is the str {tokens!r}; expected a list of tokens")
        known = self.get_added_tokens_decoder()
        present, changed = {token.content: token for token in known.values()}, list[AddedToken]()
        for token in [as_added(each, special=special) for each in tokens]:
            if token.content and present.get(token.content) != token:
                present[token.content] = token
                changed.append(token)
        if changed:
            keys, next_id = self._hf_texts.keys, self._hf_texts.spec.vocab_size
            for token in changed:
                token_id = keys.get(token.content, next_id)
                next_id = max(next_id, token_id + 1)
                known[token_id] = self._given[token_id] = token
            hf_texts = self._hf_texts
            self._hf_texts = HfTexts(_Tokenizer(with_tokens(hf_texts.spec, known)), hf_texts.keeps_types)
        return len(changed)

    # -- the tokenizer as data -------------------------------------------------------------------------------

    def to_str(self, pretty: bool = False) -> str:
        """Return a tokenizer.json.

        Args:
            pretty: Whether to indent it.

        Returns:
            The text of the file.

        Raises:
            VocabularyError: A tokenizer.json cannot hold the tokenizer.
        """
        document = self._document(kept_number)
        return dumps(document, indent=2 if flag("pretty", pretty) else None)

    def _document(self, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
        rules = None if self._truncation is None else self._truncation.rule()
        spec = replace(self._hf_texts.spec, files={}, padding=None, truncation=rules)
        path = Path("tokenizer.json")
        document: dict[str, Any] = json.loads(formats.written(spec, path, "huggingface")[path], parse_float=parse_float)
        if self._padding is not None:
            document["padding"] = self._padding.written()
        return document

    def save(self, path: StrPath, pretty: bool = True) -> None:
        """Write a tokenizer.json.

        Args:
            path: The file.
            pretty: Whether to indent it.

        Raises:
            VocabularyError: A tokenizer.json cannot hold the tokenizer.
            OSError: The file cannot be written.
        """
        formats.put({formats.file_path(path): self.to_str(pretty).encode("utf-8", "surrogatepass")}, path)

    def _component(self, name: str, kind: type[Component]) -> Any:
        fields = self._document()[name]
        return None if fields is None else kind(self._hf_texts, fields)

    @property
    def normalizer(self) -> Normalizer | None:
        """The normalizer, which changes a text before it is split; None if nothing does."""
        return self._component("normalizer", Normalizer)  # type: ignore[no-any-return]

    @property
    def pre_tokenizer(self) -> Component | None:
        """The pre-tokenizer, which splits a text; None if nothing does."""
        return self._component("pre_tokenizer", Component)  # type: ignore[no-any-return]

    @property
    def model(self) -> Model:
        """A model, which turns pretokens into ids."""
        return self._component("model", Model)  # type: ignore[no-any-return]

    @property
    def decoder(self) -> Decoder | None:
        """The decoder, which turns tokens into text; None if blanks join them."""
        return self._component("decoder", Decoder)  # type: ignore[no-any-return]

    @property
    def post_processor(self) -> PostProcessor | None:
        """The post-processor, which adds the ids of the template; None if nothing does."""
        return self._component("post_processor", PostProcessor)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<bbpe.compat.tokenizers.Tokenizer of {self._hf_texts.tokenizer!r}>"


def tokenizer_of_json(data: bytes, parse_float: Callable[[str], float] = score_of) -> _Tokenizer:
    """Return the tokenizer of the bytes of a tokenizer.json, without other files of its folder.

    `parse_float` is that of the reader of the format.
    """
    file = ReadFile(Path("backend.json"), bytes(data))
    return _Tokenizer(tokenizer_json.load(file, formats.Given(), parse_float=parse_float))


def hf_texts_of_json(data: bytes, tokenizer: _Tokenizer) -> HfTexts:
    """Return our engine for a tokenizer that was read from the bytes of a tokenizer.json."""
    return HfTexts(tokenizer, b'"RobertaProcessing"' not in data)


def _texts_of(item: Any, is_pretokenized: bool) -> tuple[Any, ...]:
    """Return the text or the two texts of an item of a batch."""
    if isinstance(item, str):
        return (item,)
    if not isinstance(item, list | tuple | np.ndarray):
        raise TypeError(_EXPECTED.format(type(item).__name__))
    if is_pretokenized and all(isinstance(word, str) for word in item):
        return (item,)
    if len(item) != 2:
        raise TypeError(_EXPECTED.format(f"{len(item)} items"))
    return tuple(item)


def _checked_words(words: Any) -> list[str]:
    if isinstance(words, list | tuple | np.ndarray) and all(isinstance(word, str) for word in words):
        return list(words)
    raise TypeError("PreTokenizedInputSequence must be Union[List[str], Tuple[str]]")
