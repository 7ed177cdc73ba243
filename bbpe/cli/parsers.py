"""Parsers whose errors are one line, and errors of Python calls spelled as options of the command line."""

from __future__ import annotations

import argparse
import re
import shlex
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import takewhile
from types import MappingProxyType
from typing import Any, NoReturn, cast

from bbpe.errors import BBPEError
from bbpe.records import did_you_mean
from bbpe.report.terminal import error_line

from .help_texts import HelpFormatter, columns, examples, overview

#: The names that arguments of Python have, where these are not the names of the options that set them.
PYTHON_NAMES = {
    "--chunk": ("max_tokens",),
    "--input-format": ("format", "Counting.format"),
    "--sample": ("dropout", "alpha"),
    "--special": ("allowed_special",),
    "--special-token": ("special_tokens",),
}
#: The values of `format` that readers of files name: those of `--input-format`, as no output has them.
_READ = ("'text'", "'jsonl'")
#: What the command line has for calls that messages name.
CALLS = {
    r"by texts=, or to `?\w+_from_iterator`? or `?\w+_from_iterator`?": "to the command through standard input (-)",
    r"`?\w+_from_iterator`?(?: or `?\w+_from_iterator`?)?": "the command through standard input (-)",
    r"bbpe\.convert_shards": "`bbpe shards convert`",
    r"bbpe\.evaluate": "`bbpe eval`",
    r"bbpe\.finish_shards": "`bbpe shard --finish`",
    r"bbpe\.open_shards": "`bbpe shards convert --from`",
    r"bbpe\.retokenize": "`bbpe shards convert --retokenize`",
    r"bbpe\.(count|extend|prune|shard|train)(?![\w.])": r"`bbpe \1`",
}
_QUOTED = r"(?<!\w)(?:'[^']*'|\"[^\"]*\"|`[^`]*`)(?!\w)"
_VALUE = r"\{[^}]*\}|\[[^]]*\]|\([^)]*\)|'[^']*'|\"[^\"]*\"|-?\w+(?:\.\w+)?(?![\w/\\])|(?![\w/\\]|[.-]\w)"
_ARGUMENT = rf"((?:[A-Z][A-Za-z]+\.)?[a-z][a-z_]*)(?:(=)({_VALUE}))?"
# neither a part of a path nor of a longer word
_NAME = rf"({_QUOTED})|(?<![\w./\\=-]){_ARGUMENT}(?![=\w/\\]|\.\w)"


class UsageError(ValueError):
    """The arguments of a command do not go together; the exit status is 2."""


