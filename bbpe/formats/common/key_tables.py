"""The keys of vocabularies and their merges in compact tables, so that no object is made for each of them.

Those of a `tokenizer.json` are read straight into tables; `json` reads the rest of the file.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ...core.json_lines import find_members
from ...core.token_table import TokenTable
from ...errors import VocabularyError
from ...files import StrPath
from ...records import dataclass
from ...spec.models import Merges, Vocab
from ...text import alphabet_to_bytes
from .reading import loads


class KeyTable(Mapping[str, int]):
    """The keys of a vocabulary and their ids, in the order of a file; immutable.

    `table` has the keys as UTF-8.  A `str` is made on access.

    >>> keys = KeyTable.of({"the": 7, "a": 2})
    >>> keys["a"], list(keys), "b" in keys
    (2, ['the', 'a'], False)
    """

    def __init__(self, table: TokenTable) -> None:
        self.table = table

    @classmethod
    def of(cls, keys: Mapping[str, int]) -> KeyTable:
        """Return a mapping as keys; `VocabularyError` on an id out of range."""
        return cls(TokenTable({token_id: key.encode("utf-8", "surrogatepass") for key, token_id in keys.items()}))

    def __getitem__(self, key: str) -> int:
        return self.table.id_of(key.encode("utf-8", "surrogatepass"))

    def __iter__(self) -> Iterator[str]:
        return (key.decode("utf-8", "surrogatepass") for _, key in self.table.pairs())

    def __len__(self) -> int:
        return len(self.table)

    def ids(self, texts: Collection[str]) -> list[int]:
        """Return the ids of some keys."""
        return [self[text] for text in texts]


class ScoredKeys(KeyTable):
    """The keys of a Unigram model, whose ids are their places in a list, with their scores, float64[n]."""

    def __init__(self, table: TokenTable, scores: array[float]) -> None:
        super().__init__(table)
        self.scores = scores


@dataclass(frozen=True)
class MergeKeys:
    """Merges in order, as pairs of keys.

    `path` is the file of the merges, and `place` returns the position of the nth merge in it.  The second key of a pair
    loses `prefix` when the two merge.
    """

    pairs: Sequence[tuple[str, str]]
    path: StrPath
    place: Callable[[int], str]
    prefix: str = ""

    def using(self, texts: set[str]) -> set[str]:
        """Return the keys that are parts or results of merges."""
        if not texts:
            return set()
        made = (left + right.removeprefix(self.prefix) for left, right in self.pairs)
        return texts.intersection(made).union(texts.intersection(chain.from_iterable(self.pairs)))

    def using_as_part(self, text: str) -> bool:
        """Return whether a key is part of a merge."""
        return any(text in pair for pair in self.pairs)

    def making(self, texts: Collection[str]) -> set[str]:
        """Return the keys that are results of merges."""
        return set(texts).intersection(left + right.removeprefix(self.prefix) for left, right in self.pairs)

    def unused(self, keys: KeyTable) -> list[str]:
        """Return the keys that are neither part nor result of a merge."""
        texts = list(keys)
        used = self.using(set(texts))
        return [text for text in texts if text not in used]

    def merges(self, keys: Mapping[str, int], tokens: Vocab) -> Merges:
        """Return the merges as ids; of a merge that is listed twice the last position counts, as in HF.

        Raises `VocabularyError` with the position of a merge whose parts or result are not tokens.
        """
        ids = {key: token_id for key, token_id in keys.items() if token_id in tokens}
        found: dict[tuple[int, int], int] = {}
        for number, (left, right) in enumerate(self.pairs):
            made = left + right.removeprefix(self.prefix)
            missing = next((key for key in (left, right, made) if key not in ids), None)
            if missing is not None:
                raise VocabularyError(
                    f"merge of {left!r} and {right!r}: {missing!r} has no id; "
                    "expected both parts and the result in the vocabulary",
                    path=self.path,
                    place=self.place(number),
                )
            pair = ids[left], ids[right]
            found.pop(pair, None)
            found[pair] = ids[made]
        return Merges((*pair, made) for pair, made in found.items())


@dataclass(frozen=True)
class MergeIds:
    """Merges that were read straight to ids: an alternative to `MergeKeys`, without the positions."""

    listed: Merges
    keys: KeyTable

    def using(self, texts: set[str]) -> set[str]:
        """Return the keys that are parts or results of merges."""
        ids = {self.keys[text]: text for text in texts}
        return {ids[token_id] for token_id in self.listed.uses(ids)}

    def using_as_part(self, text: str) -> bool:
        """Return whether a key is part of a merge."""
        token_id = self.keys.get(text)
        return token_id is not None and self.listed.joins(token_id)

    def making(self, texts: Collection[str]) -> set[str]:
        """Return the keys that are results of merges."""
        ids = {self.keys[text]: text for text in texts}
        return {ids[made] for _, _, made in self.listed if made in ids} if ids else set()

    def unused(self, keys: KeyTable) -> list[str]:
        """Return the keys that are neither part nor result of a merge."""
        return [keys.table[token_id].decode("utf-8", "surrogatepass") for token_id in self.listed.unused(keys.table)]

    def merges(self, keys: Mapping[str, int], tokens: Vocab) -> Merges:
        """Return the merges; `VocabularyError` without a position when their parts or results are not tokens."""
        del keys
        if not self.listed.fits(tokens):
            raise VocabularyError("a merge has a part or a result without an id; expected both in the vocabulary")
        return self.listed


def vocab_of_bytes(keys: KeyTable, left_out: Collection[str] = (), *, path: StrPath, place: str | None = None) -> Vocab:
    """Return the tokens of keys in the byte alphabet, in order; `VocabularyError` on a key outside of it."""
    vocab = Vocab.of_keys(keys.table, keys.ids(left_out))
    if vocab is not None:
        return vocab
    for key in keys:
        try:
            if key not in left_out:
                alphabet_to_bytes(key)
        except ValueError as error:
            raise VocabularyError(
                f"token {key!r}: {error}, and it is not a special token; expected GPT-2's byte alphabet",
                path=path,
                place=place,
            ) from None
    raise AssertionError("there is a key outside the alphabet")


class Unread(NamedTuple):
    """A list of merges or tokens in the bytes of a file."""

    data: bytes
    start: int
    end: int

    def merges(self, keys: KeyTable, prefix: str) -> MergeIds:
        """Return the merges of keys; `VocabularyError` when a slower reader has to look at them."""
        found = Merges.of_json(self.data, self.start, self.end, keys.table, prefix.encode())
        if found is None:
            raise VocabularyError("a merge is out of the ordinary; expected two tokens and their result")
        return MergeIds(found, keys)


def quick_document(data: bytes, *, reads_scores: bool = True) -> dict[str, Any] | None:
    """Return the value of a document with a `KeyTable` in place of its vocabulary, and `Unread` merges of BPE.

    Those of a model of the type Unigram are `ScoredKeys`, if it `reads_scores`.

    `None` when something is out of the ordinary, such as a number that is not an id, or wrong.  `read_json` has the
    value of such a file, or explains what is wrong with it.
    """
    places = find_members(data, (b"model", b"vocab"), (b"model", b"merges"))
    if places is None or places[0] == (0, 0):
        return None
    (start, end), (first, last) = places
    if places[1] == (0, 0) and data[start : start + 1] == b"{":
        return _quick_words(data, start, end)
    if places[1] == (0, 0):
        return _quick_unigram(data, start, end) if reads_scores else None
    if data[start:start + 1] != b"{" or data[first:first + 1] != b"[":
        return None
    table = TokenTable.of_json(data, start, end)
    if table is None:
        return None
    value = loads_without(data, places)
    if value is None or value["model"].get("type", "BPE") != "BPE":
        return None
    value["model"] |= {"vocab": KeyTable(table), "merges": Unread(data, first, last)}
    return value


def _quick_words(data: bytes, start: int, end: int) -> dict[str, Any] | None:
    """Return the value of a document whose model has words with ids, at [start, end), and nothing else of many rows."""
    table = TokenTable.of_json(data, start, end)
    value = None if table is None else loads_without(data, [(start, end)])
    if table is None or value is None or value["model"].get("type", "") not in ("WordPiece", "WordLevel", ""):
        return None
    value["model"]["vocab"] = KeyTable(table)
    return value


def _quick_unigram(data: bytes, start: int, end: int) -> dict[str, Any] | None:
    """Return the value of a document with `ScoredKeys` in place of the vocabulary, which is at [start, end)."""
    found = TokenTable.of_scored_rows(data, start, end) if data[start : start + 1] == b"[" else None
    value = None if found is None else loads_without(data, [(start, end)])
    if found is None or value is None or value["model"].get("type", "Unigram") != "Unigram":
        return None
    value["model"] |= {"type": "Unigram", "vocab": ScoredKeys(found[0], array("d", found[1]))}
    return value


def loads_without(data: bytes, places: list[tuple[int, int]]) -> dict[str, Any] | None:
    """Return the value of a document with `null` in some places; `None` when it is malformed."""
    starts, ends = zip(*sorted(places), strict=True)
    kept = zip((0, *ends), (*starts, len(data)), strict=True)
    try:
        value: dict[str, Any] = loads(b"null".join(data[start:end] for start, end in kept).decode())
    except (ValueError, RecursionError):  # also `VocabularyError`
        return None
    return value
