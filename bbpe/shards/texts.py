"""Count the texts that shards of ids were made of, so that a vocabulary is trained where the raw text is gone.

Ids become bytes some documents at a time, without those around documents, and are counted as texts of an iterable are:
by threads, in bounded memory, with a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Unpack

from ..corpus.chunks import ChunkOptions, Position
from ..corpus.sources import Texts
from ..counting.corpus_parts import Iterated, behind
from ..counting.count import count_corpus
from ..counting.counts import PretokenCounts
from ..counting.options import Counting, FileOptions, TextOptions
from ..errors import CorpusError, TokenIdError
from ..lazy import np, npt
from ..records import check_names
from ..text import counted
from .formats import Lengths
from .load import Folder, Shards, load_shards

#: Ids that become text at once, within a part; a longer document is one text all the same.
_IDS = 1 << 18


def count_shards(
    folder: Folder, *, pattern: str | Sequence[str], special_tokens: Sequence[str] = (), **options: Unpack[TextOptions]
) -> PretokenCounts:
    """Count the pretokens of the texts that shards hold as ids, to train tokenizers on them, as `count` does for files.

    A document is the text that its ids decode to, with the tokenizer that the shards keep, without the ids of `bos` and
    `eos` that their plan names.  Other special tokens are text: give them as `special_tokens` to separate it.  The
    counts are equal to counts of the raw texts, or of normalized texts if the tokenizer has a normalizer.

    Args:
        folder: The folder of shards, its plan, or the shards.
        pattern: How to split texts, the name of a pattern or a regex.
        special_tokens: Texts that separate the text in which they are found, and are not counted.
        **options: The fields of `Counting`, without `text_field`, `format` and `on_error`.

    Returns:
        The pretokens and how often each occurs, in the order of their first appearance; `summary.files` has the number
        of parts.

    Raises:
        CorpusError: Parts are missing or damaged, a document does not begin and end with the ids of the plan, or has
            an unknown token, whose text is lost.
        ValueError: An argument has a wrong value; `PatternError` names an unknown pattern.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low lower low"}')
        ...     _ = bbpe.shard(folder + "/a.jsonl", folder + "/out", tok)
        ...     counts = bbpe.count_shards(folder + "/out", pattern="gpt2")
        >>> list(counts)
        [(b'low', 1), (b' lower', 1), (b' low', 1)]

    """
    check_names("count_shards", options, FileOptions.__annotations__)
    how = Counting(**options)
    for name in ("format", "text_field", "on_error"):
        if getattr(how, name) != getattr(Counting, name):
            raise ValueError(f"Counting.{name} is {getattr(how, name)!r}; expected it only with files, not shards")
    shards = load_shards(folder)
    with how.reporting() as report:
        task = how.task(pattern, special_tokens)
        return count_corpus(_ShardTexts(shards, task.chunks, unique=how.unique), task, report)


class _ShardTexts(Iterated):
    """The texts of documents of ids, a source for each part."""

    def __init__(self, shards: Shards, options: ChunkOptions, *, unique: bool) -> None:
        super().__init__((), options, unique=unique)
        self._shards, self._parts = shards, len(shards.plan)
        self._block = options.reading.block
        #: The bytes of all texts, which the plan's totals know.
        self.total = shards.totals.text
        self.files = self._parts
        self.is_small = shards.totals.text <= self._block
        self._decoder = shards.tokenizer._parts.decoder
        spec = shards.tokenizer.spec
        # a vocabulary of bytes makes its unknown token of no text
        has_unknown = spec.model is not None or spec.characters is not None
        self._unknown, self._done = shards.tokenizer.unk_token_id if has_unknown else None, 0

    def sources(self, start: Position) -> Iterator[tuple[int, Iterable[Texts]]]:
        """Yield the number and the texts of each part, less the texts that are done."""
        self._done = sum(len(self._shards.part(number)[0]) for number in range(start.source))
        for number in range(start.source, self._parts):
            done = start.text if number == start.source else 0
            yield number, behind(self._events(number), done)

    def _events(self, number: int) -> Iterator[Texts]:
        """Yield the texts of a part, some documents at a time."""
        policy, stem = self._shards.plan.policy, self._shards.plan.stem(number)
        ids, lengths = self._shards.part(number)
        ends = np.cumsum(lengths, dtype=np.int64)
        first = 0
        while first < len(lengths):
            begun = int(ends[first - 1]) if first else 0
            last = max(int(np.searchsorted(ends, begun + _IDS, side="right")), first + 1)
            kept, counts = _inner(ids[begun : int(ends[last - 1])], lengths[first:last], policy.bos, policy.eos, stem)
            data, bounds = self._decoded(kept, counts, stem)
            self._done += int(ends[last - 1]) - begun
            # by the share of the ids
            yield Texts(data, bounds, True, self._shards.totals.text * self._done // max(self._shards.tokens, 1))
            first = last

    def _decoded(
        self, ids: npt.NDArray[np.uint32], counts: Lengths, stem: object
    ) -> tuple[bytes, npt.NDArray[np.int64]]:
        """Return the texts of documents, and where each ends."""
        if self._unknown is not None and (ids == self._unknown).any():
            raise CorpusError(f"{stem}: a document has the unknown token, whose text is lost; count the raw text")
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        try:
            return self._decoder.documents(ids, offsets)
        except TokenIdError as error:
            raise CorpusError(f"{stem}: {error} of the tokenizer that the shards keep") from error

    def identity(self) -> dict[str, Any]:
        """Return the parts of the plan, by which a count that goes on knows them."""
        plan = self._shards.plan
        return {"files": [[plan.stem(number).name, 0, plan.digest, False] for number in range(self._parts)]}


def _inner(
    ids: npt.NDArray[np.integer[Any]], lengths: Lengths, bos: int | None, eos: int | None, stem: object
) -> tuple[npt.NDArray[np.uint32], Lengths]:
    """Return the ids of documents without those around them; `CorpusError` where they are not there.

    An empty document that was kept has no ids at all.
    """
    kept, around = np.ascontiguousarray(ids, np.uint32), (bos is not None) + (eos is not None)
    if not around:
        return kept, lengths
    full = lengths[lengths > 0]
    ends = np.cumsum(full, dtype=np.int64)
    if len(short := np.flatnonzero(full < around)):
        found = counted(int(full[short[0]]), "id")
        raise CorpusError(f"{stem}: a document has {found}; expected bos and eos around each, as the plan says")
    is_inner = np.ones(len(kept), np.bool_)
    for token, places, which in ((bos, ends - full, "begins"), (eos, ends - 1, "ends")):
        if token is None:
            continue
        if len(other := np.flatnonzero(kept[places] != token)):
            wrong = int(kept[places[other[0]]])
            raise CorpusError(f"{stem}: a document {which} with the id {wrong}; expected {token}, as the plan says")
        is_inner[places] = False
    return kept[is_inner], np.maximum(lengths - around, 0)
