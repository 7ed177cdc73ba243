"""A table of calls that raise: for each error of a docstring's `Raises` the calls that raise it.

Calls find these files in the current folder: a.jsonl, a.txt, broken.jsonl (no JSON), archive.txt (a zip file); and no
missing.txt.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from option_rows import MESSAGES, OTHER, PLAIN, TEXT, TEXTS, TOK, TURNS

import bbpe
from bbpe.compat.tokenizers import Tokenizer
from bbpe.spec.rules import Lowercase, Template, TokenOptions
from bbpe.spec.spec import TextRules

Call = Callable[[], Any]
#: A tokenizer without a form for pairs, one whose ids 290 to 399 have no token, and ones with rules and characters.
NO_PAIR = bbpe.Tokenizer(replace(TOK.spec, template=Template(((0, 0), ("A", 0)))))
HOLE = bbpe.Tokenizer(replace(PLAIN.spec, special_tokens={"<s>": 400}))
RULES = bbpe.Tokenizer(replace(PLAIN.spec, rules=TextRules((Lowercase(),))))
OPTIONS = bbpe.Tokenizer(replace(HOLE.spec, token_options={"<s>": TokenOptions(lstrip=True)}))
WORDS = bbpe.train_from_iterator([OTHER], 40, model=bbpe.BPE(alphabet="chars", end_of_word="</w>"))
VOCAB = {byte: bytes([byte]) for byte in range(256)}
RANKS = {token: byte for byte, token in VOCAB.items()}
PART_OF_A_CHARACTER = PLAIN.encode("\u00e9")[:1]
VIEW, TIKTOKEN = TOK.as_tokenizers(), TOK.as_tiktoken()
REFUSED: dict[str, Any] = {"disallowed_special": "all"}
PAIR: dict[str, Any] = {"add_special_tokens": True}
#: More than any file or machine has.
HUGE = 1 << 62


def without(package: str, call: Call) -> Call:
    """The call where a package is not installed."""

    def tried() -> Any:
        # only this one is put back: other modules that the call imports stay
        modules: dict[str, Any] = sys.modules
        before = modules.get(package, tried)
        modules[package] = None
        try:
            return call()
        finally:
            if before is tried:
                del modules[package]
            else:
                modules[package] = before

    return tried


def plan(**options: Any) -> bbpe.ShardPlan:
    return bbpe.plan_shards("a.jsonl", "out", TOK, **{"part_size": 300, **options})


def count_plan() -> bbpe.CountPlan:
    return bbpe.plan_count("a.jsonl", "counts", pattern="gpt2", part_size=300)


def shards(folder: str = "out", **options: Any) -> str:
    bbpe.shard("a.jsonl", folder, TOK, **{"part_size": 300, **options})
    return folder


def after(first: Callable[[], Any], call: Callable[[Any], Any]) -> Call:
    """A call with the result of another one, which raises nothing."""

    def both() -> Any:
        try:
            made = first()
        except Exception as error:
            raise AssertionError("the first call failed") from error
        return call(made)

    return both


def rewritten(made: Any) -> Any:
    """The file of a plan has other texts of equal size now."""
    path = Path("a.jsonl")
    path.write_text(path.read_text().replace("see", "eye"))
    os.utime(path, (path.stat().st_mtime + 5,) * 2)
    return made


def gone(made: Any) -> Any:
    Path("a.jsonl").unlink()
    return made


def emptied(folder: str, pattern: str) -> None:
    for path in Path(folder).glob(pattern):
        path.unlink()


def without_records() -> bbpe.Shards:
    """Shards whose records of parts have gone since they were loaded."""
    made = bbpe.load_shards(shards())
    emptied("out", "part-*.json")
    return made


def cut(path: str) -> None:
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: len(data) // 2])


def needs_more(call: Callable[[bbpe.Counting], Any]) -> Call:
    """A call that learns merges within less memory than that takes."""

    def tried() -> Any:
        pytest.importorskip("pyarrow")
        with patch("bbpe.training.bpe.resident_bytes", lambda: HUGE):
            return call(bbpe.Counting(max_memory="4GB"))

    return tried


def kinds(name: str, call: Callable[..., Any], **wrong: Any) -> dict[str, list[Call]]:
    """Entries of one function: for each error the arguments that are wrong, or calls."""
    found: dict[str, list[Call]] = {}
    for error, given in wrong.items():
        each = given if isinstance(given, list) else [given]
        found[f"{name} {error}"] = [one if callable(one) else partial(call, **one) for one in each]
    return found


def operators() -> dict[str, list[Call]]:
    """Entries of what operators of shards look at."""
    return {
        **kinds("shards_status", bbpe.shards_status, CorpusError=[
            after(lambda: (shards(), cut("out/plan.json")), lambda made: bbpe.shards_status("out"))],
            OSError={"folder": "missing"}, ValueError=[after(shards, lambda made: bbpe.shards_status(made, idle=-1))],
            TypeError=[after(shards, lambda made: bbpe.shards_status(made, idle="1")), {"folder": 5}]),
        **kinds("estimate_shards", bbpe.estimate_shards, CorpusError=[
            after(lambda: rewritten(plan()), bbpe.estimate_shards)],
            OSError=[after(lambda: gone(plan()), bbpe.estimate_shards)], TypeError={"plan": "out"}),
        "ShardEstimate.lines ValueError": [after(lambda: bbpe.estimate_shards(plan()), lambda made: made.lines(0))],
        "ShardEstimate.lines TypeError": [after(lambda: bbpe.estimate_shards(plan()), lambda made: made.lines("1"))],
        **kinds("verify_shards", bbpe.verify_shards, CorpusError=[
            after(lambda: (shards(), cut("out/plan.json")), lambda made: bbpe.verify_shards("out"))],
            OSError={"folder": "missing"},
            ValueError=[after(shards, lambda made: bbpe.verify_shards(made, sample=2.0))],
            TypeError=[after(shards, lambda made: bbpe.verify_shards(made, sample="1")), {"folder": 5}]),
    }  # fmt: skip


def sources_of_shards() -> dict[str, list[Call]]:
    """Blends, and tables of counts."""
    unfinished = after(lambda: emptied(shards(), "part-00000.json"), lambda made: bbpe.blend_shards([("out", 1)]))
    wrong: dict[str, Any] = {
        "CorpusError": [unfinished], "TypeError": [{"folders": {"out": 1.0}}, {"folders": ["out"]}],
        "ValueError": [{"folders": []}, {"folders": [("out", 0)]}], "OSError": {"folders": [("missing", 1)]},
    }  # fmt: skip

    def save(path: str) -> None:
        bbpe.count_tokens("a.jsonl", [TOK]).save(path)

    return {
        **kinds("blend_shards", bbpe.blend_shards, **wrong),
        "SourceTable.save ImportError": [without("pyarrow.parquet", lambda: save("tokens.parquet"))],
        "SourceTable.save ValueError": [lambda: save("tokens.csv")],
        "SourceTable.save OSError": [lambda: save("no such folder/tokens.json")],
    }


def chats() -> dict[str, list[Call]]:
    """Entries of the methods that encode chats."""
    given = {"messages": MESSAGES, "chat_template": TURNS}
    begun = partial(TOK.encode_chat, MESSAGES, chat_template=TURNS, add_generation_prompt=True)
    asked = {"chat_template": "{% for m in messages %}{{ m.content }}{{ messages | length }}{% endfor %}"}
    options = {
        "SpecialTokenError": {**given, "content_special": {"<none>"}},
        "TypeError": [{**given, **wrong} for wrong in (
            {"messages": [5]}, {"tools": [5]}, {"no_such": 1}, {"turn_end": 1}, {"train_on": 5}, {"max_length": "9"},
            {"train_on": lambda message: None})],
        "ValueError": [{**given, **wrong} for wrong in (
            {"max_length": 1}, {"max_length": 0}, {"train_on": "asistant"}, {"messages": [{"content": "a"}]})],
        "VocabularyError": [{"messages": MESSAGES}, *({"messages": MESSAGES, "chat_template": wrong} for wrong in (
            "{{ raise_exception('no') }}", "{{ 1 / 0 }}", "{{ 'a' * 99999999 }}"))],
    }  # fmt: skip
    more: dict[str, Any] = {
        "TypeError": [
            lambda: TOK.continue_chat("a", [64]), *(after(begun, call) for call in (
                lambda chat: TOK.continue_chat(chat, None), lambda chat: TOK.continue_chat(chat, [[64], [64, 65]]),
                lambda chat: TOK.continue_chat(chat, b"ab"), lambda chat: TOK.continue_chat(chat, [64], [5])))],
        "TokenIdError": [after(begun, partial(TOK.continue_chat, sampled_ids=[wrong])) for wrong in (
            999, -1, (1 << 32) + 64, 1 << 64)],
        "ValueError": [after(lambda: TOK.encode_chat(MESSAGES, **asked), lambda chat: (
            TOK.continue_chat(chat, [], MESSAGES)))],
    }  # fmt: skip
    rows = {"messages": [MESSAGES]}
    return {
        **kinds("Tokenizer.encode_chat", TOK.encode_chat, **options),
        **kinds("Tokenizer.encode_chat_batch", TOK.encode_chat_batch, TypeError=[
            {"conversations": wrong, "chat_template": TURNS} for wrong in (MESSAGES, None, "a", [5], [[5]], {"a": 1})]),
        **kinds("Tokenizer.continue_chat", TOK.continue_chat, **more),
        **kinds("Tokenizer.encode_segments", TOK.encode_segments, SpecialTokenError={"segments": [("a", {"<none>"})]},
                TypeError=[{"segments": wrong} for wrong in (None, "ab", ["ab"], [("a",)], [(5, ())], [("a", 5)])]),
        **kinds("Tokenizer.encode_chat_columns", TOK.encode_chat_columns, VocabularyError={"batch": rows},
                TypeError=[{"batch": []}, {"batch": {"messages": "a"}}],
                ValueError=[{"batch": {"text": []}}, {"batch": {"messages": ["a"]}}]),
    }  # fmt: skip


def encoding(name: str, key: str = "text", **more: Any) -> dict[str, list[Call]]:
    """Entries of a method that refuses special tokens in texts."""
    call = getattr(TOK, name)
    text: Any = [TEXT] if key == "texts" else TEXT.encode() if name == "encode_bytes" else TEXT
    given = {key: text, **REFUSED, **more.pop("more", {})}
    return kinds(f"Tokenizer.{name}", call, SpecialTokenError={**given}, **more)


TYPES = [{"texts": "see"}, {"texts": {"see"}}, {"texts": {"see": 1}}, {"texts": [5]}]
FILES = {"CorpusError": [{"files": "broken.jsonl"}, {"files": "archive.txt"}], "OSError": {"files": "missing.txt"}}


def classic() -> bbpe.BBPETokenizer:
    bbpe.BBPETokenizer.train_tokenizer(TEXT, 260, "v.json", "m.txt")
    return bbpe.BBPETokenizer("v.json", "m.txt")


def evaluated() -> bbpe.Evaluation:
    return bbpe.evaluate([TOK, PLAIN], texts=TEXTS)


def plotted(path: str) -> None:
    pytest.importorskip("matplotlib")
    evaluated().plot(path)


def reports() -> dict[str, list[Call]]:
    """Curves and evaluations."""

    def curve() -> bbpe.Curve:
        return bbpe.learning_curve(TOK, [260], texts=TEXTS)

    return {
        "Curve.knee ValueError": [lambda: curve().knee("another")],
        "Curve.plot ImportError": [without("matplotlib", lambda: curve().plot("c.svg"))],
        "Evaluation.plot ImportError": [without("matplotlib", lambda: evaluated().plot("c.svg"))],
        "Curve.plot ValueError": [lambda: curve().plot("c.gif")],
        "Evaluation.plot ValueError": [lambda: evaluated().plot("c.jpg")],
        "Evaluation.table ValueError": [
            lambda: evaluated().table("x"), lambda: evaluated().table("parity"),
            lambda: evaluated().table("tokens", wide=True),
        ],
        "Evaluation.plot OSError": [lambda: plotted("a.txt/c.svg")],
    }  # fmt: skip


def arrow(rows: list[Any]) -> Any:
    return pytest.importorskip("pyarrow").array(rows)


def ragged(token_id: int) -> bbpe.Ragged:
    pytest.importorskip("pyarrow")
    return bbpe.Ragged(np.array([token_id], np.uint32), np.array([0, 1]))


def big() -> bbpe.Tokenizer:
    """A tokenizer whose ids do not fit 16 bits."""
    return bbpe.Tokenizer(replace(PLAIN.spec, special_tokens={"<s>": 70_000}))


def taken() -> str:
    """A folder with a file of somebody else."""
    Path("taken").mkdir()
    Path("taken/notes.txt").write_text("mine")
    return "taken"


def counted() -> None:
    made = count_plan()
    for number in range(len(made)):
        bbpe.count_part(made, number)


def shortened() -> Tokenizer:
    """A view in which the first text of a pair alone loses ids."""
    view = TOK.as_tokenizers()
    view.enable_truncation(5, strategy="only_first")
    return view


def unwritten(path: str | None = None) -> Any:
    """What a tokenizer.json has no place for, as a text or in a file."""
    made = bbpe.train_from_iterator([OTHER], 40, model=bbpe.BPE(alphabet="chars", word_start="\u2581"))
    view = bbpe.Tokenizer(replace(made.spec, merge_levels=tuple(0 for _ in made.merges))).as_tokenizers()
    return view.to_str() if path is None else view.save(path)


def as_folder(made: bbpe.ShardPlan) -> bbpe.ShardPlan:
    """A record that is no file."""
    Path("out/part-00000.json").unlink()
    Path("out/part-00000.json").mkdir()
    return made


def lost(made: bbpe.ShardPlan) -> bbpe.ShardPlan:
    """The parts of a plan, one of which has a document less."""
    for number in range(len(made)):
        bbpe.shard_part(made, number)
    path = Path("out/part-00000.json")
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "documents": record["documents"] - 1}))
    return made


def retokenizing(name: str, call: Callable[..., Any]) -> dict[str, list[Call]]:
    """The errors of calls that write shards in ids of another vocabulary."""

    def made(**given: Any) -> Call:
        return after(lambda: shards("old"), lambda source: call(source, "new", PLAIN, **given))

    unreadable = after(lambda: (shards("old"), cut("old/plan.json")), lambda _: call("old", "new", PLAIN))
    right = {"folder": "new", "tokenizer": PLAIN}
    return kinds(
        name, call, CorpusError=[unreadable], ValueError=[made(format="x"), made(check=2.0)],
        TypeError=[made(special=["<s>"]), {"source": 5, **right}], OSError={"source": "missing", **right},
    )  # fmt: skip


#: Where documents of shards come from, and shards of an iterator.
ORIGINS = {
    **kinds("shard_from_iterator", lambda texts=("a",), folder="iterated", **given: bbpe.shard_from_iterator(
        texts, folder, TOK, **given), CorpusError={"texts": [5]}, ValueError={"empty": "x"}, TypeError={"texts": "a"},
        OSError={"folder": "a.txt/out"}),
    "Shards.source CorpusError": [after(without_records, lambda made: made.source(0))],
    "Shards.source ValueError": [after(shards, lambda made: bbpe.load_shards(made).source(99999))],
    **kinds("Shards.find", lambda path="a.jsonl", record=0: bbpe.load_shards(shards()).find(path, record),
            CorpusError=[after(without_records, lambda made: made.find("a.jsonl", 0))],
            ValueError=[{"record": 99999}, {"path": "missing.jsonl"}], TypeError=[{"path": 5}, {"record": "0"}]),
    "Shards.document_at ValueError": [after(shards, lambda made: bbpe.load_shards(made).document_at(0, 99999))],
}  # fmt: skip
