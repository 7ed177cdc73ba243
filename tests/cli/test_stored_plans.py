"""`--part` and `--finish` of a stored plan: options that make plans are refused, those about the work are heeded."""

from __future__ import annotations

from argparse import Action

import pytest
from commands import Call

from bbpe.cli import conversion, shard
from bbpe.cli.parsers import Parser

#: What does not make a plan; `--threads` is about parts alone.
WORK = {"-h", "--output", "--part", "--finish", "--plan-only", "--threads", "--progress", "--quiet", "--json"}
#: Values of options that do not take any word.
VALUES = {"--special": "a=b", "--pattern": "gpt2", "--vocab-size": "9", "--check": "1", "--part-size": "256MB"}


def words_of(action: Action) -> list[str]:
    """Return an option with a value: of one with a choice or a default, one that would change nothing."""
    option = max(action.option_strings, key=len)
    if action.nargs == 0:
        return [option]
    if action.choices:
        return [option, str(action.default or next(iter(action.choices)))]
    return [option, VALUES.get(option, "zz")]


def rows() -> list[tuple[str, list[str]]]:
    found = []
    for command, add in (("shard", shard.COMMAND.add_arguments), ("shards convert", conversion.add_arguments)):
        parser = Parser()
        add(parser)
        options = [each for each in parser._actions if each.option_strings and not WORK & set(each.option_strings)]
        # without files, a tokenizer makes no plan of texts: an error of its own
        found += [(command, words_of(each)) for each in options if (command, each.dest) != ("shard", "tokenizer")]
    assert len(found) > 30
    return found


@pytest.fixture
def planned(call: Call, here: object) -> None:
    """Plans in the folders `shard` and `convert`."""
    assert call("shard a.jsonl -t t.json -o texts --quiet")[0] == 0
    assert call("shard a.jsonl -t t.json -o shard --plan-only")[0] == 0
    assert call("shards convert texts --from bbpe --to parquet -o convert --plan-only")[0] == 0


@pytest.mark.usefixtures("planned")
@pytest.mark.parametrize(("command", "words"), rows(), ids=lambda value: value if isinstance(value, str) else value[0])
def test_options_that_make_plans_are_refused(command: str, words: list[str], call: Call) -> None:
    folder = command.split()[-1]
    for step in ("--part 0", "--finish"):
        status, out, error = call(f"{command} -o {folder} {step} {' '.join(words)}")
        assert (status, out) == (2, ""), error
        assert f"{words[0]} makes a plan, and the stored one is used; expected files" in error


@pytest.mark.usefixtures("planned")
def test_options_about_the_work_are_heeded(call: Call) -> None:
    for command in ("shard", "shards convert"):
        folder = command.split()[-1]
        status, _, error = call(f"{command} -o {folder} --finish --threads 2")
        assert (status, error.splitlines()[0]) == (
            2, "bbpe: error: --threads is given, but --finish encodes nothing; expected it with --part or alone"
        )  # fmt: skip
        assert call(f"{command} -o {folder} --part 0 --threads 2 --progress none --json")[0] == 0
        assert call(f"{command} -o {folder} --finish --quiet --json")[0] == 0


def test_a_tokenizer_alone_makes_no_plan(call: Call, here: object) -> None:
    status, _, error = call("shard -o out --part 0 -t t.json")
    assert status == 2
    assert "expected files and a tokenizer (-t), or --part or --finish for a plan that is stored" in error
