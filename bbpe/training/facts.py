"""Facts about a new vocabulary and the counts that it was trained on, which training reports."""

from __future__ import annotations

from ..counting.counts import PretokenCounts
from ..counting.options import Report
from ..lazy import np, npt
from ..progress import Progress
from ..text import counted, shortened
from ..tokenizer import Tokenizer


def uses_in(tokenizer: Tokenizer, counts: PretokenCounts) -> npt.NDArray[np.uint64]:
    """Return how often each id is used in counted pretokens, uint64[vocab_size]."""
    used = np.zeros(tokenizer.vocab_size, dtype=np.uint64)
    encoder = tokenizer._parts.encoder
    for rows in counts.batches():
        first, last = int(rows.offsets[0]), int(rows.offsets[-1])
        ends = np.ascontiguousarray(rows.offsets[1:] - first)
        ids = encoder.encode_pretokens(rows.data[first:last].tobytes(), ends)
        places = np.searchsorted(ends, tokenizer._parts.vocabulary.tokens.spans(ids)[:, 0], side="right")
        np.add.at(used, ids, rows.counts[places])
    return used


def noted(tokenizer: Tokenizer, counts: object, wanted: int, report: Report) -> Tokenizer:
    """Report fewer tokens than wanted, the longest token, and tokens that no text of the training uses any more.

    Returns the tokenizer.  Only counts of a byte-level vocabulary give the uses.
    """
    spec = tokenizer.spec
    notes = []
    if len(tokenizer) < wanted:
        notes.append(f"{counted(len(tokenizer), 'token')}, not {wanted:,}: no more pairs occur often enough")
    longest = max(spec.vocab.values(), key=len, default=b"")
    notes.append(f"the longest token has {counted(len(longest), 'byte')}: {shortened(longest, quoted=True)}")
    if isinstance(counts, PretokenCounts) and spec.model is None and spec.characters is None:
        used = uses_in(tokenizer, counts)
        unused = sum(len(token) > 1 and not used[token_id] for token_id, token in spec.vocab.items())
        if unused:
            parts = counted(unused, "token", "is only a part", "are only parts")
            them = "it" if unused == 1 else "them"
            notes.append(f"{parts} of longer ones: the training text itself does not use {them}")
    for note in notes:
        report(Progress("vocabulary", 0, None, "tokens", note))
    return tokenizer
