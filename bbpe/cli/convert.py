"""`bbpe convert`: a tokenizer from one format to another, and the proof that nothing changed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from itertools import chain
from typing import cast

from bbpe import formats
from bbpe.corpus.files import corpus_paths
from bbpe.errors import BBPEError
from bbpe.formats.saving import proven
from bbpe.report.verify import Difference, differences, hard_texts
from bbpe.text import counted, shortened
from bbpe.tokenizer import Tokenizer

from .command import TOKENIZER, Command, add_format, add_pattern, load_named
from .outputs import check_output, inputs_of
from .streams import Watch, add_json, add_progress, as_files, chunks_of, say, say_json, watched

_SHOWN = 10


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="A", help=TOKENIZER)
    parser.add_argument("target", metavar="B", help="The file or folder to write.")
    add_pattern(parser)
    add_format(parser)
    verify = "Write B only if it gives the ids of A for all tokens, for pairs of them, and for these texts."
    parser.add_argument("--verify", nargs="*", metavar="CORPUS", help=verify)
    add_json(parser)
    add_progress(parser)


def _run(args: Namespace) -> int:
    chosen = args.format or formats.format_of(formats.file_path(args.target))
    inputs = inputs_of(files=args.verify, tokenizer=args.source)
    check_output(args.target, "the tokenizer", inputs, output_format=chosen)
    tokenizer = load_named(args.source, args.pattern)
    files, read_back = proven(tokenizer, args.target, format=chosen, drop=args.drop)
    report: dict[str, object] = {"source": args.source, "target": args.target, "format": chosen}
    report["pattern"] = str(tokenizer.spec.pattern)
    if args.verify is not None:
        with watched(args, "verify") as watch:
            found = _verify(tokenizer, read_back, args.verify, report, watch)
        if found:
            _report(args, report, found)
            return 1
    formats.put(files, args.target)
    _report(args, report, [])
    return 0


def _verify(
    tokenizer: Tokenizer, again: Tokenizer, names: list[str], report: dict[str, object], watch: Watch
) -> list[str]:
    """Return where the ids of A and of what was read back of B differ."""
    found: list[str] = []
    count = size = 0
    for label, texts in chain((("the tokens", hard_texts(tokenizer)),), _corpus(names)):
        seen = _Counter(watch.over(texts, len))
        for difference in differences(tokenizer, again, seen):
            found.append(f"{label}: {_described(difference)}")
            if len(found) > _SHOWN:
                return found
        count, size = count + seen.count, size + seen.size
    report |= {"texts": count, "bytes": size}
    return found


def _corpus(names: list[str]) -> Iterator[tuple[str, Iterator[bytes]]]:
    with as_files(names) as files:
        for path in corpus_paths(files) if files else ():
            yield str(path), chunks_of(str(path))


class _Counter:
    """Texts on their way, counted."""

    def __init__(self, texts: Iterator[bytes]) -> None:
        self._texts, self.count, self.size = texts, 0, 0

    def __iter__(self) -> Iterator[bytes]:
        for text in self._texts:
            self.count, self.size = self.count + 1, self.size + len(text)
            yield text


def _described(difference: Difference) -> str:
    text = difference.text[max(difference.byte - 10, 0) : difference.byte + 30]
    left, right = _spelled(difference.left), _spelled(difference.right)
    return f"at {shortened(text, quoted=True)}, A gives {left} and B gives {right}"


def _spelled(tokens: tuple[tuple[int, bytes], ...]) -> str:
    return " ".join(f"{token_id}:{shortened(token, quoted=True)}" for token_id, token in tokens) or "nothing more"


def _report(args: Namespace, report: dict[str, object], found: list[str]) -> None:
    if args.json:
        say_json({**report, "written": not found, "differences": found[:_SHOWN]})
        return
    for line in found[:_SHOWN]:
        say(line)
    if found:
        say(f"{args.target} was not written: it would differ" + (", in more places" if len(found) > _SHOWN else ""))
    elif "texts" in report:
        texts, size = cast(int, report["texts"]), cast(int, report["bytes"])
        say(f"{args.target}: the same ids for {counted(texts, 'text')}, {counted(size, 'byte')}")
    else:
        say(args.target)
    if not found and _lacks_pattern(args, str(report["format"]), str(report["pattern"])):
        say(f"{args.target} does not store the pattern; pass it to whatever loads the file: {report['pattern']}")


def _lacks_pattern(args: Namespace, chosen: str, pattern: str) -> bool:
    """Return whether what was written does not tell the pattern; `--drop` leaves it out only where it has no place."""
    if "pattern" not in args.drop:
        return not formats.FORMATS[chosen].has_pattern
    try:
        return not formats.FORMATS[chosen].has_pattern or str(formats.load(args.target).pattern) != pattern
    except BBPEError:
        return True


COMMAND = Command(_add_arguments, _run)
