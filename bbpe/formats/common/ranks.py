"""Convert between the two definitions of how tokens merge: ranks, and lists of merges.

In *rank mode* (tiktoken) any two neighbours merge whose concatenation is a token, the lowest rank first.
In *merge-list mode* (HF) only listed pairs merge, the first listed first.

Both modes merge the lowest pair, the leftmost of equal ones, until no pair is left.  Consider a token `t` that merging
makes within a longer text.  No step crosses the ends of `t`, and among the pairs inside `t` the lowest one is always
merged first.  So the steps inside `t` are the same as when the bytes of `t` are merged alone.  Hence `t` has at most
one last step, its *live merge*, and merging `t` alone reveals it (csrc/models/bpe/model.h).  Other pairs that spell
`t` are never merged, and a token that merging does not rebuild from its own bytes is never made.  Two definitions with
the same live merges in the same order give the same ids.
"""

from __future__ import annotations

from ...core.bpe import CompiledBPE
from ...errors import VocabularyError
from ...records import dataclass, replace
from ...spec.spec import TokenizerSpec

Merge = tuple[int, int, int]


@dataclass(frozen=True)
class LiveMerges:
    """The live merges of a spec, and the tokens of two or more bytes without one.

    `merges` has `(left id, right id, id)` in order of priority, one for each token that merging makes.  `unmade` has
    the ids of the other tokens, which only the look-up of whole pretokens can find.
    """

    merges: tuple[Merge, ...]
    unmade: tuple[int, ...]


def live_merges(spec: TokenizerSpec) -> LiveMerges:
    """Return the live merges of a spec.

    >>> from bbpe.splitting.patterns import get_pattern
    >>> vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> live_merges(TokenizerSpec(vocab, None, get_pattern("gpt2"))).merges
    ((97, 98, 256), (256, 99, 257))
    """
    if spec.model is not None:
        raise VocabularyError(f"a vocabulary of {type(spec.model).__name__} has neither merges nor ranks")
    if spec.characters is not None:
        raise VocabularyError(
            "a vocabulary of characters has no ranks of bytes; write tokenizer.json, or a SentencePiece .model"
        )
    merges, unmade = CompiledBPE(spec.vocab, spec.merges).live_merges()
    return LiveMerges(tuple(merges), tuple(unmade))


def merges_of(spec: TokenizerSpec) -> list[Merge]:
    """Return the merges of a spec as `(left id, right id, id)` in order of priority.

    For a spec in rank mode these are the live merges, which give the same ids as the ranks if `whole_pretokens` is the
    same.
    """
    return list(live_merges(spec).merges if spec.merges is None else spec.merges)


def ranks_of(spec: TokenizerSpec) -> dict[bytes, int]:
    """Return the ranks that give the same ids as a spec.

    Raises `VocabularyError` when merging by rank would give other ids, and when the look-up of whole pretokens, which
    all readers of ranks do, would give other ids.
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
            f"no merge makes token {spec.vocab[token_id]!r} (id {token_id}), but readers of ranks would find it as a "
            "whole pretoken; write tokenizer.json, which can turn that off"
        )
    return ranks


def _same_merges(spec: TokenizerSpec, by_list: tuple[Merge, ...], by_rank: tuple[Merge, ...]) -> None:
    if by_list == by_rank:
        return
    pairs = zip((*by_list, None), (*by_rank, None), strict=False)
    step, (listed, ranked) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
    raise VocabularyError(
        f"merging by rank differs from the list of merges: step {step} is {_spelled(spec, ranked)} by rank and "
        f"{_spelled(spec, listed)} in the list; expected ids in the order of merges. Write tokenizer.json, or "
        "vocab.json with merges.txt, which keep the list"
    )


def _spelled(spec: TokenizerSpec, merge: Merge | None) -> str:
    return "none" if merge is None else f"{spec.vocab[merge[0]]!r} + {spec.vocab[merge[1]]!r} (id {merge[2]})"
