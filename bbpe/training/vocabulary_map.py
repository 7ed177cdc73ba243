"""The tokens of one vocabulary in those of another: to start embeddings of new tokens from those of old ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import SupportsIndex

from ..encoding.engine import text_encoder
from ..lazy import np, npt
from ..records import dataclass, index_of, kind, replace
from ..spec.models import LongestMatchModel, UnigramModel, Vocab
from ..spec.spec import TextRules, TokenizerSpec, byte_tokens, other_tokens
from ..splitting.patterns import PATTERNS
from ..text import counted, first_few
from ..tokenizer import Tokenizer, checked_tokenizer
from ..types import Ragged

#: Special tokens that a message shows.
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class VocabularyMap:
    """For each id of a new vocabulary, the ids of an old one that spell its bytes.

    `len` is the number of new ids; `map[i]` gives the old ids of the new id i, a view of `ids`, empty if there are
    none.

    Attributes:
        ids: The old ids of all new ones, one after another: uint32[total].
        offsets: Where the old ids of each new id begin and end: int64[new vocab_size + 1], starting with 0.
        exact: The old id of the same token, -1 if the old vocabulary has none: int64[new vocab_size].

    Example:
        >>> old = bbpe.train_from_iterator(["low lower"], 258)
        >>> new = bbpe.train_from_iterator(["low slow slow"], 260)
        >>> made = bbpe.vocabulary_map(old, new)
        >>> [(new.id_to_token(i), made[i].tolist(), int(made.exact[i])) for i in (256, 257, 258)]
        [(b'lo', [256], 256), (b'low', [257], 257), (b'slow', [82, 257], -1)]

    """

    ids: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]
    exact: npt.NDArray[np.int64]

    @property
    def missing(self) -> npt.NDArray[np.int64]:
        """The new ids without any old ones, in order: int64[n]."""
        return np.flatnonzero(np.diff(self.offsets) == 0).astype(np.int64)

    def __len__(self) -> int:
        return len(self.exact)

    def __getitem__(self, new_id: SupportsIndex) -> npt.NDArray[np.uint32]:
        number = index_of("new_id", new_id)
        if not 0 <= number < len(self):
            raise IndexError(f"id {number} of a vocabulary of {len(self)}")
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[np.uint32]]:
        return (self.ids[start:end] for start, end in pairwise(self.offsets.tolist()))

    def __repr__(self) -> str:
        same, missing = int(np.count_nonzero(self.exact >= 0)), len(self.missing)
        return f"<bbpe.VocabularyMap: {counted(len(self), 'id')}, {same:,} in both, {missing:,} without old ids>"


def vocabulary_map(
    old: Tokenizer, new: Tokenizer, *, special: Mapping[str, str | None] | None = None
) -> VocabularyMap:
    """Find the old ids that spell each token of a new vocabulary.

    Tokens are compared by the bytes that decoding writes for them within a text, so that `▁low`, `Ġlow` and a `low`
    that begins a word of WordPiece are the same token. A new id gets, in this order:

    * the old id of the same token. Of several the ordinary token comes first, then the lowest id; a byte token such as
      `<0x0A>` takes the old byte token first.
    * the ids by which the old model encodes the bytes as one pretoken, without its pattern, normalizers and prefix. A
      model whose tokens know where a word begins or ends (WordPiece, WordLevel, `</w>`) takes the longest token that
      fits at each place.
    * none, if these ids do not spell the bytes, as with an unknown character.

    A special token is spelled by the special or added token of the same text, or by the one that `special` names, and
    by no ordinary token.

    Args:
        old: The vocabulary whose ids are wanted.
        new: The vocabulary whose tokens are spelled.
        special: Special tokens of `old` that have another text in `new`, by their texts in `old`; `None` for one
            without a counterpart, although `new` has a token of this text.

    Returns:
        The ids, as flat arrays.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `special` names a token that does not exist.

    Example:
        >>> old = bbpe.train_from_iterator(["low lower"], 259, special_tokens=["<s>"])
        >>> new = bbpe.train_from_iterator(["low slow slow"], 261, special_tokens=["<|begin|>"])
        >>> made = bbpe.vocabulary_map(old, new, special={"<s>": "<|begin|>"})
        >>> made, made[new.token_to_id("slow")].tolist(), made[new.token_to_id("<|begin|>")].tolist()
        (<bbpe.VocabularyMap: 261 ids, 259 in both, 0 without old ids>, [82, 257], [258])

    """
    specials = mapped_specials(checked_tokenizer(old, "old"), checked_tokenizer(new, "new"), special)
    table = _Tokens(old)
    found = {new_id: [old_id] for old_id, new_id in specials.items() if new_id is not None}
    skipped = {*new.special_tokens.values()}
    wanted = _Tokens(new)
    exact = {new_id: old_id for new_id, [old_id] in found.items()}
    left: list[int] = []
    for new_id, token in wanted.items():
        if new_id in found or new_id in skipped:
            continue
        same = table.same(token, is_byte=new_id in wanted.bytes)
        if same is None:
            left.append(new_id)
        else:
            exact[new_id], found[new_id] = same, [same]
    found.update(zip(left, table.spelled([wanted[new_id] for new_id in left]), strict=True))
    count = new.vocab_size
    rows = [found.get(new_id, []) for new_id in range(count)]
    offsets, same_ids = np.zeros(count + 1, np.int64), np.full(count, -1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    same_ids[[*exact]] = [*exact.values()]
    return VocabularyMap(np.array([old_id for row in rows for old_id in row], np.uint32), offsets, same_ids)


def mapped_specials(
    old: Tokenizer, new: Tokenizer, special: Mapping[str, str | None] | None
) -> dict[int, int | None]:
    """Return the new id of each special or added token of an old vocabulary, by its id there: by name, or by its text.

    Those that no name and no text maps are left out; `None` are those for which that is asked.
    """
    if special is not None:
        kind("special", special, Mapping, "a dict of special tokens of the old vocabulary to those of the new one")
    mine, its = ({**tok.added_tokens, **tok.special_tokens} for tok in (old, new))
    found: dict[int, int | None] = {mine[text]: its[text] for text in mine if text in its}
    for text, other in (special or {}).items():
        found[_named(mine, text, "old")] = None if other is None else _named(its, other, "new")
    return found


def _named(tokens: Mapping[str, int], text: object, which: str) -> int:
    if not isinstance(text, str):
        raise TypeError(f"special must map texts of special tokens to texts or None; it has a {type(text).__name__}")
    if text not in tokens:
        known = first_few([*map(repr, tokens)], _SHOWN)
        raise ValueError(f"special names {text!r}, which is no special token of `{which}`; they are {known}")
    return tokens[text]


class _Tokens:
    """The bytes of the tokens of a vocabulary, within a text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        spec = tokenizer.spec
        #: The ids of byte tokens, and their bytes.
        self.bytes = byte_tokens(spec)
        self._spec, self._specials = spec, {*spec.special_tokens.values()}
        self._model = tokenizer._parts.encoder.encoder.model
        self._table = tokenizer._parts.decoder.token_bytes
        ids = np.array(sorted({*spec.vocab, *other_tokens(spec)}), np.uint32)
        data = self._table.join(ids)
        spans = self._table.spans(ids).tolist()
        self._tokens = {each: data[start:end] for each, (start, end) in zip(ids.tolist(), spans, strict=True)}
        # the first id stays; byte tokens last
        self._ids: dict[bytes, int] = {}
        self._byte_ids = {bytes((byte,)): token_id for token_id, byte in self.bytes.items()}
        for token_id, token in self._tokens.items():
            if token_id not in self._specials and token_id not in self.bytes and token:
                self._ids.setdefault(token, token_id)

    def __getitem__(self, token_id: int) -> bytes:
        return self._tokens[token_id]

    def items(self) -> Iterator[tuple[int, bytes]]:
        """Yield all ids in order, with the bytes of their tokens."""
        return iter(self._tokens.items())

    def same(self, token: bytes, *, is_byte: bool) -> int | None:
        """Return the id of a token with these bytes."""
        first, second = (self._byte_ids, self._ids) if is_byte else (self._ids, self._byte_ids)
        return first.get(token, second.get(token))

    def spelled(self, tokens: Sequence[bytes]) -> Iterator[list[int]]:
        """Yield the ids by which the model encodes each of these bytes; none where they do not spell them."""
        rows, numbers = self._rows(tokens)
        ids = rows.ids if numbers is None else numbers[rows.ids]
        known = {*self._tokens} - self._specials
        for token, start, end in zip(tokens, rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True):
            row = ids[start:end].tolist()
            is_known = token and known.issuperset(row)
            yield row if is_known and b"".join([self._tokens[each] for each in row]) == token else []

    def _rows(self, tokens: Sequence[bytes]) -> tuple[Ragged, npt.NDArray[np.int64] | None]:
        """Return rows of ids, and what these are the numbers of, if they are not ids of tokens."""
        spec = self._spec
        marks_words = spec.characters is not None and spec.characters.marks_words
        if isinstance(spec.model, UnigramModel) or (spec.model is None and not marks_words):
            bare = replace(spec, pattern=PATTERNS["none"], rules=TextRules(), token_options={}, added_tokens={})
            return text_encoder(bare, model=self._model).rows([*tokens], None, 1), None
        table = {**self._byte_ids, **self._ids}
        numbers = np.array([*table.values()], np.int64)
        longest = TokenizerSpec(Vocab(dict(enumerate(table))), None, PATTERNS["none"], model=LongestMatchModel())
        return text_encoder(longest).rows([*tokens], None, 1), numbers
