"""`retokenize`: shards of ids of an old vocabulary become shards of a new one, without the texts."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..budget import parse_bytes
from ..counting.options import Report, check_share
from ..lazy import futures, npt
from ..records import replace
from ..tokenizer import Tokenizer, checked_tokenizer
from ..training.vocabulary_map import mapped_specials
from .convert import IdSource, checked_format, id_source, plan_of_ids, policy_of_ids
from .load import Shards
from .opened import ShardFiles
from .part import check_texts
from .plan import ShardPlan, identity_of, stored_or_new
from .policy import Empty, OldVocabulary, ShardFormat, Token, checked_ends
from .run import Work

#: The new text of each special token of an old vocabulary that has another one, `None` for those that become text.
Specials = Mapping[str, str | None]


def plan_retokenizing(
    source: IdSource, folder: str | os.PathLike[str], tokenizer: Tokenizer, *,
    format: ShardFormat = "megatron",  # noqa: A002
    eos: Token | None = None, bos: Token | None = None, special: Specials | None = None, dtype: npt.DTypeLike = "auto",
    check: float = 1.0, part_size: int | str = "256MB", empty: Empty = "keep", replan: bool = False,
) -> ShardPlan:  # fmt: skip
    """Store a plan of shards in ids of another vocabulary, or return the plan that is there if it is the same.

    `shard_part` writes a part of it anywhere, and `finish_shards` sums the parts up.

    Args:
        source: As in `retokenize`, and so are the other arguments.
        folder: The folder of the plan and of the output.
        tokenizer: As in `retokenize`.
        format: As in `retokenize`.
        eos: As in `retokenize`.
        bos: As in `retokenize`.
        special: As in `retokenize`.
        dtype: As in `retokenize`.
        check: As in `retokenize`.
        part_size: As in `retokenize`.
        empty: As in `retokenize`.
        replan: As in `shard`.

    Returns:
        The plan; `len(plan)` is the number of parts.

    Raises:
        CorpusError: A file is damaged, or the folder has a plan that differs and a part of it is done.
        ValueError: An argument has a wrong value, or the tokenizer of the source is not known.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> old, new = (bbpe.train_from_iterator(["low lower"], size) for size in (257, 258))
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     source = bbpe.shard(folder + "/a.jsonl", folder + "/old", old)
        ...     plan = bbpe.plan_retokenizing(source, folder + "/new", new)
        ...     len(plan), bbpe.shard_part(plan, 0).tokens
        (1, 1)

    """
    checked_tokenizer(tokenizer)
    chosen = checked_format(format, empty)
    share = check_share("check", check, or_none=True)
    given = id_source(source)
    old = _old_of(given)
    if given.reading.masks is not None:
        raise ValueError(
            "the source has masks, which do not fit new ids; open its files by open_shards(..., masks=False), "
            "or shard the chats again"
        )
    mapped_specials(old, tokenizer, special)
    given_bos, given_eos = checked_ends(tokenizer, chosen, bos, eos, "a token of the new vocabulary or its id")
    known = chosen.dtype(dtype, tokenizer.vocab_size)
    policy = replace(
        policy_of_ids(given.reading, format, known, parse_bytes(part_size, "part_size"), empty),
        bos=given_bos, eos=given_eos, old=OldVocabulary(old.fingerprint, tuple(sorted((special or {}).items())), share),
    )  # fmt: skip
    plan = plan_of_ids(given, folder, policy, identity_of(tokenizer))
    return stored_or_new(replace(plan, given=tokenizer, given_old=old), check_texts, replan=replan)


def _old_of(source: ShardFiles) -> Tokenizer:
    if source.tokenizer is None:
        raise ValueError(
            "source has no tokenizer, which knows what ids spell; open it with tokenizer=, the one that made its ids"
        )
    return source.tokenizer


def retokenize(
    source: IdSource, folder: str | os.PathLike[str], tokenizer: Tokenizer, *,
    format: ShardFormat = "megatron",  # noqa: A002
    eos: Token | None = None, bos: Token | None = None, special: Specials | None = None, dtype: npt.DTypeLike = "auto",
    check: float = 1.0, part_size: int | str = "256MB", empty: Empty = "keep", threads: int | None = None,
    executor: futures.Executor | None = None, in_flight: int | None = None, attempts: int = 3,
    progress: bool | Report | None = None, replan: bool = False,
) -> Shards:  # fmt: skip
    r"""Write shards of one vocabulary as shards of another, without the original texts.

    bbpe decodes the ids of each document to bytes, and encodes the bytes. If the old tokenizer would give other ids for
    these bytes, the document is encoded all the same, and counted in `totals.not_canonical`. Interrupted? Call it again
    with the same arguments, and it resumes, as `shard` does.

    Args:
        source: What `open_shards` returns with the old tokenizer, or a folder of shards that bbpe wrote. bbpe removes
            the EOS and BOS of the source from each document.
        folder: The folder of the plan and of the output, not a URL. All workers must see it, and the files.
        tokenizer: The new tokenizer; it is stored beside the plan, and so is the old one.
        format: "megatron" (the default), "nanogpt", "llmc", "automodel", "olmo", "datatrove", "numpy" or "parquet".
        eos: The new token, or its id, after each document that is not empty; none by default, as in `shard`.
        bos: The new token, or its id, before each document that is not empty.
        special: Special tokens of the old vocabulary that have another text in the new one, by their texts; `None`
            encodes one as text. Any other special token becomes the token of the same text; a missing counterpart is an
            error.
        dtype: The dtype of ids; "auto" takes the narrowest that the format has.
        check: The share of documents that the old tokenizer encodes again to count `totals.not_canonical`, 1.0. Less is
            faster, and 0 checks none. `totals.checked` is the number of documents that were checked.
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
        CorpusError: A file is damaged, or has changed since the plan was made; a document lacks its EOS or BOS, has an
            id that no token has, or a special token that the new vocabulary lacks; or the folder has another plan.
        ValueError: An argument has a wrong value, or the tokenizer of the source is not known.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> old, new = (bbpe.train_from_iterator(["low lower"], size, special_tokens=["<s>"]) for size in (258, 259))
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}\n{"text": "lower"}')
        ...     source = bbpe.shard(folder + "/a.jsonl", folder + "/old", old, eos="<s>")
        ...     done = bbpe.retokenize(source, folder + "/new", new, eos="<s>")
        ...     done, [ids.tolist() for ids in done], done.totals.not_canonical
        (<bbpe.Shards: 2 documents, 6 tokens, 1 part of megatron>, [[257, 258], [257, 68, 81, 258]], 0)

    """
    work = Work(threads, executor, in_flight, attempts, progress)
    plan = plan_retokenizing(
        source, folder, tokenizer, format=format, eos=eos, bos=bos, special=special, dtype=dtype, check=check,
        part_size=part_size, empty=empty, replan=replan,
    )  # fmt: skip
    return work.done(plan)
