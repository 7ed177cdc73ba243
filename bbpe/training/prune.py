"""Fewer tokens for a tokenizer that exists: the last merges, or what a corpus does not use, taken away."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from ..corpus.files import CorpusPaths
from ..counting.count import count_files
from ..counting.counts import PretokenCounts
from ..counting.options import Counting, check_counted, counting_of
from ..errors import VocabularyError
from ..formats.common.ranks import live_merges
from ..lazy import np, npt
from ..records import replace, whole
from ..spec.rules import Template
from ..spec.spec import TextRules, TokenizerSpec
from ..tokenizer import Tokenizer, checked_tokenizer
from .train import uses_in

# what lies beside a tokenizer.json and names ids
_WITH_IDS = ("added_tokens.json", "generation_config.json")


def prune(
    tokenizer: Tokenizer,
    keep: int | Collection[int] | None = None,
    *,
    used_in: CorpusPaths | PretokenCounts | None = None,
    min_count: int = 1,
    counting: Counting | None = None,
) -> tuple[Tokenizer, npt.NDArray[np.int64]]:
    """Return a tokenizer with fewer tokens, and the new id of each old one: int64[old vocab_size], -1 for none.

    Single bytes, special and added tokens always stay, and so do the parts that a kept token is merged from. New ids
    number the kept tokens in the order of the old ids, without holes. Files beside a tokenizer.json that name ids are
    left out.

    Args:
        tokenizer: A tokenizer of bytes, which stays as it is.
        keep: How many tokens to keep in all, dropping the last merges first; or the ids to keep.
        used_in: Files, or counts with the pattern of the tokenizer. Only tokens that occur at least `min_count` times
            in their ids are kept; their texts are split into the same tokens as before. With an int for `keep`, the
            last merges of these are dropped too.
        min_count: How often a token must be used in `used_in`.
        counting: How to read and count files of `used_in`, a `Counting`; only with files.

    Returns:
        The smaller tokenizer, and the new id of each old one: int64[old vocab_size], -1 for none.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `keep` is less than the tokens that always stay, or has an id without a token; the counts are of
            another pattern; or an argument says how to count where nothing is counted.
        VocabularyError: The tokenizer has symbols that are characters or, with `used_in`, rules that change texts.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower"], 259, special_tokens=["<s>"])
        >>> less, new_ids = prune(tok, keep=258)
        >>> less.merges, less.special_tokens, new_ids[255:].tolist()
        ([(b'l', b'o')], {'<s>': 257}, [255, 256, -1, 257])

    """
    spec = checked_tokenizer(tokenizer).spec
    if spec.characters is not None:
        raise VocabularyError("this tokenizer has symbols that are characters; only tokenizers of bytes can be pruned")
    if keep is None and used_in is None:
        raise ValueError("nothing says what to keep; expected keep or used_in")
    min_count, how = whole("min_count", min_count, 0), counting_of(counting)
    if used_in is None:
        check_counted(how, "keep alone")
        if min_count != 1:
            raise ValueError(f"min_count is {min_count}; expected it only with used_in")
    elif isinstance(used_in, PretokenCounts):
        check_counted(how, "counts")
    if isinstance(keep, Mapping):
        raise TypeError(f"keep must be a collection of ids, not {type(keep).__name__}: give a list")
    if keep is not None and (isinstance(keep, str | bytes) or not isinstance(keep, Collection)):
        keep = whole("keep", keep, 1, expected="an int, a collection of ids, or None")
    live = live_merges(spec)
    parts = {made: (left, right) for left, right, made in live.merges}
    ordered = [*(made for _, _, made in live.merges), *live.unmade]
    kept = {token_id for token_id, token in spec.vocab.items() if len(token) == 1}
    if used_in is not None:
        used = _uses(tokenizer, used_in, how)
        _add(kept, (token_id for token_id in spec.vocab if used[token_id] >= min_count), parts)
    elif isinstance(keep, int):
        kept.update(spec.vocab)
    if isinstance(keep, Collection):
        named = {token_id for token_id, token in spec.vocab.items() if len(token) == 1}
        _add(named, _checked(spec, keep), parts)
        kept = named if used_in is None else kept & named
    if isinstance(keep, int):
        others = len(tokenizer) - len(spec.vocab)
        _drop_last(kept, ordered, parts, keep - others, others)
    return _renumbered(tokenizer, kept)


def _checked(spec: TokenizerSpec, keep: Collection[int]) -> list[int]:
    """Return those ids that are of ordinary tokens; `TypeError` on what is no id, `ValueError` on what no token has."""
    expected = "an id, an int (flatnonzero of a mask has ids)"
    keep = [whole("each of keep", token_id, expected=expected) for token_id in keep]
    others = {*spec.special_tokens.values(), *spec.added_tokens.values()}
    missing = next((token_id for token_id in keep if token_id not in spec.vocab and token_id not in others), None)
    if missing is not None:
        raise ValueError(f"keep names id {missing}, which no token has")
    return [token_id for token_id in keep if token_id in spec.vocab]


def _uses(
    tokenizer: Tokenizer, used_in: CorpusPaths | PretokenCounts, counting: Counting
) -> npt.NDArray[np.uint64]:
    """Return how often each id is used, uint64[vocab_size]."""
    spec = tokenizer.spec
    if spec.rules != TextRules():
        raise VocabularyError("this tokenizer has rules that change texts; what a corpus uses cannot be counted")
    if isinstance(used_in, PretokenCounts):
        counts = used_in
        if counts.spec.pattern.steps != spec.pattern.steps:
            raise ValueError(f"the counts are of pattern {counts.pattern!r}; expected {str(spec.pattern)!r}")
    else:
        specials = (*spec.special_tokens, *spec.added_tokens)
        with counting.reporting() as report:
            counts = count_files(used_in, counting.task(spec.pattern, specials), report, argument="used_in")
    return uses_in(tokenizer, counts)


def _add(kept: set[int], wanted: Any, parts: Mapping[int, tuple[int, int]]) -> None:
    """Add tokens and all that they are merged of."""
    waiting = list(wanted)
    while waiting:
        token_id = waiting.pop()
        if token_id not in kept:
            kept.add(token_id)
            waiting += parts.get(token_id, ())


def _drop_last(
    kept: set[int], ordered: list[int], parts: Mapping[int, tuple[int, int]], keep: int, others: int
) -> None:
    """Drop the last tokens that no kept one is merged of, until there are `keep`."""
    uses: dict[int, int] = {}
    for token_id in kept:
        for part in parts.get(token_id, ()):
            uses[part] = uses.get(part, 0) + 1
    waiting = [token_id for token_id in ordered if token_id in kept]
    while len(kept) > keep:
        # a merge may be listed before those that make its parts: then one walk is not enough
        left = []
        for place in range(len(waiting) - 1, -1, -1):
            token_id = waiting[place]
            if len(kept) == keep or uses.get(token_id, 0):
                left.append(token_id)
                continue
            kept.remove(token_id)
            for part in parts.get(token_id, ()):
                uses[part] -= 1
        if len(left) == len(waiting):
            least = len(kept) + others
            raise ValueError(f"keep is {keep + others}; expected at least {least}, the bytes and special tokens")
        waiting = left[::-1]


def smallest(tokenizer: Tokenizer) -> int:
    """Return how many tokens the smallest vocabulary of a tokenizer of bytes has: its bytes and special tokens."""
    return len(tokenizer) - sum(len(token) > 1 for token in tokenizer.spec.vocab.values())


def _renumbered(tokenizer: Tokenizer, kept: set[int]) -> tuple[Tokenizer, npt.NDArray[np.int64]]:
    spec = tokenizer.spec
    stays = kept | set(spec.special_tokens.values()) | set(spec.added_tokens.values())
    new_ids = np.full(tokenizer.vocab_size, -1, dtype=np.int64)
    new_ids[sorted(stays)] = np.arange(len(stays))
    new = dict(zip(sorted(stays), range(len(stays)), strict=True))
    merges = spec.merges
    if merges is not None:
        merges = tuple(
            (new[left], new[right], new[made])
            for left, right, made in merges
            if left in kept and right in kept and made in kept
        )
    changed = replace(
        spec,
        vocab={new[token_id]: token for token_id, token in spec.vocab.items() if token_id in kept},
        merges=merges,
        special_tokens={text: new[token_id] for text, token_id in spec.special_tokens.items()},
        added_tokens={text: new[token_id] for text, token_id in spec.added_tokens.items()},
        template=None if spec.template is None else _template(spec.template, new),
        files=_without_ids(spec.files),
        name=None,
    )
    return Tokenizer(changed), new_ids


def _template(template: Template, new: Mapping[int, int]) -> Template:
    def changed(items: tuple[tuple[int | str, int], ...]) -> tuple[tuple[int | str, int], ...]:
        return tuple((item if isinstance(item, str) else new[item], type_id) for item, type_id in items)

    return Template(changed(template.single), changed(template.pair))


def _without_ids(files: Mapping[str, bytes]) -> dict[str, bytes]:
    kept = {name: data for name, data in files.items() if name not in _WITH_IDS}
    if "tokenizer_config.json" in kept:
        config = json.loads(kept["tokenizer_config.json"])
        config.pop("added_tokens_decoder", None)
        kept["tokenizer_config.json"] = json.dumps(config, ensure_ascii=False).encode()
    return kept
