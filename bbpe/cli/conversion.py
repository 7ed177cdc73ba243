"""`bbpe shards convert`: the ids of shards in another format, at once or in parts on many machines."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import get_args

from bbpe.shards.convert import plan_conversion
from bbpe.shards.formats import FORMATS
from bbpe.shards.opened import ReadFormatName, ShardFiles, open_shards
from bbpe.shards.plan import ShardPlan, open_plan
from bbpe.shards.readers import OnMissing
from bbpe.shards.retokenize import plan_retokenizing

from .command import add_pattern, load_named, positive, share_or_none
from .parsers import UsageError
from .shard import add_work, run_steps, token
from .streams import named_file


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the action."""
    source = parser.add_argument_group("Source", "not needed where --part or --finish use a stored plan")
    source.add_argument("files", nargs="*", type=named_file, metavar="FILE", help="files, prefixes, globs and folders")
    source.add_argument(
        "--from", dest="format", choices=get_args(ReadFormatName), help="the format of the files; bbpe: our own folder"
    )
    source.add_argument("--dtype", metavar="TYPE", help="of ids in the files, where these do not say it")
    source.add_argument("--eos", type=token, metavar="TOKEN", help="at the end of each document: a token, or its id")
    source.add_argument("--bos", type=token, metavar="TOKEN", help="at the beginning of each document")
    source.add_argument("-t", "--tokenizer", metavar="NAME", help="that made the ids: a file, a folder, or a name")
    add_pattern(parser)
    source.add_argument("--vocab-size", type=positive, metavar="N", help="its number of ids, without a tokenizer")
    source.add_argument("--column", default="input_ids", metavar="NAME", help="with ids (default: input_ids)")
    source.add_argument("--id-field", metavar="NAME", help="the column with ids of documents, of parquet and olmo")
    source.add_argument("--masks", metavar="NAME", help="the column with masks, of parquet")
    source.add_argument("--no-masks", dest="masks", action="store_const", const=False, help="leave out files of masks")
    source.add_argument(
        "--on-missing", choices=get_args(OnMissing), default="error", help="of EOS or BOS (default: error)"
    )
    form = parser.add_argument_group("Shards")
    form.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the plan and the shards are")
    form.add_argument("--to", choices=tuple(FORMATS), help="the format that is written")
    form.add_argument("--to-dtype", default="auto", metavar="TYPE", help="of ids (default: the narrowest that fits)")
    form.add_argument("--part-size", default="256MB", metavar="SIZE", help="of input, about (default: 256MB)")
    form.add_argument("--empty", choices=("skip", "keep"), default="keep", help="empty documents (default: keep)")
    other = parser.add_argument_group("Another vocabulary", "ids are decoded, and their bytes encoded again")
    other.add_argument("--retokenize", metavar="NAME", help="the tokenizer whose ids are written: a file or a name")
    other.add_argument("--new-eos", type=token, metavar="TOKEN", help="of it, after each document (default: none)")
    other.add_argument("--new-bos", type=token, metavar="TOKEN", help="of it, before each document (default: none)")
    other.add_argument(
        "--special", type=_named, action="append", default=[], metavar="OLD=NEW",
        help="a special token with another text in it; OLD= for one that becomes text; may be given repeatedly",
    )  # fmt: skip
    other.add_argument(
        "--check", type=share_or_none, metavar="SHARE",
        help="of documents to encode by the old tokenizer again, to count those that are not canonical (default: 1)",
    )  # fmt: skip
    add_work(parser)


def _named(text: str) -> tuple[str, str | None]:
    old, mark, new = text.partition("=")
    if not (old and mark):
        raise ArgumentTypeError(f"expected OLD=NEW, two special tokens, or OLD=, not {text!r}")
    return old, new or None


def run(args: Namespace) -> int:
    """Plan, write and sum up what the arguments ask for."""
    return run_steps(args, _plan(args))


def _plan(args: Namespace) -> ShardPlan:
    """Return the plan that the arguments describe, or the stored one where they describe none."""
    if not args.files and (args.finish or args.part is not None):
        if args.replan:
            raise UsageError("--replan makes a plan; expected files and their format (--from) with it")
        return open_plan(args.output)
    if not args.files or args.format is None or args.to is None:
        raise UsageError(
            "expected files, their format (--from) and another (--to), or --part or --finish for a plan that is stored"
        )
    for name in ("new_eos", "new_bos", "special", "check"):
        if args.retokenize is None and getattr(args, name) not in (None, []):
            raise UsageError(f"--{name.replace('_', '-')} is about another vocabulary; expected --retokenize with it")
    source = source_of(args)
    if args.retokenize is not None:
        with args.parser.renaming(dtype="to_dtype", eos="new_eos", bos="new_bos"):
            return plan_retokenizing(
                source, args.output, load_named(args.retokenize), format=args.to, eos=args.new_eos, bos=args.new_bos,
                special=dict(args.special), dtype=args.to_dtype, check=1.0 if args.check is None else args.check,
                part_size=args.part_size, empty=args.empty, replan=args.replan,
            )  # fmt: skip
    with args.parser.renaming(dtype="to_dtype"):
        return plan_conversion(
            source, args.output, format=args.to, dtype=args.to_dtype, part_size=args.part_size, empty=args.empty,
            replan=args.replan,
        )  # fmt: skip


def source_of(args: Namespace) -> ShardFiles:
    """Open the files that the arguments name."""
    if args.format == "bbpe" and len(args.files) != 1:
        raise UsageError("expected one folder with --from bbpe; `bbpe shards merge` joins more")
    files = Path(args.files[0]) if args.format == "bbpe" else args.files
    tokenizer = None if args.tokenizer is None else load_named(args.tokenizer, args.pattern)
    return open_shards(
        files, format=args.format, dtype=args.dtype, eos=args.eos, bos=args.bos, tokenizer=tokenizer,
        vocab_size=args.vocab_size, column=args.column, id_field=args.id_field, masks=args.masks,
        on_missing=args.on_missing,
    )  # fmt: skip
