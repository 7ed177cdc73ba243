"""Checks of lint that need text: which tokens a corpus uses, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..lazy import np, npt
from ..text import Text, counted
from ..tokenizer import Tokenizer
from .findings import Example, Finding
from .measures import count_ids
from .subject import Subject


def uses(tokenizer: Tokenizer, batches: Iterable[list[Text]]) -> npt.NDArray[np.int64]:
    """Return how often each id is used in batches of texts, int64[vocab_size]."""
    used = np.zeros(tokenizer.vocab_size, np.int64)
    for batch in batches:
        count_ids(tokenizer.encode_batch_to_numpy(batch).ids, used)
    return used


def corpus_checks(subject: Subject, batches: Iterable[list[Text]], least: int) -> Iterator[Finding]:
    """Yield the tokens that batches of texts do not use, or use fewer than `least` times."""
    used = uses(subject.tokenizer, batches)
    of_tokens = used[subject.ids]
    total = int(used.sum())
    never, rare = np.flatnonzero(of_tokens == 0), np.flatnonzero((of_tokens > 0) & (of_tokens < least))
    why = "Their embeddings hardly change in training: prompts with such tokens give odd results."
    advice = "Train on text like the text that will be encoded, or drop them with `bbpe prune --used-in`."
    for check, found, shown in (
        ("unused", never, ("does not occur", "do not occur")),
        ("rare", rare, (f"occurs fewer than {least:,} times", f"occur fewer than {least:,} times")),
    ):
        if not len(found):
            continue
        numbers = sorted(found.tolist(), key=lambda number: -len(subject.tokens[number]))
        examples = tuple(
            Example(each.id, each.token, "" if check == "unused" else f"({counted(int(of_tokens[number]), 'time')})")
            for number, each in zip(numbers, subject.examples(numbers), strict=False)
        )
        share = len(found) / max(len(subject.ids), 1)
        yield Finding(
            check, "warning" if share > 0.1 and check == "unused" else "info", len(found),
            f"{counted(len(found), 'token')} ({share:.0%}) {shown[len(found) != 1]} in the corpus of "
            f"{counted(total, 'token')}", why, advice,
            examples, subject.ids_of(found.tolist()),
        )  # fmt: skip
