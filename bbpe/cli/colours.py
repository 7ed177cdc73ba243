"""Colours of reports: green for what is better, red for what is worse or wrong, yellow for what needs a look.

A report is text that has been laid out already.  `painted` puts colours on words of it, which take no column, so that
a terminal, a pipe and a file show the same lines.  On a pipe, and where NO_COLOR is set, there are none.

    painted("warning  digits: ...", LINT, args)
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from .streams import shows_colour

_BETTER, _WORSE, _LOOK, _NOTE = "32", "31", "33", "36"
_AMOUNT = r"\b\d[\d,.]*"

#: Words of reports, as regexes of a line, and their colours; the first that finds a place has it.
LINT = {r"^error\b": _WORSE, r"^warning\b": _LOOK, r"^info\b": _NOTE, r"; 0 errors, 0 warnings\b": _BETTER}
COMPARE = {
    rf"{_AMOUNT} (?:% )?fewer\b": _BETTER, rf"{_AMOUNT} (?:% )?more\b": _WORSE, r"\bare identical\b": _BETTER,
}  # fmt: skip
#: The best figure of a line ends with an asterisk.
EVAL = {rf"{_AMOUNT}%?(?: ±[\d.,]+)?\*": _BETTER}
INSPECT = {r"^unusual +nothing$": _BETTER, r"^unusual .*|^ {17}\S.*": _LOOK}
BENCH = {r"\b0\.\d+x": _WORSE, rf"{_AMOUNT}x": _BETTER}


def add_color(parser: ArgumentParser) -> None:
    """Add when results have colours."""
    how = "When to use colours; auto is on a terminal, unless NO_COLOR is set."
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help=how)


def in_colour(args: Namespace) -> bool:
    """Return whether results have colours, as the arguments of `add_color` say."""
    return args.color == "always" or (args.color == "auto" and sys.stdout is not None and shows_colour(sys.stdout))


def painted(text: str, colours: Mapping[str, str], args: Namespace) -> str:
    r"""Return text with colours on the words that regexes find, or as it is where results have none.

    >>> painted("info  twins", LINT, Namespace(color="always"))
    '\x1b[36minfo\x1b[0m  twins'
    >>> painted("info  twins", LINT, Namespace(color="never"))
    'info  twins'
    """
    if not in_colour(args):
        return text
    looks = list(colours.values())
    found = re.compile("|".join(f"({regex})" for regex in colours), re.MULTILINE)
    return found.sub(lambda match: f"\x1b[{looks[(match.lastindex or 1) - 1]}m{match[0]}\x1b[0m", text)
