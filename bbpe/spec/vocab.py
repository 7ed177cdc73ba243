"""The vocabulary of a tokenizer: ids to the bytes of ordinary tokens, as an immutable mapping."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView

from ..core.token_table import TokenTable


class Vocab(TokenTable, Mapping[int, bytes]):
    """Ids to bytes, in the order of a file or mapping; immutable, and equal to any mapping of the same items.

    All tokens are in one block of memory, and `bytes` objects are made on access, so a vocabulary of 100,000 tokens
    loads without making 100,000 objects.

    Raises `TypeError` on an id that is not an int and a token that is not bytes; `VocabularyError` on an id out of
    range and on two ids of one token.

    >>> vocab = Vocab({7: b"the", 2: b"a"})
    >>> vocab[7], list(vocab), vocab == {2: b"a", 7: b"the"}, vocab.id_of(b"a")
    (b'the', [7, 2], True, 2)
    """

    __slots__ = ()

    def items(self) -> ItemsView[int, bytes]:
        """Return a view of the ids and their bytes, in order."""
        return _Items(self)

    def values(self) -> ValuesView[bytes]:
        """Return a view of the bytes, in order."""
        return _Values(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vocab) and self.data() == other.data():
            return True
        if not isinstance(other, Mapping):
            return NotImplemented
        return len(self) == len(other) and dict(self.pairs()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return _of_data, (self.data(),)

    def __repr__(self) -> str:
        return f"Vocab({dict(self.pairs())!r})"


def _of_data(data: bytes) -> Vocab:
    """Return the vocabulary of a pickle, which has it as one block of bytes."""
    return Vocab.of_data(data)


class _Items(ItemsView[int, bytes]):
    """A view that makes all items in one call instead of looking up each id."""

    def __init__(self, vocab: Vocab) -> None:
        super().__init__(vocab)
        self._vocab = vocab

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return iter(self._vocab.pairs())


class _Values(ValuesView[bytes]):
    """A view that makes all values in one call instead of looking up each id."""

    def __init__(self, vocab: Vocab) -> None:
        super().__init__(vocab)
        self._vocab = vocab

    def __iter__(self) -> Iterator[bytes]:
        return iter([token for _, token in self._vocab.pairs()])
