"""`bbpe fetch`: bring a published vocabulary to a folder; no other command uses the network."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bbpe.encodings import published_vocabulary
from bbpe.published.find import FOLDERS_VARIABLE, own_folders
from bbpe.published.names import name_for_model
from bbpe.published.table import ALIASES, PUBLISHED

from .command import Command
from .streams import add_progress, say, watched


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="The vocabulary, such as o200k_base, or a model that uses it.")
    where = f"default: the first folder of {FOLDERS_VARIABLE}, or bbpe in your cache folder"
    parser.add_argument("--folder", metavar="DIR", help=f"The folder to write to. [{where}]")
    parser.add_argument("--url", help="The address to load from, instead of the publisher's; the checksum still holds.")
    add_progress(parser)


def _run(args: Namespace) -> int:
    from bbpe.published.fetch import fetch  # what it takes from the network library no other command needs

    folder = own_folders()[0] if args.folder is None else args.folder
    name = args.name if args.name in (*PUBLISHED, *ALIASES) else name_for_model(args.name) or args.name
    with watched(args, "fetch") as watch:
        path = fetch(published_vocabulary(name), folder, url=args.url, report=watch.report)
    say(str(path))
    return 0


COMMAND = Command(_add_arguments, _run)
