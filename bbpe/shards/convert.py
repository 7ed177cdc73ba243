"""`convert_shards`: the ids of shards, as they are, in another format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias, get_args

from ..budget import parse_bytes
from ..corpus.files import check_apart
from ..counting.options import Report
from ..lazy import futures, np, npt
from ..records import choice, kind
from .formats import FORMATS
from .formats.format import OutputFormat
from .ids import ranges_of_ids
from .load import Shards
from .opened import ShardFiles, own_shards
from .part import check_texts
from .plan import ShardPlan, identity_of, joined, shards_folder, stored_or_new, written_names
from .policy import Empty, ShardFormat, ShardPolicy
from .readers import READ_FORMATS, IdReading
from .run import Work

#: Documents of ids: what `open_shards` returns, or shards that bbpe wrote.
IdSource: TypeAlias = "ShardFiles | Shards | ShardPlan | str | os.PathLike[str]"
_EXPECTED = "what open_shards returns, or a folder of shards that bbpe wrote"


def plan_conversion(
    source: IdSource, folder: str | os.PathLike[str], *, format: ShardFormat,  # noqa: A002
    dtype: npt.DTypeLike = "auto", part_size: int | str = "256MB", empty: Empty = "keep", replan: bool = False,
) -> ShardPlan:  # fmt: skip
    """Store a plan of the same ids in another format, or return the plan that is there if it is the same.

    `shard_part` writes a part of it anywhere, and `finish_shards` sums the parts up.

    Args:
        source: As in `convert_shards`, and so are the other arguments.
        folder: The folder of the plan and of the output.
        format: As in `convert_shards`.
        dtype: As in `convert_shards`.
        part_size: As in `convert_shards`.
        empty: As in `convert_shards`.
        replan: As in `shard`.

    Returns:
        The plan; `len(plan)` is the number of parts.

    Raises:
        CorpusError: A file is damaged, or the folder has a plan that differs and a part of it is done.
        ValueError: An argument has a wrong value, or the format has no place for the masks or ids of documents of the
            source.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read or written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import numpy as np
        >>> with TemporaryDirectory() as folder:
        ...     np.array([5, 6, 0, 7, 0], np.uint16).tofile(folder + "/train.bin")
        ...     source = bbpe.open_shards(folder + "/train.bin", format="nanogpt", dtype="uint16", eos=0)
        ...     plan = bbpe.plan_conversion(source, folder + "/out", format="megatron")
        ...     len(plan), bbpe.shard_part(plan, 0).documents
        (1, 2)

    """
    chosen = checked_format(format, empty)
    given = id_source(source)
    reading = given.reading
    _check_places(reading, chosen)
    policy = policy_of_ids(
        reading, format, converted_dtype(given, chosen, dtype), parse_bytes(part_size, "part_size"), empty
    )
    plan = plan_of_ids(given, folder, policy, identity_of(given.tokenizer, reading.ids))
    return stored_or_new(plan, check_texts, replan=replan)


def convert_shards(
    source: IdSource, folder: str | os.PathLike[str], *, format: ShardFormat,  # noqa: A002
    dtype: npt.DTypeLike = "auto", part_size: int | str = "256MB", empty: Empty = "keep", threads: int | None = None,
    executor: futures.Executor | None = None, in_flight: int | None = None, attempts: int = 3,
    progress: bool | Report | None = None, replan: bool = False,
) -> Shards:  # fmt: skip
    """Write the ids of shards in another format: the same ids, documents, ids of documents and masks.

    Interrupted? Call it again with the same arguments, and it resumes, as `shard` does. Documents keep their EOS and
    BOS, and none is added.

    Args:
        source: What `open_shards` returns, or a folder of shards that bbpe wrote.
        folder: The folder of the plan and of the output, not a URL.  All workers must see it, and the files.
        format: "megatron", "nanogpt", "llmc", "automodel", "olmo", "datatrove", "numpy" or "parquet".  A format that
            has no ends of documents needs a source whose `eos` or `bos` is named.
        dtype: The dtype of ids; "auto" takes the narrowest that holds the vocabulary of the source or, if its size is
            not known, any id that its files may have.
        part_size: About how many bytes of the source a part has, "256MB".
        empty: "keep" or "skip" documents without ids.
        threads: The number of threads without an executor; by default one for each core.
        executor: As in `shard`.
        in_flight: As in `shard`.
        attempts: As in `shard`.
        progress: As in `shard`.
        replan: As in `shard`.

    Returns:
        The shards.

    Raises:
        CorpusError: A file is damaged, or has changed since the plan was made; a document lacks its EOS or BOS; an id
            is negative, or beyond the vocabulary or the dtype; or the folder has another plan.
        ValueError: An argument has a wrong value, or the format has no place for the masks or ids of documents of the
            source.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read or written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import numpy as np
        >>> with TemporaryDirectory() as folder:
        ...     np.array([5, 6, 0, 7, 0], np.uint16).tofile(folder + "/train.bin")
        ...     source = bbpe.open_shards(folder + "/train.bin", format="nanogpt", dtype="uint16", eos=0)
        ...     done = bbpe.convert_shards(source, folder + "/out", format="megatron")
        ...     done, [ids.tolist() for ids in done]
        (<bbpe.Shards: 2 documents, 5 tokens, 1 part of megatron>, [[5, 6, 0], [7, 0]])

    """
    work = Work(threads, executor, in_flight, attempts, progress)
    plan = plan_conversion(
        source, folder, format=format, dtype=dtype, part_size=part_size, empty=empty, replan=replan
    )  # fmt: skip
    return work.done(plan)


def checked_format(format: str, empty: str) -> OutputFormat:  # noqa: A002
    """Return the format of a name; `ValueError` names a wrong argument."""
    choice("format", format, FORMATS)
    choice("empty", empty, get_args(Empty))
    return FORMATS[format]


def id_source(source: IdSource) -> ShardFiles:
    """Return the documents of ids that a caller names."""
    if isinstance(source, ShardFiles):
        return source
    kind("source", source, str | os.PathLike | Shards | ShardPlan, _EXPECTED)
    return own_shards(source)


def policy_of_ids(reading: IdReading, format: str, dtype: str, part_size: int, empty: Empty) -> ShardPolicy:  # noqa: A002
    """Return the policy of a plan that copies ids; it has no texts."""
    return ShardPolicy(
        format=format, bos=reading.bos, eos=reading.eos, allowed_special=(), dtype=dtype, text_field="text",
        document="file", input_format=None, part_size=part_size, empty=empty, on_error="raise",
        id_field=reading.id_field, reading=reading,
    )  # fmt: skip


def plan_of_ids(
    source: ShardFiles, folder: str | os.PathLike[str], policy: ShardPolicy, identity: dict[str, object]
) -> ShardPlan:
    """Return a plan whose parts are ranges of files of ids, which is not stored yet."""
    target = shards_folder(folder)
    given: list[str | os.PathLike[str]] = [*source.files] if source.folder is None else [source.folder]
    check_apart(target, "the folder of the shards", given, source.files, written_names(policy))
    assert policy.reading is not None
    parts = joined(ranges_of_ids(source.files, policy.reading, policy.part_size), policy.part_size)
    return ShardPlan(target, policy, identity, parts, source.tokenizer)


def _check_places(reading: IdReading, chosen: OutputFormat) -> None:
    """Raise `ValueError` where a format has no place for what a source has."""
    name = chosen.name
    if not chosen.has_boundaries and (reading.eos, reading.bos) == (None, None):
        raise ValueError(
            f"the source has no eos and no bos; the format {name!r} keeps no ends of documents but for these tokens: "
            "name the one that the documents have by eos= or bos="
        )
    if not chosen.has_boundaries and reading.on_missing == "keep":
        raise ValueError(
            f"on_missing is 'keep'; the format {name!r} keeps no ends of documents but for eos and bos, which some "
            "may lack: choose a format that does, such as 'megatron'"
        )
    for what, asked, having in (
        ("ids of documents", reading.id_field is not None, [form.name for form in FORMATS.values() if form.keys]),
        ("masks", reading.masks is not None, [form.name for form in FORMATS.values() if form.masks]),
    ):
        if asked and name not in having:
            has = ", ".join(map(repr, having))
            raise ValueError(f"the source has {what}; the format {name!r} has no place for them, {has} have: choose "
                             "one of these, or open the source without them")  # fmt: skip


def converted_dtype(source: ShardFiles, chosen: OutputFormat, asked: npt.DTypeLike) -> str:
    """Return the dtype of ids in a format; `ValueError` when the format lacks it, or it cannot hold the vocabulary.

    Of an unknown vocabulary, the narrowest that holds what the files may have, or the widest; every id is checked when
    it is written.
    """
    known = source.reading.ids
    if not isinstance(asked, str) or asked != "auto":
        return chosen.dtype(asked, known or 1)
    if known is not None:
        return chosen.dtype("auto", known)
    most = max(int(np.iinfo(file_dtype).max) for file_dtype in dtypes_of(source))
    fitting = (name for name in chosen.dtypes if int(np.iinfo(name).max) >= most)
    return next(fitting, list(chosen.dtypes)[-1])


def dtypes_of(source: ShardFiles) -> set[str]:
    """Return the dtypes of the files of a source."""
    form = READ_FORMATS[source.reading.format]
    if source.reading.dtype is not None:
        return {source.reading.dtype}
    return {np.dtype(form.open(Path(path), source.reading).dtype).str for path in source.files}
