"""How large the counts of files will be, from the heads of a few of them."""

from __future__ import annotations

from ..budget import Budget, shown
from ..core.count import PretokenTable
from ..corpus.chunks import ChunkOptions, Cutter, Position
from ..text import counted
from .corpus_parts import Corpus, Files
from .counter import PartCounter

#: Files whose heads the estimate is made from.
_HEADS = 4


def plan_note(corpus: Corpus, options: ChunkOptions, budget: Budget, threads: int) -> str:
    """Say in a line for people what a count within bounded memory is going to do."""
    note = f"{budget.name} {shown(budget.limit)}: {counted(threads, 'thread')}, tables of {shown(budget.tables)}"
    if isinstance(corpus, Files) and corpus.total and corpus.are_stored:
        unique, unique_bytes, table_bytes = _estimate(corpus, options, corpus.total)
        spills = "to be spilled to Parquet files, " if table_bytes > budget.tables else ""
        note += (
            f"; {shown(corpus.total)} to read, about {counted(unique, 'unique pretoken')} of {shown(unique_bytes)} "
            f"expected, {spills}{shown(table_bytes)} of tables"
        )
    return note


def _estimate(corpus: Corpus, options: ChunkOptions, total: int) -> tuple[int, int, int]:
    """Estimate unique pretokens, their bytes and those of tables: they grow as a power of the text."""
    counter, cutter, table = PartCounter(options), Cutter(options), PretokenTable()
    read = unique = 0
    for number, events in corpus.sources(Position()):
        if number >= _HEADS:
            break
        for chunk in cutter.chunks([(number, events)], Position(number)):
            counter.count_chunk(chunk, table)
            read, unique = read + max(chunk.size, 1), len(table)
            if chunk.place is None or chunk.place.source == number:
                break
    if not unique:
        return 0, 0, 0
    # Heaps' law with the exponent of text in which hardly anything repeats: rather too many than too few
    grown = max(1.0, total / read) ** 0.8
    data = table.arrays()[0]
    return int(unique * grown), int(data.nbytes * grown), int(table.nbytes * grown)
