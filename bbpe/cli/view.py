"""`bbpe view`: a page that shows the tokens of files by several tokenizers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from .command import Command, add_special, add_tokenizer, size, tokenizers_of
from .outputs import PAGES, check_output, inputs_of
from .streams import Watch, add_input_format, add_progress, chunks_of, files_of, names_of, note, say, watched

if TYPE_CHECKING:
    from bbpe.text import Text

_MOST = 1 << 20


def _add_arguments(parser: ArgumentParser) -> None:
    what = "Files, globs and folders of text; - is standard input. [default: -]"
    parser.add_argument("files", nargs="*", metavar="FILE", help=what)
    add_tokenizer(parser, several=True)
    add_special(parser)
    parser.add_argument("-o", "--output", required=True, metavar="OUT.html", help="Where to save the page.")
    add_input_format(parser, ("text",))
    most = "Show the first bytes of the text, of all files together. [default: 1MiB]"
    parser.add_argument("--max-bytes", type=size, default=_MOST, metavar="SIZE", help=most)
    add_progress(parser)


def _run(args: Namespace) -> int:
    from bbpe.files import write_atomic
    from bbpe.report.view import texts_to_html

    names = names_of(args.files)
    check_output(args.output, "the page", inputs_of(files=names, named=args.tokenizer), suffixes=PAGES)
    with watched(args, "view") as watch:
        texts = _texts(list(files_of(names)), args, watch)
        page = texts_to_html(texts, tokenizers_of(args), allowed_special="all" if args.special else ())
    write_atomic(args.output, page.encode())
    say(f"saved {args.output}")
    return 0


def _texts(names: list[str], args: Namespace, watch: Watch) -> list[tuple[str, Text]]:
    """Return the texts with their names, of all of them the first bytes; says what is left out.

    A single text needs no name.  A file of records is an error, as in `chunks_of`.
    """
    from bbpe.text import counted, shortened

    texts: list[tuple[str, Text]] = []
    left = most = args.max_bytes
    for number, name in enumerate(names):
        data = bytearray()
        for chunk in watch.over(chunks_of(name, args.input_format), len):
            data += chunk
            if len(data) > left:
                break
        # half a character at the end would be no text
        text: Text = bytes(data) if len(data) <= left else data[:left].decode("utf-8", "ignore")
        texts.append((name if len(names) > 1 else "", text))
        if len(data) > left:
            where = "of" if len(names) == 1 else "of the files, up to"
            without = len(names) - number - 1
            rest = f"; {counted(without, 'more file', 'is', 'are')} left out" if without else ""
            note(f"the page has the first {counted(most, 'byte')} {where} {shortened(name)}{rest}")
            break
        left -= len(data)
    return texts


COMMAND = Command(_add_arguments, _run)
