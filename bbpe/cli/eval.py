"""`bbpe eval`: a table of tokenizers on corpora, or a learning curve."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import bbpe
from bbpe.corpus.files import corpus_paths
from bbpe.text import distinct

from .command import DOCUMENT, Command, add_threads, add_tokenizer, positive, short_names, tokenizers_of
from .outputs import PAGES, check_output, inputs_of
from .parsers import UsageError
from .streams import EVAL, add_color, add_json, add_progress, add_reading, as_files, painted, progress_of, say, say_json


def _sizes(text: str) -> list[int]:
    """Read numbers of tokens, such as 4k,8k,16000."""
    return [positive(part) for part in text.split(",")]


def _add_arguments(parser: ArgumentParser) -> None:
    from bbpe.report.metrics import METRICS

    what = "Files, globs and folders of held-out text; each is a corpus."
    parser.add_argument("corpora", nargs="+", metavar="FILE", help=what)
    add_tokenizer(parser, several=True)
    add_reading(parser)
    parser.add_argument("--document", choices=("file", "line"), default="file", help=DOCUMENT)
    parity = "The reference corpus of translations of one text: the others are ranked by it."
    parser.add_argument("--parity", metavar="NAME", help=parity)
    each = "Take each file of a folder or glob as a corpus named without its suffix: one file a language, as in FLORES."
    parser.add_argument("--each-file", action="store_true", help=each)
    sizes = "Measure smaller vocabularies of the tokenizers too, such as 4k,8k."
    parser.add_argument("--sizes", type=_sizes, metavar="N,N", help=sizes)
    add_threads(parser)
    shown = parser.add_mutually_exclusive_group()
    figure = "The figure of the table. [default: bytes_per_token, or parity with --parity]"
    shown.add_argument("--metric", choices=tuple(METRICS), metavar="NAME", help=figure)
    shown.add_argument("--wide", action="store_true", help="Show all figures, a line for each corpus and tokenizer.")
    form = parser.add_mutually_exclusive_group()
    add_json(form)
    form.add_argument("--csv", action="store_true", help="Write all counts and figures as CSV.")
    form.add_argument("--markdown", action="store_true", help="Write the result as Markdown.")
    form.add_argument("--latex", action="store_true", help="Write the table for LaTeX, with the package booktabs.")
    figure = "Draw a figure to this .svg, .pdf or .png file; needs `pip install 'bbpe[plot]'`."
    parser.add_argument("--plot", metavar="OUT.svg", help=figure)
    parser.add_argument("--html", metavar="OUT.html", help="Write the result as a page to this file.")
    add_color(parser)
    add_progress(parser)


def _run(args: Namespace) -> int:
    from bbpe.files import write_atomic
    from bbpe.report.plots import FIGURES

    _check(args)
    inputs = inputs_of(files=args.corpora, named=args.tokenizer)
    check_output(args.plot, "the figure", inputs, suffixes=FIGURES)
    check_output(args.html, "the page", inputs, suffixes=PAGES)
    toks = tokenizers_of(args)
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
        text = _written(args, found, chosen | ({"wide": True} if args.wide else {})).removesuffix("\n")
        say(text if args.csv or args.markdown or args.latex else painted(text, EVAL, args))
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
    if args.parity is not None and args.parity not in corpora and not args.each_file:
        folder = next((name for name in args.corpora if Path(name).is_dir()), None)
        if folder is not None:
            way = "give --each-file to take each file as a corpus"
            raise UsageError(f"--parity is {args.parity!r}, and all files of {folder} are one corpus; {way}")
    return bbpe.evaluate(
        toks, corpora, parity=args.parity, document=args.document, text_field=args.text_field,
        format=args.input_format, threads=args.threads, progress=progress_of(args),
    )  # fmt: skip


COMMAND = Command(_add_arguments, _run)
