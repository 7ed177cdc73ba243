"""An option that has one value is given once; those that can be repeated keep all their values."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import pytest
from test_usage import LEAVES, options_of

OF_ONE_VALUE = {
    prog: [action for action in options_of(prog) if isinstance(action, argparse._StoreAction)] for prog in LEAVES
}
VALUES = ("1", "1MB", "a.json", "a.parquet", "a:1", "tiktoken")


def value_of(prog: str, flag: str, kind: object, choices: Iterable[object] | None) -> str:
    """A value that an option takes."""
    values = VALUES if choices is None else [str(each) for each in choices]
    for value in values:
        try:
            kind(value) if callable(kind) else value
        except (ValueError, TypeError, argparse.ArgumentTypeError):
            continue
        return value
    raise AssertionError(f"{prog} {flag}: no value")


def test_most_options_have_one_value() -> None:
    assert sum(map(len, OF_ONE_VALUE.values())) > 100
    assert "pattern" in {action.dest for action in OF_ONE_VALUE["bbpe train"]}


@pytest.mark.parametrize("prog", LEAVES)
def test_an_option_of_one_value_is_given_once(prog: str, capfd: pytest.CaptureFixture[str]) -> None:
    for action in OF_ONE_VALUE[prog]:
        value = value_of(prog, action.option_strings[-1], action.type, action.choices)
        for words in ([action.option_strings[0], value, action.option_strings[-1], value],
                      [f"{action.option_strings[-1]}={value}"] * 2):  # fmt: skip
            with pytest.raises(SystemExit) as ended:
                LEAVES[prog].parse_args(words)
            first = capfd.readouterr().err.splitlines()[0]
            assert (ended.value.code, first) == (
                2, f"bbpe: error: {'/'.join(action.option_strings)}: given twice; expected it once"
            )  # fmt: skip
