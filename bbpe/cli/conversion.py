"""`bbpe shards convert`: the ids of shards in another format, at once or in parts on many machines."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import get_args

from bbpe.shards.convert import plan_conversion
from bbpe.shards.formats import FORMATS
from bbpe.shards.opened import ReadFormatName, ShardFiles, open_shards
from bbpe.shards.plan import ShardPlan
from bbpe.shards.readers import OnMissing
from bbpe.shards.retokenize import plan_retokenizing

from .command import add_tokenizer, load_named, positive, share_or_none
from .parsers import UsageError
from .shard import PLACE, add_dtype, add_ends, add_parts, add_work, run_steps, stored_plan, token
from .streams import named_file


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the action."""
    source = parser.add_argument_group("Source", "Not needed where --part or --finish use a stored plan.")
    source.add_argument("files", nargs="*", type=named_file, metavar="FILE", help="Files, prefixes, globs, folders.")
    read = "The format of the files; bbpe is a folder of `bbpe shard`."
    source.add_argument("--from", dest="format", choices=get_args(ReadFormatName), help=read)
    add_dtype(source, None, "that of the files, if they have it")
    add_ends(source)
    add_tokenizer(source, required=False)
    ids = "The number of ids of the tokenizer that made the files, if you do not give it."
    source.add_argument("--vocab-size", type=positive, metavar="N", help=ids)
    source.add_argument("--column", default="input_ids", metavar="NAME", help="The column with the ids.")
    key = "The field with the ids of documents, with olmo and parquet."
    source.add_argument("--id-field", metavar="NAME", help=key)
    source.add_argument("--masks", metavar="NAME", help="The column with masks, of parquet.")
    source.add_argument("--no-masks", dest="masks", action="store_const", const=False, help="Leave out files of masks.")
    lacks = "What to do about a document without its EOS or BOS."
    source.add_argument("--on-missing", choices=get_args(OnMissing), default="error", help=lacks)
    form = parser.add_argument_group("Shards", "What to write.")
    form.add_argument("-o", "--output", required=True, metavar="FOLDER", help=PLACE)
    form.add_argument("--to", choices=tuple(FORMATS), help="The format to write.")
    add_dtype(form, "auto", "the narrowest that fits", "--to-dtype")
    add_parts(form, empty="keep")
    other = parser.add_argument_group("Another vocabulary", "Decode the ids, and encode their bytes again.")
    new = "The tokenizer whose ids to write, named as with -t."
    other.add_argument("--retokenize", metavar="NAME", help=new)
    at = "each document that is written: its text, or its id. [default: none]"
    other.add_argument("--new-eos", type=token, metavar="TOKEN", help=f"The token at the end of {at}")
    other.add_argument("--new-bos", type=token, metavar="TOKEN", help=f"The token at the beginning of {at}")
    other.add_argument(
        "--special", type=_named, action="append", default=[], metavar="OLD=NEW",
        help="Write the special token OLD as NEW; with OLD= it becomes text.",
    )  # fmt: skip
    check = "Encode this share of the documents by the old tokenizer again, and count those with other ids."
    other.add_argument("--check", type=share_or_none, metavar="SHARE", help=f"{check} [default: 1]")
    add_work(parser)


def _named(text: str) -> tuple[str, str | None]:
    old, mark, new = text.partition("=")
    if not (old and mark):
        raise ArgumentTypeError(f"expected OLD=NEW, two special tokens, or OLD=, not {text!r}")
    return old, new or None


def run(args: Namespace) -> int:
    """Plan, write and sum up what the arguments ask for."""
    return run_steps(args, _plan)


def _plan(args: Namespace) -> ShardPlan:
    """Return the plan that the arguments describe, or the stored one where they describe none."""
    if not args.files and (args.finish or args.part is not None):
        return stored_plan(args, "files, their format (--from) and another (--to)")
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
    if args.pattern is not None and args.tokenizer is None:
        raise UsageError("--pattern is for the file of a tokenizer; expected -t with it")
    tokenizer = None if args.tokenizer is None else load_named(args.tokenizer, args.pattern)
    return open_shards(
        files, format=args.format, dtype=args.dtype, eos=args.eos, bos=args.bos, tokenizer=tokenizer,
        vocab_size=args.vocab_size, column=args.column, id_field=args.id_field, masks=args.masks,
        on_missing=args.on_missing,
    )  # fmt: skip
