"""`bbpe eval`: a table of tokenizers on corpora, or a learning curve."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any

import bbpe
from bbpe.corpus.files import corpus_paths
from bbpe.text import distinct

from .command import Command, add_pattern, load_named, positive, short_names
from .outputs import check_output, inputs_of
from .parsers import UsageError
from .streams import add_progress, add_reading, as_files, progress_of, say, say_json


def _size(text: str) -> int:
    """Read a number of tokens, such as 32000 or 32k."""
    number, factor = (text[:-1], 1000) if text[-1:] in ("k", "K") else (text, 1)
    if not number.isdecimal() or not int(number):
        raise ArgumentTypeError(f"expected numbers of tokens such as 4k,8k,16000, not {text!r}")
    return int(number) * factor


def _sizes(text: str) -> list[int]:
    return [_size(part) for part in text.split(",")]


def _add_arguments(parser: ArgumentParser) -> None:
    from bbpe.report.metrics import METRICS

    what = "files, globs and folders of held-out text; each is a corpus"
    parser.add_argument("corpora", nargs="+", metavar="FILE", help=what)
    tokenizer = "a tokenizer: a file, a folder, or a published name; may be given repeatedly"
    parser.add_argument("-t", "--tokenizer", action="append", required=True, metavar="PATH", help=tokenizer)
    add_pattern(parser)
    add_reading(parser)
    by = "what is one document (default: file); intervals resample documents"
    parser.add_argument("--document", choices=("file", "line"), default="file", help=by)
    base = "the reference corpus of parallel texts: rank the others by it"
    parser.add_argument("--parity", metavar="NAME", help=base)
    each = "each file of a folder or glob is a corpus, named without its suffix: one file a language, as in FLORES"
    parser.add_argument("--each-file", action="store_true", help=each)
    parser.add_argument("--sizes", type=_sizes, metavar="N,N", help="curves of smaller vocabularies, such as 4k,8k")
    parser.add_argument("--threads", type=positive, metavar="N", help="(default: one for each core)")
    shown = parser.add_mutually_exclusive_group()
    figure = f"the figure of the table: {', '.join(METRICS)} (default: bytes_per_token, or parity if asked)"
    shown.add_argument("--metric", choices=tuple(METRICS), metavar="NAME", help=figure)
    shown.add_argument("--wide", action="store_true", help="show all figures, a line for each corpus and tokenizer")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write all counts and figures as one JSON object")
    form.add_argument("--csv", action="store_true", help="write all counts and figures as CSV")
    form.add_argument("--markdown", action="store_true", help="write the table in Markdown")
    form.add_argument("--latex", action="store_true", help="write the table for LaTeX (package booktabs)")
    parser.add_argument("--plot", metavar="OUT.svg", help="draw a figure (.svg, .pdf or .png; extra `plot`)")
    parser.add_argument("--html", metavar="OUT.html", help="write a page")
    add_progress(parser)


def _run(args: Namespace) -> int:
    from bbpe.files import write_atomic

    _check(args)
    inputs = inputs_of(files=args.corpora, named=args.tokenizer)
    check_output(args.plot, "the figure", inputs)
    check_output(args.html, "the page", inputs)
    toks = {name: load_named(name, args.pattern) for name in args.tokenizer}
    toks = dict(zip(short_names(list(toks)), toks.values(), strict=True))
    with as_files(args.corpora) as files:
        found = _measured(args, toks, _each_file(files) if args.each_file else _named(args.corpora, files))
    chosen = {"metric": args.metric} if args.metric is not None else {}
    if args.html:
        write_atomic(args.html, found.to_html(**chosen).encode())
    if args.plot:
        found.plot(args.plot, **chosen)
    if args.json:
        say_json(found.as_dict())
    else:
        say(_written(args, found, chosen | ({"wide": True} if args.wide else {})).removesuffix("\n"))
    return 0


def _check(args: Namespace) -> None:
    """Refuse options that would change nothing."""
    for data in ("json", "csv"):
        for option in ("metric", "wide"):
            is_drawn = option == "metric" and (args.plot or args.html)
            if getattr(args, data) and getattr(args, option) and not is_drawn:
                raise UsageError(f"--{option} does not go with --{data}, which has all figures; expected it without")
    if args.metric == "parity" and args.parity is None:
        raise UsageError("--metric parity needs --parity NAME, the corpus to compare with")


def _written(args: Namespace, found: Any, chosen: dict[str, Any]) -> str:
    if args.csv:
        return str(found.to_csv())
    if args.markdown or args.latex:
        return str(found.to_markdown(**chosen) if args.markdown else found.to_latex(**chosen))
    return str(found.to_text(**chosen) if chosen else found)


def _named(names: list[str], files: list[str]) -> dict[str, str]:
    return dict(zip(short_names(names), files, strict=True))


def _each_file(names: list[str]) -> dict[str, str]:
    """Return the files that names stand for by their names, less suffixes that no two need to differ."""
    paths = [str(path) for name in names for path in corpus_paths(name)]
    stems = [Path(path).name.partition(".")[0] for path in paths]
    return dict(zip(stems if len(set(stems)) == len(stems) else distinct(short_names(paths)), paths, strict=True))


def _measured(args: Namespace, toks: dict[str, bbpe.Tokenizer], corpora: dict[str, str]) -> Any:
    if args.sizes:
        for option, value, usual in (
            ("--parity", args.parity, None), ("--document", args.document, "file"), ("--threads", args.threads, None),
            ("--metric", args.metric, None), ("--wide", args.wide, False),
        ):  # fmt: skip
            if value != usual:
                raise UsageError(f"{option} does not go with --sizes; expected it without")
        return bbpe.learning_curve(
            toks, args.sizes, corpora, text_field=args.text_field, format=args.input_format, progress=progress_of(args)
        )
    return bbpe.evaluate(
        toks, corpora, parity=args.parity, document=args.document, text_field=args.text_field,
        format=args.input_format, threads=args.threads, progress=progress_of(args),
    )  # fmt: skip


COMMAND = Command(_add_arguments, _run)