class Parser(argparse.ArgumentParser):
    """The parser of a command, or of a command of a command.

    The namespace has as `parser` the one that read the last arguments. The module of a command is imported only if the
    command line names it: `command` returns it. `given` has the options that the command line gives, whatever their
    values, by the names of these.
    """

    command: Callable[[], Any] | None = None
    #: The commands of the program by the titles of their groups; empty for a command.
    groups: Mapping[str, Mapping[str, str]] = MappingProxyType({})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"formatter_class": HelpFormatter, "add_help": False, **kwargs})
        self._positionals.title, self._optionals.title = "Arguments", "Options"
        self.add_argument("-h", "--help", action="help", help="Show this help and exit.")
        # an abbreviation is a guess, which another option of a later version would change
        self.allow_abbrev = False
        self._renamed: dict[str, str] = {}
        self.given: dict[str, str] = {}
        self._is_parsing = False

    def add_subparsers(self, **options: Any) -> Any:
        """Add commands, whose names are those after this one's."""
        return super().add_subparsers(**{"prog": self.prog, "parser_class": Parser, **options})

    def complete(self) -> None:
        """Add the arguments of the command, unless they are there."""
        if self.command is not None:
            found, self.command = self.command(), None
            found.add_arguments(self)
            self.set_defaults(run=found.run)

    def format_help(self) -> str:
        """Return the help of the program, or that of a command with its examples."""
        if self.groups:
            return overview(self.description or "", self.groups)
        # argparse makes a formatter for each argument that is added, too, which needs no terminal
        self.formatter_class = partial(HelpFormatter, width=columns())
        return super().format_help() + examples(self.prog)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, with the arguments of the command, also after options; an unknown one gets a hint."""
        if self._is_parsing:
            return super().parse_known_args(args, namespace)
        self.complete()
        self.set_defaults(parser=self)
        self.given.clear()
        if self._subparsers is None:
            self._refuse(word for word in takewhile("--".__ne__, args or ()) if self._is_unknown(word))
        if self._subparsers is not None or "--" in (args or ()):
            namespace, unknown = super().parse_known_args(args, namespace)
        else:
            self._is_parsing = True  # argparse may call this method for options, and then for what is left
            try:
                namespace, unknown = super().parse_known_intermixed_args(args, namespace)
            finally:
                self._is_parsing = False
        self._refuse(unknown)
        return namespace, unknown

    def _is_unknown(self, word: str) -> bool:
        """Whether a word is an option that the command does not have; argparse looks for missing ones first."""
        return word.startswith("--") and " " not in word and word.partition("=")[0] not in self._option_string_actions

    def _refuse(self, words: Iterable[str]) -> None:
        """End the program if there are words that the command does not know; the first is named, with a hint."""
        for word in words:
            name = word.partition("=")[0]
            begun = [option for option in self._option_string_actions if name[2:] and option.startswith(name)]
            hint = f" (did you mean {' or '.join(map(repr, begun[:2]))}?)" if begun else None
            self.error(f"unknown argument {word!r}{hint or did_you_mean(name, self._option_string_actions, most=2)}")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # argparse calls it for what the command line has, not for defaults
        if action.option_strings:
            # the last of several values would drop the others
            if isinstance(action, argparse._StoreAction) and action.dest in self.given:
                raise argparse.ArgumentError(action, "given twice; expected it once")
            self.given[action.dest] = _longest(action)
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = action.choices
        if choices is None or value in choices:
            return
        names = list(map(str, choices))
        hint, expected = did_you_mean(str(value), names, most=2), f"; expected one of {', '.join(names)}"
        if isinstance(action, argparse._SubParsersAction):
            raise argparse.ArgumentError(None, f"unknown command {value!r}{hint or expected * (not self.groups)}")
        raise argparse.ArgumentError(action, f"unknown value {value!r}{hint}{expected}")

    def error(self, message: str) -> NoReturn:
        """End the program with a line on what is wrong and a line on where to look, and the exit status 2."""
        words = " ".join(message.removeprefix("argument ").split())
        self.exit(2, error_line(f"bbpe: error: {words}") + f"\n{self.look}")

    @property
    def look(self) -> str:
        """The line that says where the usage is explained."""
        return f"see `{self.prog} --help`\n"

    def options(self) -> dict[str, argparse.Action]:
        """Return the options by the names that arguments of Python have for them."""
        actions = [action for action in self._actions if action.option_strings]
        named = {name: action for action in actions for name in PYTHON_NAMES.get(_longest(action), ())}
        # of several options of a name, such as --progress and --quiet, the first has the value
        found = named | {action.dest: action for action in reversed(actions)}
        return found | {name: found[own] for name, own in self._renamed.items()}

    @contextmanager
    def renaming(self, **names: str) -> Iterator[None]:
        """Spell arguments of the calls in a block as other options, `dtype="to_dtype"`, where two calls have a name.

        An error that leaves the block is spelled after it, so the names are forgotten only when there is none.
        """
        self._renamed = names
        yield
        self._renamed = {}

    def spelled(self, message: str, arguments: Iterable[str] = ()) -> str:
        """Return a message of the library with options in place of arguments, and commands in place of functions.

        Names in quotes, in paths, and in the `arguments` of the command line stay as they are. An argument is known by
        what stands around it: `text_field=`, `Counting.sample`, an underscore, or "threads is" at the beginning.

        >>> parser = Parser()
        >>> _ = parser.add_argument("--text-field")
        >>> parser.spelled("no column 'text'; name another by text_field=")
        "no column 'text'; name another by --text-field"
        """
        # "." and ".." are in other paths too; a value after "=" is part of a name's match
        words = [re.escape(word) for word in arguments if re.search(r"[./\\=]", word) and re.search(r"\w", word)]
        kept = f"(?<!=)(?<!=['\"])({'|'.join(sorted(words, key=len, reverse=True))})"
        options = self.options()
        parts = re.split(kept, message) if words else [message]
        for at in range(0, len(parts), 2):
            parts[at] = re.sub(_NAME, lambda found: _option(found, options), parts[at])
            for call, command in CALLS.items():
                parts[at] = re.sub(rf"(?<![\w`]){call}(?:\(\))?", command, parts[at])
        return "".join(parts)


def add_commands(parser: Parser, package: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """Add commands in groups, each a module of a package, with their summaries."""
    parser.groups = groups
    added = parser.add_subparsers(metavar="COMMAND")
    for name, summary in (row for commands in groups.values() for row in commands.items()):
        command: Any = added.add_parser(name, help=summary, description=summary)
        command.command = lambda name=name: import_module(f".{name}", package).COMMAND


class Actions:
    """The commands of a command."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._added = parser.add_subparsers(title="Actions", metavar="ACTION", required=True)

    def add(self, name: str, summary: str) -> Parser:
        """Add a command, and return its parser."""
        added: Any = self._added.add_parser(name, help=summary, description=summary)
        return cast(Parser, added)


def is_usage(error: Exception, *, named: bool, line: str) -> bool:
    """Return whether an error is one of the arguments; `line` is the message as the user gets it.

    `named` is whether the line names an option. An error about a file may do that, as the way out.
    """
    if isinstance(error, UsageError) or (isinstance(error, (ValueError, TypeError)) and line.startswith("--")):
        return True
    return named and isinstance(error, (ValueError, TypeError)) and not isinstance(error, BBPEError)


def _longest(action: argparse.Action) -> str:
    """Return the name of an option: the longest, but of one that is also there with `--no-` the name without that."""
    names: Sequence[str] = action.option_strings
    twins = {f"--no-{name.removeprefix('--')}" for name in names}
    return max((name for name in names if name not in twins), key=len)


def _option(found: re.Match[str], options: Mapping[str, argparse.Action]) -> str:
    """Return the option that a match of `_NAME` is, or the match as it stands."""
    _, name, sets, value = found.groups()
    if name is None:
        return found[0]
    owner, _, own = name.rpartition(".")
    action = options.get(name) or options.get(own)
    if name == "format" and value in _READ:
        action = options.get("input_format", action)
    starts = found.start() == 0 and re.match(r"(?:\[\d+\])?(?: is | must |: )", found.string[found.end() :])
    if action is None or not (owner or sets or "_" in own or starts):
        return found[0]
    if not value or action.nargs == 0:
        return _longest(action)
    given = literal_eval(value) if value[0] in "'\"[(" else value
    values = [given] if isinstance(given, str) else given
    before = f"{_longest(action)} "
    return before + (" " if action.nargs else f" {before}").join(shlex.quote(str(each)) for each in values)
