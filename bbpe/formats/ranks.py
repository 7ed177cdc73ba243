"""Between the two ways to say how tokens merge: by rank, and by a list of merges.

In *rank mode* (tiktoken) any two neighbours merge whose concatenation is a token, the lowest rank first.
In *merge-list mode* (HF) only listed pairs merge, the first listed first.

Both take the lowest pair, the leftmost of equals, until none is left.  So whatever surrounds a token `t`,
the steps inside it are those of merging `t` alone: no step crosses its ends, and the lowest of all pairs
that lies inside is the lowest inside.  Hence `t` has at most one last step (its *live merge*), which
merging it alone reveals; other pairs that spell `t` never come to be merged, and a token that is not
rebuilt from its own bytes is never made at all.  Two definitions with the same live merges in the same
order give the same ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ..core.bpe import Model
from ..errors import VocabularyError
from ..spec import TokenizerSpec

Merge = tuple[int, int, int]


@dataclass(frozen=True)
class LiveMerges:
    """The merges that happen, and the tokens of two bytes and more that none makes.

    `merges` holds `(left id, right id, id)` in order of priority, one for each token that merging makes;
    `unmade` the ids of the others, which only the look-up of whole pretokens can find.
    """

    merges: tuple[Merge, ...]
    unmade: tuple[int, ...]


def live_merges(spec: TokenizerSpec) -> LiveMerges:
    """Find the merges of a spec that happen.

    >>> from bbpe.patterns import get_pattern
    >>> vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> live_merges(TokenizerSpec(vocab, None, get_pattern("gpt2"))).merges
    ((97, 98, 256), (256, 99, 257))
    """
    model = Model(spec.vocab, spec.merges)
    rules = _Rules(spec)
    found: list[tuple[int, Merge]] = []
    unmade: list[int] = []
    for token_id, token in spec.vocab.items():
        if len(token) < 2:
            continue
        first = rules.first_rank(token_id)
        parts = [] if first is None else model.encode_pretoken(token, first)
        # two parts are left just below the token's own rank: they are its only way
        last = (parts[0], parts[1]) if len(parts) == 2 else rules.last_pair(token) if parts else None
        rule = None if last is None else rules.find(*last)
        if rule is None or rule[1] != token_id or last is None:
            unmade.append(token_id)
        else:
            found.append((rule[0], (*last, token_id)))
    return LiveMerges(tuple(merge for _, merge in sorted(found)), tuple(sorted(unmade)))


def merges_of(spec: TokenizerSpec) -> list[Merge]:
    """Return the merges of a spec as `(left id, right id, id)` in order of priority.

    Those of a spec in rank mode are found: one for each token that merging makes.  They give the same ids
    as the ranks, given the same `whole_pretokens`.
    """
    return list(live_merges(spec).merges if spec.merges is None else spec.merges)


def ranks_of(spec: TokenizerSpec) -> dict[bytes, int]:
    """Return the ranks that give the same ids as a spec, where there are such ranks.

    Raises `VocabularyError` when merging by rank, or finding whole pretokens that are tokens, as all
    readers of ranks do, would give other ids.
    """
    ranks = {token: token_id for token_id, token in spec.vocab.items()}
    if spec.merges is None and spec.whole_pretokens:
        return ranks
    live = live_merges(spec)
    if spec.merges is not None:
        _same_merges(spec, live.merges, live_merges(replace(spec, merges=None)).merges)
    if live.unmade and not spec.whole_pretokens:
        token_id = live.unmade[0]
        raise VocabularyError(
            f"token {spec.vocab[token_id]!r} (id {token_id}) is made by no merge, yet ranks would find it as a whole "
            "pretoken; write tokenizer.json, which can tell the two apart"
        )
    return ranks


def _same_merges(spec: TokenizerSpec, by_list: tuple[Merge, ...], by_rank: tuple[Merge, ...]) -> None:
    if by_list == by_rank:
        return
    pairs = zip((*by_list, None), (*by_rank, None), strict=False)
    place, (listed, ranked) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
    raise VocabularyError(
        f"merging by rank differs from the list of merges: step {place} is {_spelled(spec, ranked)} by rank and "
        f"{_spelled(spec, listed)} in the list; expected ids in the order of merges. Write tokenizer.json, or "
        "vocab.json with merges.txt, which keep the list"
    )


def _spelled(spec: TokenizerSpec, merge: Merge | None) -> str:
    return "none" if merge is None else f"{spec.vocab[merge[0]]!r} + {spec.vocab[merge[1]]!r} (id {merge[2]})"


class _Rules:
    """Which pairs merge, at which rank and into which id."""

    def __init__(self, spec: TokenizerSpec) -> None:
        self._vocab = spec.vocab
        self._ids = {token: token_id for token_id, token in spec.vocab.items()}
        self._listed: Mapping[tuple[int, int], tuple[int, int]] | None = None
        self._first: dict[int, int] = {}
        if spec.merges is not None:
            # of a merge that is listed twice the last place counts
            self._listed = {(left, right): (rank, made) for rank, (left, right, made) in enumerate(spec.merges)}
            for rank, made in self._listed.values():
                self._first[made] = min(rank, self._first.get(made, rank))

    def first_rank(self, token_id: int) -> int | None:
        """Return the lowest rank at which a token may be made."""
        return token_id if self._listed is None else self._first.get(token_id)

    def find(self, left: int, right: int) -> tuple[int, int] | None:
        """Return the rank and the id of a pair."""
        if self._listed is not None:
            return self._listed.get((left, right))
        made = self._ids.get(self._vocab[left] + self._vocab[right])
        return None if made is None else (made, made)

    def last_pair(self, token: bytes) -> tuple[int, int] | None:
        """Return the pair that merging a token alone merges last, if a single symbol is left then."""
        symbols = [self._ids[token[i : i + 1]] for i in range(len(token))]
        last = None
        while candidates := sorted(self._candidates(symbols)):
            _, at, made = candidates[0]
            last = symbols[at], symbols[at + 1]
            symbols[at : at + 2] = [made]
        return last if len(symbols) == 1 else None

    def _candidates(self, symbols: list[int]) -> Iterator[tuple[int, int, int]]:
        for at in range(len(symbols) - 1):
            rule = self.find(symbols[at], symbols[at + 1])
            if rule is not None:
                yield rule[0], at, rule[1]
