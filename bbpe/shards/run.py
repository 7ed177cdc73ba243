"""`shard`: plan, write all parts, and sum them up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from threading import Lock
from typing import Unpack

from ..corpus.files import CorpusPaths
from ..counting.handout import HandOut
from ..counting.options import Report, reporting
from ..errors import CorpusError
from ..files import is_url, remove_left_over, write_atomic
from ..lazy import futures, safe_import
from ..progress import Progress
from ..records import asdict, check_names, dataclass, kind, whole
from ..text import counted
from ..threads import thread_count
from ..tokenizer import Tokenizer
from .load import MANIFEST, Shards
from .mixture import Mixture
from .part import PartRecord, Totals, check_texts, finished_part, write_part
from .plan import ShardPlan, make_plan, stored_or_new
from .policy import ShardOptions, make_policy, naming_input_format
from .shuffle import SHUFFLING
from .state import forget_failure, listing
from .status import command_again

SKIPPED = "skipped.jsonl"
# what to do with a folder, or with shards, where a plan is expected
_AGAIN = "the same call again returns the plan that a folder has; shards have it as shards.plan"


@naming_input_format()
def plan_shards(
    files: CorpusPaths, folder: str | os.PathLike[str], tokenizer: Tokenizer, *, replan: bool = False,
    **options: Unpack[ShardOptions],
) -> ShardPlan:  # fmt: skip
    """Store a plan of shards in a folder, or return the plan that is there if it is the same.

    Args:
        files: As in `shard`.
        folder: The folder of the plan and of the output.
        tokenizer: The tokenizer; it is stored beside the plan.
        replan: As in `shard`.
        **options: As in `shard`.

    Returns:
        The plan; `len(plan)` is the number of parts.

    Raises:
        CorpusError: The folder has another plan, and a part of it is done or being written; the message names the
            difference; or it is in the corpus; or a file is no text, or has no column of texts.
        ValueError: An argument has a wrong value, or the folder is a URL.
        TypeError: An option is unknown, or an argument has the wrong type.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     len(bbpe.plan_shards(folder + "/a.jsonl", folder + "/out", tok))
        1

    """
    return _planned("plan_shards", files, folder, tokenizer, options, replan=replan)


def _planned(
    function: str, files: CorpusPaths, folder: str | os.PathLike[str], tokenizer: Tokenizer, options: ShardOptions, *,
    replan: bool,
) -> ShardPlan:  # fmt: skip
    check_names(function, options, ShardOptions.__annotations__)
    policy = make_policy(tokenizer, **options)
    return stored_or_new(make_plan(files, folder, tokenizer, policy), check_texts, replan=replan)


@naming_input_format()
def shard_part(plan: ShardPlan, number: int) -> PartRecord:
    """Write one part of a plan, unless it is done.

    The bytes depend on the plan alone, so any process on any machine that sees the folder may write any part, in any
    order, and again.  The files of a part appear under their names when they are complete, and its record is last.

    Args:
        plan: The plan.
        number: The number of the part, from 0.

    Returns:
        The record of the part: its documents, tokens and files.

    Raises:
        CorpusError: A file has changed since the plan was made, or cannot be read as text.
        ValueError: There is no such part.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     plan = bbpe.plan_shards(folder + "/a.jsonl", folder + "/out", tok)
        ...     bbpe.shard_part(plan, 0).tokens
        1

    """
    kind("plan", plan, ShardPlan, "what plan_shards returns", _AGAIN)
    return write_part(plan, number)


def totals_of_part(plan: ShardPlan, number: int) -> Totals:
    """Write one part for an executor, whose driver needs no lists of files and lines."""
    return write_part(plan, number).totals


def finish_shards(plan: ShardPlan) -> Shards:
    """Sum up the parts of a plan when all of them are done, and remove the temporary files of killed runs.

    Args:
        plan: The plan.

    Returns:
        The shards.

    Raises:
        CorpusError: Parts are missing, or documents or bytes were lost.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     plan = bbpe.plan_shards(folder + "/a.jsonl", folder + "/out", tok)
        ...     _ = bbpe.shard_part(plan, 0)
        ...     bbpe.finish_shards(plan).documents
        1

    """
    kind("plan", plan, ShardPlan, "what plan_shards returns", _AGAIN)
    records = [finished_part(plan, number) for number in range(len(plan))]
    missing = [number for number, record in enumerate(records) if record is None]
    if missing:
        gone = f"{len(missing)} of {counted(len(plan), 'part', 'is', 'are')} missing, or lack files"
        command = command_again(plan, missing)
        way = f"`{command}` writes them" if command else "merge them again"
        raise CorpusError(f"{plan.folder}: {gone}; {way}")
    done = [record for record in records if record is not None]
    found, skipped = sums_of(plan, done)
    for name in ("part-*", "plan.json", "tokenizer.bbpe", "old-tokenizer.bbpe"):
        for left in plan.folder.glob(f".{name}.*.tmp"):
            remove_left_over(left)
    for number in listing(plan.folder).failed:
        forget_failure(plan.stem(number))
    for shuffle in plan.folder.glob(f"{SHUFFLING}*"):
        safe_import("shutil")
        import shutil

        # another run may be removing it
        shutil.rmtree(shuffle, ignore_errors=True)
    if skipped:
        write_atomic(plan.folder / SKIPPED, skipped)
    more = {} if found.mixture is None else {"mixture": found.mixture.as_dict()}
    record = {"plan": plan.digest, "parts": len(plan), **asdict(found.totals), **more}
    write_atomic(plan.folder / MANIFEST, json.dumps(record, indent=1).encode())
    return found


def sums_of(plan: ShardPlan, records: Sequence[PartRecord]) -> tuple[Shards, bytes]:
    """Return what all parts are together, and the lines of `skipped.jsonl`; raises as `finish_shards`."""
    totals = sum((record.totals for record in records), Totals())
    check_totals(plan, totals)
    skipped = [json.dumps(line, ensure_ascii=False) + "\n" for record in records for line in record.skipped]
    return Shards(plan, totals, mixture_of(plan, records, totals)), "".join(skipped).encode("utf-8", "surrogateescape")


def mixture_of(plan: ShardPlan, records: Sequence[PartRecord], totals: Totals) -> Mixture | None:
    """Return what a mixture has of each source, `None` of other shards; `CorpusError` unless that is all it has."""
    recipe = plan.policy.mixture
    if recipe is None:
        return None
    counts = records[0].mixed
    found = tuple(sum(row[column] for row in counts) for column in range(2))
    if len(counts) != len(recipe.shares) or found != (totals.documents, totals.tokens):
        raise CorpusError(
            f"{plan.folder}: the sources of the mixture have {counted(found[0], 'document')} and "
            f"{counted(found[1], 'token')}; expected {totals.documents:,} and {totals.tokens:,}"
        )
    return Mixture.of(recipe, counts)


def check_totals(plan: ShardPlan, totals: Totals) -> None:
    """Raise `CorpusError` unless every document and every byte that was read is accounted for."""
    known = totals.documents + totals.empty + totals.null + totals.refused + totals.left - totals.repeated
    if totals.records != known or totals.input != plan.size:
        raise CorpusError(
            f"{plan.folder}: {counted(totals.records, 'record')} and {counted(totals.input, 'byte')} were read, but "
            f"{counted(known, 'record', 'is', 'are')} accounted for, and the files have {counted(plan.size, 'byte')}"
        )


@naming_input_format()
def shard(
    files: CorpusPaths, folder: str | os.PathLike[str], tokenizer: Tokenizer, *,
    threads: int | None = None, executor: futures.Executor | None = None, in_flight: int | None = None,
    attempts: int = 3, progress: bool | Report | None = None, replan: bool = False, **options: Unpack[ShardOptions],
) -> Shards:  # fmt: skip
    r"""Encode a corpus to files that training reads.

    Interrupted? Call it again with the same arguments, and it resumes; other arguments for the same folder are an
    error. The bytes depend on files, tokenizer and options alone, never on threads, workers, order or kills. Special
    tokens in texts are plain text unless `allowed_special` has them.

    Args:
        files: A path, glob or folder, or the URL of one, or a list of them: text, `.jsonl` and `.parquet` files; text
            and lines may be compressed as `.gz`, `.bz2`, `.xz` or `.zst`.
        folder: The folder of the plan and of the output, not a URL.  All workers must see it, and the files.
        tokenizer: The tokenizer; it is stored beside the plan.
        threads: The number of threads without an executor; by default one for each core, but one for chats, whose
            templates run in Python: an executor with processes is faster.
        executor: An executor of `concurrent.futures`, or one with the same interface; its workers write the parts.
        in_flight: How many parts it has at once; by default two for each of its workers.
        attempts: How often bbpe tries a part if its worker fails or dies; without an executor, if the server of a URL
            fails.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.
        replan: Replace a plan with other arguments although another run writes a part of it now; that run ends with an
            error. A plan without a finished part and without such a run is replaced anyway. A plan with a finished part
            never is.
        **options: `format`: "megatron" (the default), "nanogpt", "llmc", "automodel", "olmo", "datatrove", "numpy" or
            "parquet".  `eos`, `bos`: the token, or its id, after and before each document that is not empty; none by
            default, but formats that do not store the ends of documents need one.  `allowed_special`: special tokens to
            find in texts, "all" as in HF's tokenizers; none by default.  `dtype`: "auto" takes the narrowest that the
            format has.  `text_field`: the field or column with the text, "text".  `id_field`: the field or column with
            the id of a document, which "olmo" and "parquet" write; none by default.  `messages_field`: the field or
            column with the messages of a chat; `encode_chat` encodes it, with the tools of a field "tools" if there is
            one, and "megatron", "olmo", "datatrove" and "parquet" write the mask of what the assistant wrote;
            `allowed_special` then applies to the contents of messages.  `document`: "file", or "line" for text files of
            which each line is a document.  `input_format`: the format of the files, if their names are wrong.
            `part_size`: about how much input a part has, "256MB".  `empty`: "skip" or "keep" empty documents.
            `on_error`: "raise", or "skip" to leave out lines that cannot be read and list them in `skipped.jsonl`.

    Returns:
        The shards.

    Raises:
        CorpusError: A file cannot be read as text, has changed since the plan was made, or the folder has another plan.
        ValueError: An argument has a wrong value.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 259, special_tokens=["<|endoftext|>"])
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}\n{"text": "lower"}')
        ...     done = bbpe.shard(folder + "/a.jsonl", folder + "/out", tok, eos="<|endoftext|>")
        ...     done, [ids.tolist() for ids in done]
        (<bbpe.Shards: 2 documents, 6 tokens, 1 part of megatron>, [[257, 258], [257, 68, 81, 258]])

    """
    work = Work(threads, executor, in_flight, attempts, progress)
    return work.done(_planned("shard", files, folder, tokenizer, options, replan=replan))


@dataclass(frozen=True)
class Work:
    """Who writes the parts of a plan, and who hears of it; `ValueError` or `TypeError` names a wrong argument."""

    threads: int | None
    executor: futures.Executor | None
    in_flight: int | None
    attempts: int
    progress: bool | Report | None

    def __post_init__(self) -> None:
        whole("attempts", self.attempts, 1)
        if self.in_flight is not None:
            whole("in_flight", self.in_flight, 1, expected="an int or None")
            if self.executor is None:
                raise ValueError(f"in_flight is {self.in_flight}; expected it only with an executor")
        if self.executor is not None and self.threads is not None:
            raise ValueError("threads and executor are given; expected one of them")
        if self.executor is not None:
            kind("executor", self.executor, futures.Executor, "a concurrent.futures.Executor or None")
        if self.threads is not None:
            thread_count(self.threads)

    def done(self, plan: ShardPlan) -> Shards:
        """Write all parts of a plan, and sum them up."""
        count = 1 if self.executor is not None else threads_of(plan, self.threads)
        with reporting(self.progress) as report:
            records = run_parts(
                plan, range(len(plan)), executor=self.executor, threads=count, in_flight=self.in_flight,
                attempts=self.attempts, report=report,
            )  # fmt: skip
            for _ in records:
                pass
        return finish_shards(plan)


def threads_of(plan: ShardPlan, threads: int | None) -> int:
    """Return the number of threads that write a plan; one for chats by default, whose templates run in Python."""
    return 1 if threads is None and plan.policy.messages_field is not None else thread_count(threads)


class _Meter:
    """Reports how much of the input is read, from any thread."""

    def __init__(self, total: int, report: Report) -> None:
        self._total, self._report, self._done, self._lock = total, report, 0, Lock()

    def add(self, read: int) -> None:
        with self._lock:
            self._done += read
            self._report(Progress("shard", self._done, self._total, "bytes"))


def run_parts(
    plan: ShardPlan, numbers: Iterable[int], *, executor: futures.Executor | None = None, threads: int,
    in_flight: int | None = None, attempts: int = 3, report: Report,
) -> Iterator[Totals]:  # fmt: skip
    """Write parts of a plan, and yield what was in each as they come."""
    meter = _Meter(sum(source.read for number in numbers for source in plan.parts[number]), report)
    wanted = list(numbers)
    workers = min(threads, max(len(wanted), 1))

    def write(number: int) -> Totals:
        """Write a part in this process, again when a server fails; no other attempt would end better here."""
        done, attempt = 0, 1

        def report(read: int) -> None:
            nonlocal done
            done += read
            meter.add(read)

        while True:
            try:
                return write_part(plan, number, threads=threads // workers, report=report).totals
            except OSError as error:
                if not (isinstance(error.filename, str) and is_url(error.filename)):
                    raise
                if attempt == attempts:
                    if attempts > 1:
                        error.add_note(f"part {number} failed {counted(attempts, 'time')}")
                    raise
            meter.add(-done)
            done, attempt = 0, attempt + 1

    if executor is None and workers == 1:
        for number in wanted:
            yield write(number)
        return
    with ExitStack() as stack:
        if executor is None:
            pool = stack.enter_context(futures.ThreadPoolExecutor(workers))
            for _, totals in HandOut(pool, workers, 1).results(write, wanted):
                yield totals
            return
        for _, totals in HandOut(executor, in_flight, attempts).results(partial(totals_of_part, plan), wanted):
            meter.add(totals.input)
            yield totals
