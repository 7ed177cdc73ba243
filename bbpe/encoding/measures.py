"""How much a text is in tokens, and where they lie in it: counts, limits, offsets, rows of one length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

import numpy as np
import numpy.typing as npt

from ..core.id_source import as_int
from ..core.offsets import map_spans
from ..errors import SpecialTokenError
from ..pipeline.special_tokens import Matcher, Selection, SpecialTokens
from ..pipeline.streaming import complete_characters
from ..text import Text, text_bytes
from ..threads import check_threads
from ..types import Ragged
from .decode import Decoding, Ids, checked_ids
from .engine import TextEncoder, id_dtype
from .offsets import check_places, located
from .rule_encoder import RuleEncoder
from .stream import StreamDecoder, UnknownIds

#: What offsets count: characters (the indices of a `str`), bytes of UTF-8, or UTF-16 units (JavaScript's, Java's).
Unit: TypeAlias = Literal["char", "byte", "utf16"]
Side: TypeAlias = Literal["left", "right"]
_T = TypeVar("_T", bound=Text)

# tokens of a text, and ids of a row
_MOST = 2**62
# a text is cut from the left in a stretch at its end, of so many characters for each token at first
_LOOK_BACK = 16


class Measures(Decoding):
    """The part of a `Tokenizer` that counts, cuts and places tokens."""

    _encoder: TextEncoder
    _specials: SpecialTokens
    _around: tuple[tuple[int, ...], tuple[int, ...]]

    def count_tokens(
        self,
        text: Text,
        *,
        threads: int | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
        add_special_tokens: bool = False,
    ) -> int:
        """Return `len(encode(text))` without making the ids; options and errors as in `encode_to_numpy`.

        >>> bbpe.train_from_iterator(["low lower"], vocab_size=258).count_tokens("lower")
        3
        """
        check_threads(threads)
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        count = self._encoder.count(text, matcher, threads)
        return count + sum(map(len, self._around)) if add_special_tokens else count

    def count_tokens_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
        add_special_tokens: bool = False,
    ) -> npt.NDArray[np.int64]:
        """Return how many tokens each text has, int64[n]; options and errors as in `encode_batch`.

        >>> bbpe.train_from_iterator(["low lower"], vocab_size=258).count_tokens_batch(["low", "", "lower"])
        array([1, 0, 3])
        """
        check_threads(threads)
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        counts = self._encoder.counts(as_batch(texts), matcher, threads)
        return counts + sum(map(len, self._around)) if add_special_tokens else counts

    def fits(
        self, text: Text, n: int, *, allowed_special: Selection = (), disallowed_special: Selection = ()
    ) -> bool:
        """Say whether a text has at most n tokens, looking no further than it must: at 100 MB as soon as at 1 KB.

        So a disallowed special token that stands far behind may go unnoticed.  Tokenizers with normalizers other than
        Unicode forms, lower-casing and replacements that do not shorten, or that drop text, encode all of it.

        >>> bbpe.train_from_iterator(["low lower"], vocab_size=258).fits("lower", 2)
        False
        """
        limit = _checked_limit(n)
        return self._encoder.count_up_to(text, limit, self._specials.matcher(allowed_special, disallowed_special)) <= n

    def truncate(
        self,
        text: _T,
        n: int,
        side: Side = "right",
        *,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> _T:
        """Return the beginning of a text, or with `side="left"` its end, that has at most n tokens.

        It is cut where the first (last) n tokens of the text end (begin), or earlier: never within a character, and so
        that the tokens of what is left, encoded by itself, are at most n.  A text that fits is returned as it is, a
        longer one as a slice of its own type.

        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> tok.truncate("lower low", 2), tok.truncate("lower low", 2, side="left")
        ('lowe', ' low')
        """
        if side not in ("left", "right"):
            raise ValueError(f'side is {side!r}; expected "left" or "right"')
        limit = _checked_limit(n)
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        if self._encoder.count_up_to(text, limit, matcher) <= limit:
            return text
        ids, spans, start = self._around_the_cut(text, limit, matcher, side)
        part = text[start:]
        if side == "right":
            # where the token behind the cut begins; of a character that it shares, before that
            places = _places(part, spans[: limit + 1])[:, 0][::-1]
            parts = (part[: _floor(part, int(place))] for place in places)
        else:
            places = _places(part, spans[len(ids) - limit - 1 :])[:, 1]
            parts = (part[_ceil(part, int(place)) :] for place in places)
        return cast(_T, next(kept for kept in parts if self._encoder.count_up_to(kept, limit, matcher) <= limit))

    def _around_the_cut(
        self, text: Any, limit: int, matcher: Matcher | None, side: Side
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], int]:
        """Return ids of a text, more than `limit` at the side that is kept, their spans, and the place of the first."""
        encoder = self._encoder
        check_places(encoder)
        if matcher is None and encoder.splitter.compiled is not None and not isinstance(encoder, RuleEncoder):
            if side == "right":
                ids = encoder.encoder.first_ids(text, limit)
                return ids, self._token_bytes.spans(ids), 0
            look = _LOOK_BACK * (limit + 16)
            while look < len(text):
                start = encoder.encoder.cut(text, len(text) - look, look)
                ids = encoder.to_array(text[start:])
                if len(ids) > limit:
                    return ids, self._token_bytes.spans(ids), start
                look *= 4
        return *located(encoder, self._token_bytes, text, matcher), 0

    def encode_with_offsets(
        self,
        text: Text,
        unit: Unit = "char",
        *,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> tuple[list[int], npt.NDArray[np.int64]]:
        """Return the ids of a text, and where each lies in it: int64[n, 2], its start and its end.

        `unit`: "char", indices of a `str`, or characters of bytes, of which one that is no UTF-8 is a character of its
        own; "byte", bytes of its UTF-8; "utf16", UTF-16 units.  A token that holds a part of a character spans it
        whole, so neighbours overlap there, but in bytes, where they join exactly.  White space is part of its token,
        as in HF's `tokenizers` with `trim_offsets` off.  Behind normalizers and prefixes places are those of the
        characters that a token comes from, in bytes too, and what was put in lies at the character beside it.

        Raises `VocabularyError` where a rule has changed the text in a way that leaves no places, naming it; otherwise
        as `encode`.

        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> ids, offsets = tok.encode_with_offsets("lower é")
        >>> offsets.tolist()
        [[0, 3], [3, 4], [4, 5], [5, 6], [6, 7], [6, 7]]
        """
        if unit not in ("char", "byte", "utf16"):
            raise ValueError(f'unit is {unit!r}; expected "char", "byte" or "utf16"')
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        ids, spans = located(self._encoder, self._token_bytes, text, matcher)
        if unit != "byte":
            map_spans(text, spans, unit)
        return ids.tolist(), spans

    def decode_with_offsets(self, ids: Ids) -> tuple[str, list[int]]:
        """Return the text of ids, and for each id the index of the first character that holds a byte of it.

        As tiktoken's.  Raises `UnicodeDecodeError` when the bytes are not UTF-8, otherwise as `decode`.

        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> tok.decode_with_offsets(tok.encode("low é"))
        ('low é', [0, 3, 4, 4])
        """
        kept = checked_ids(ids)
        text = self._token_bytes.join(kept).decode("utf-8", "strict")
        spans = self._token_bytes.spans(np.asarray(kept, dtype=np.uint32))
        map_spans(text, spans, "char")
        places = spans[:, 0]
        if self._edges is None or not len(kept):
            return text, places.tolist()
        begun = self._edges.begun(text, kept)
        places[1:] += len(begun) - len(text)
        trimmed = self._edges.trimmed(text, kept)
        return trimmed, np.clip(places - self._edges.leading_blanks(kept), 0, len(trimmed)).tolist()

    def encode_padded(
        self,
        texts: Iterable[Text],
        max_length: int | None = None,
        pad_id: int | None = None,
        side: Side = "right",
        pad_to_multiple_of: int = 1,
        *,
        dtype: npt.DTypeLike = np.uint32,
        threads: int | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
        add_special_tokens: bool = False,
    ) -> tuple[npt.NDArray[np.unsignedinteger[Any]], npt.NDArray[np.bool_]]:
        """Return the ids of texts as one array, `ids[n, m]` of `dtype`, and `mask`, bool[n, m], true where a text is.

        Rows of more than `max_length` ids are cut at their end, those of `add_special_tokens` being kept.  m is the
        length of the longest row, or the next multiple of `pad_to_multiple_of`; the rest of a row, at the `side`
        named, is `pad_id`, by default `pad_token`, which the files of the tokenizer name, else the end-of-text token.

        Raises `SpecialTokenError` without a `pad_id` where there is neither, otherwise as `encode_batch`.

        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> ids, mask = tok.encode_padded(["low", "lower"], pad_id=0)
        >>> ids.tolist(), mask.tolist()
        ([[257, 0, 0], [257, 68, 81]], [[True, False, False], [True, True, True]])
        """
        if side not in ("left", "right"):
            raise ValueError(f'side is {side!r}; expected "left" or "right"')
        if pad_to_multiple_of < 1:
            raise ValueError(f"pad_to_multiple_of is {pad_to_multiple_of}; expected at least 1")
        chosen = id_dtype(dtype, self.vocab_size)
        pad = self._padding() if pad_id is None else _checked_id(pad_id, "pad_id")
        if not 0 <= pad <= np.iinfo(chosen).max:
            raise ValueError(f"pad_id is {pad}; expected 0 to {np.iinfo(chosen).max}")
        check_threads(threads)
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        rows = self._encoder.rows(as_batch(texts), matcher, threads)
        around = self._around if add_special_tokens else ((), ())
        if max_length is not None:
            rows = _cut_rows(rows, _checked_limit(max_length, "max_length", sum(map(len, around))))
        if add_special_tokens:
            rows = rows.between(*around)
        lengths = np.diff(rows.offsets)
        width = -(-int(lengths.max(initial=0)) // pad_to_multiple_of) * pad_to_multiple_of
        places = np.arange(width)
        mask = places < lengths[:, None] if side == "right" else places >= width - lengths[:, None]
        ids = np.full(mask.shape, pad, dtype=chosen)
        ids[mask] = rows.ids
        return ids, mask

    def is_canonical(self, ids: Ids) -> bool:
        """Say whether ids are those that encoding gives to the text they stand for; special tokens are themselves.

        Models also generate other ids for the same text.  Raises as `decode_bytes` does.

        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> tok.is_canonical(tok.encode("low")), tok.is_canonical(tok.encode("l") + tok.encode("ow"))
        (True, False)
        """
        self._token_bytes.join(ids)
        given = np.asarray(ids, dtype=np.uint32)
        plain = self._specials.matcher()
        if isinstance(self._encoder, RuleEncoder):
            text = self.decode(given)
            return np.array_equal(self._encoder.to_array(text, self._specials.matcher("all")), given)
        special = np.isin(given, list(self.spec.special_tokens.values()))
        for stretch in np.split(given, np.flatnonzero(special)):
            # each but the first begins with a special token
            rest = stretch[1:] if len(stretch) and stretch[0] in self._special_ids else stretch
            if not np.array_equal(self._encoder.to_array(self._token_bytes.join(rest), plain), rest):
                return False
        return True

    def stream_decoder(
        self, *, errors: str = "replace", skip_special_tokens: bool = False, unknown_ids: UnknownIds = "raise"
    ) -> StreamDecoder:
        """Return what decodes ids one at a time, as a model generates them: `StreamDecoder`; options as in `decode`.

        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> "".join(map(tok.stream_decoder().push, tok.encode("lower")))
        'lower'
        """
        if unknown_ids not in get_args(UnknownIds):
            raise ValueError(f"unknown_ids is {unknown_ids!r}; expected {', '.join(map(repr, get_args(UnknownIds)))}")
        skipped = self._special_ids if skip_special_tokens else frozenset()
        return StreamDecoder(
            self._token_bytes, self._edges, errors=errors, skipped=skipped, unknown_ids=unknown_ids
        )

    def _padding(self) -> int:
        declared = self.pad_token
        if declared is not None and self.pad_token_id is None:
            raise SpecialTokenError(
                f"the files of this tokenizer name {declared!r} as pad_token, which no token is; expected pad_id"
            )
        if self.pad_token_id is not None:
            return self.pad_token_id
        try:
            return self.eot_token
        except SpecialTokenError:
            raise SpecialTokenError(
                "this tokenizer has no pad_token and no end-of-text token to pad with; expected pad_id"
            ) from None


def as_batch(texts: Iterable[Text]) -> list[Text]:
    """Return texts as a list; `TypeError` on one text."""
    if isinstance(texts, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"a batch is an iterable of texts, not one {type(texts).__name__}")
    if isinstance(texts, list):
        return texts
    if not isinstance(texts, Iterable):
        raise TypeError(f"a batch is an iterable of texts, not {type(texts).__name__}")
    # a column of Arrow yields objects of its own
    to_list = getattr(texts, "to_pylist", None)
    return list(texts if to_list is None else to_list())


def _checked_id(token_id: int, name: str) -> int:
    try:
        return as_int(token_id)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {type(token_id).__name__}") from None


def _checked_limit(n: int, name: str = "n", least: int = 0) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise TypeError(f"{name} must be an int, not {type(n).__name__}")
    if not least <= n <= _MOST:
        raise ValueError(f"{name} is {n}; expected at least {least} and at most {_MOST}")
    return int(n) - least


def _cut_rows(rows: Ragged, limit: int) -> Ragged:
    lengths = np.diff(rows.offsets)
    if lengths.max(initial=0) <= limit:
        return rows
    kept = np.arange(len(rows.ids)) - np.repeat(rows.offsets[:-1], lengths) < limit
    return Ragged(rows.ids[kept], np.concatenate([[0], np.cumsum(np.minimum(lengths, limit))]))


def _places(text: Text, spans: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return spans of bytes as indices of a text."""
    places = np.ascontiguousarray(spans)
    if isinstance(text, str):
        map_spans(text, places, "char")
    return places


def _floor(text: Any, place: int) -> int:
    """Move a place back to the beginning of a character."""
    if isinstance(text, str):
        return place
    start = max(place - 4, 0)
    return start + complete_characters(bytes(text_bytes(text[start:place])))


def _ceil(text: Any, place: int) -> int:
    """Move a place on to the beginning of a character."""
    if not isinstance(text, str):
        tail = bytes(text_bytes(text[place : place + 3]))
        while tail and tail[0] & 0xC0 == 0x80:
            tail, place = tail[1:], place + 1
    return place
