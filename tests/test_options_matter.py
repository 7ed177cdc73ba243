"""No option of a public function is ignored: of two values, each gives something else.

One table (support/option_rows.py): for each option two values, and what else the call needs for the difference to show.
Of options that change time and memory alone, one of the values is refused; `RESOURCES` names the tests of what they do.
A parameter of any public function or method that no row has fails `test_no_option_is_left_out`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import option_rows
import pytest
import two_values
from option_rows import (
    FILES,
    FULL_MODELS,
    OTHER,
    PLAIN,
    SHARDS,
    TEXT,
    TEXTS,
    TOK,
    UNIGRAM,
    new_folder,
    planned,
)
from shard_option_rows import SHARD_ROWS
from small_published import make_bare, put
from tekken_files import tekken
from two_values import Two, differs, optional

import bbpe
from bbpe import formats
from bbpe.corpus.files import file_of
from bbpe.counting.options import FileOptions, TextOptions
from bbpe.formats.saving import Part
from bbpe.progress import Progress
from bbpe.published.names import MODELS
from bbpe.spec.rules import RowPadding, Template
from bbpe.splitting.patterns import get_pattern

ROWS = {**option_rows.ROWS, **SHARD_ROWS}
#: Options that change time and memory alone, and the tests of their effects.
RESOURCES = {
    "threads": "counting/test_count.py::test_threads_change_nothing",
    "num_threads": "of_tiktoken/test_tiktoken_view.py::test_short_batches_take_one_thread",
    "in_flight": "counting/test_handout.py::test_the_window_is_that_of_the_executor",
    "attempts": "counting/test_handout.py::test_what_fails_is_tried_again_and_what_is_wrong_is_not",
    "max_memory": "counting/test_max_memory.py::test_the_process_stays_within_its_memory",
    "checkpoint": "counting/test_checkpoint.py::test_a_count_of_texts_goes_on",
}
#: Options that another table has, and the test with that table.
ELSEWHERE = {
    "accelerate.accept_other_offsets":
        "compat/of_transformers/test_acceleration.py::test_other_offsets_are_taken_only_if_they_are_accepted",
    "patch_transformers.masks":
        "compat/of_transformers/test_chat_masks.py::test_own_masks_are_given_where_they_are_asked_for",
    "patch_transformers.strict":
        "compat/of_transformers/test_acceleration.py::test_strictly_patched_loading_is_an_error",
    "SourceTable.text.most": "shards/test_count_by.py::test_a_wide_table_goes_on_below",
    "shard.replan": "shards/test_shard_status.py::test_a_plan_is_not_replaced_while_a_part_is_written",
    "plan_shards.replan": "shards/test_shard_status.py::test_a_plan_is_not_replaced_while_a_part_is_written",
    **dict.fromkeys(
        [f"{name}.replan" for name in ("convert_shards", "plan_conversion", "retokenize", "plan_retokenizing")],
        "shards/test_shard_status.py::test_a_plan_of_ids_is_replaced_only_if_it_is_asked_for",
    ),
    "Tokenizer.encode_chat_columns.**options":
        "compat/chat/test_chat_columns.py::test_columns_are_those_of_encode_chat",
    "Tokenizer.as_huggingface.**options":
        "compat/of_transformers/test_huggingface_view.py::test_padding_and_truncation",
    "Bins.**options": "shards/test_row_sets.py::test_bins_are_those_of_the_definition",
    "BPE.max_words": "training/test_forbid.py::test_merges_are_those_of_the_best_pair_that_is_allowed",
    "Evaluation.plot.metric": "report/test_metrics.py::test_the_figure_that_is_drawn",
    "Curve.knee.tokenizer": "report/test_curves.py::test_curves_of_several_tokenizers_are_those_of_each",
}  # fmt: skip
#: Results: their makers fill every field.
RESULTS = {
    "CurvePoint", "EncodedChat", "Evaluation", "Finding", "Measures", "ShardEstimate", "ShardFiles", "ShardPlan",
    "ShardsStatus", "Summary", "TokenCounts",
}  # fmt: skip

@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which has the files of the table; the vocabulary "small" is in its folder b."""
    make_bare(tmp_path, monkeypatch)
    monkeypatch.setitem(MODELS, "small-model", "small")
    monkeypatch.setattr("bbpe.tables.sources._LEAST", 0)  # the vocabularies of tests are small
    put(tmp_path / "b/small.tiktoken")
    monkeypatch.chdir(tmp_path)
    texts = [*TEXTS * 4, ""]
    rows = [json.dumps({"text": text, "more": f"{number} {text[::-1]}"}) for number, text in enumerate(texts)]
    Path("a.jsonl").write_text("\n".join(rows) + "\n")
    Path("b.jsonl").write_text("\n".join([*rows, "{"]) + "\n")
    twice = ["zq zq"] * 9 + [f"ab ab{number}" for number in range(3)]
    Path("data.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in twice))
    chats = [json.dumps({"text": text, "messages": [{"role": "user", "content": text}]}) for text in texts]
    Path("chats.jsonl").write_text("\n".join(chats) + "\n")
    Path("lines.txt").write_text("see my\neyes first\n" * 40)
    assert file_of(Path("lines.txt")).kind == "text"
    return tmp_path


def make(wanted: set[str]) -> None:
    """Make those files and folders that a row of the table asks for by name."""
    if "t.json" in wanted:
        TOK.save("t.json")
    if "others.parquet" in wanted:
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"pretoken": [b"see", b" my"], "count": [3, 2]}), "others.parquet")
    if "counts" in wanted:
        plan = bbpe.plan_count("a.jsonl", "counts", pattern="gpt2", part_size=300)
        for number in range(len(plan)):
            bbpe.count_part(plan, number)
    if wanted & {"shards", "wrong"}:
        for folder in wanted & {"shards", "wrong"}:
            bbpe.shard("a.jsonl", folder, TOK, part_size=300)
    if "written" in wanted:
        bbpe.plan_shards("a.jsonl", "written", TOK)
        Path("written/.part-00000.bin.0123456789ab.tmp").touch()
    if "large.txt" in wanted:
        # more than is read as a whole, and nowhere the same
        Path("large.txt").write_text("\n".join("see my eyes" * (number % 999) for number in range(1200)))
    if "wrong" in wanted:
        change_ids(Path("wrong/part-00000.bin"))


def change_ids(path: Path) -> None:
    """Exchange two ids of a part, and write the digest of that into its record."""
    ids = np.fromfile(path, np.uint16)
    at = int(np.flatnonzero(ids[1:] != ids[:-1])[0])
    ids[at : at + 2] = ids[at : at + 2][::-1]
    ids.tofile(path)
    known = json.loads(path.with_suffix(".json").read_text())
    known["files"][path.name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_suffix(".json").write_text(json.dumps(known))


@pytest.mark.parametrize(("name", "option"), [(name, option) for name, row in ROWS.items() for option in row.options])
def test_functions(name: str, option: str, here: Path) -> None:
    row = ROWS[name]
    make({value for value in row.given.values() if isinstance(value, str)} | ({"shards"} & {name.partition("_")[2]}))
    differs(row.call, row.given, option, row.options[option])


@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name, (_, options) in FULL_MODELS.items() for option in options]
)
def test_models_of_training(name: str, option: str) -> None:
    kind, options = FULL_MODELS[name]
    size = 300 if name != "WordPiece" else 90
    texts = ["See my eyes, see my dogs: low lower lowest newest \u00e9\u4e2d ab ba"] * 2 + [TEXT]

    def train(**given: Any) -> bbpe.Tokenizer:
        return bbpe.train_from_iterator(texts, size, model=kind(**given))

    differs(train, {}, option, options[option])


@pytest.mark.parametrize("option", FILES)
def test_counting(option: str, here: Path) -> None:
    """Of files, of texts, in parts, and where counting is an argument of training."""

    def texts(files: str, **given: Any) -> bbpe.PretokenCounts:
        rows = Path(files).read_text().splitlines()
        wanted = [json.loads(row)["text"] for row in rows] if files.endswith("a.jsonl") else [Path(files).read_text()]
        return bbpe.count_from_iterator(wanted, **given)

    def of_shards(files: str, **given: Any) -> bbpe.PretokenCounts:
        return bbpe.count_shards(bbpe.shard(files, new_folder(), TOK), **given)

    def trained(files: str, pattern: str, **given: Any) -> bbpe.Tokenizer:
        return bbpe.train(files, 320, pattern=pattern, counting=bbpe.Counting(**given))

    given = {"files": "a.jsonl", "pattern": "gpt2"}
    differs(bbpe.count, given, option, FILES[option])
    if option != "unique":  # which many machines cannot know
        differs(planned, given, option, FILES[option])
    if option in TextOptions.__annotations__ or option in ("pattern", "special_tokens"):
        differs(texts, given, option, FILES[option])
        differs(of_shards, given, option, FILES[option])
    if option in FileOptions.__annotations__:
        differs(trained, given, option, FILES[option])


def test_a_plan_of_a_count_has_parts(here: Path) -> None:
    differs(planned, {"files": "a.jsonl", "pattern": "gpt2"}, "part_size", Two("64MB", 100))


@pytest.mark.parametrize("option", SHARDS)
def test_sharding(option: str, here: Path) -> None:
    """In one call, and in those that workers make."""
    folders: Iterator[int] = iter(range(4))

    def files_of(files: str, tokenizer: bbpe.Tokenizer = TOK, **given: Any) -> dict[str, bytes]:
        folder = Path(f"out{next(folders)}")
        bbpe.shard(files, folder, tokenizer, **given)
        return {path.name: path.read_bytes() for path in folder.glob("part-*") if path.suffix != ".json"}

    def by_parts(files: str, tokenizer: bbpe.Tokenizer = TOK, **given: Any) -> dict[str, bytes]:
        folder = Path(f"out{next(folders)}")
        plan = bbpe.plan_shards(files, folder, tokenizer, **given)
        for number in range(len(plan)):
            bbpe.shard_part(plan, number)
        return {path.name: path.read_bytes() for path in folder.glob("part-*") if path.suffix != ".json"}

    differs(files_of, {"files": "a.jsonl"}, option, SHARDS[option])
    differs(by_parts, {"files": "a.jsonl"}, option, SHARDS[option])


@pytest.mark.parametrize("option", sorted(SHARDS.keys() - {"document", "input_format"}))
def test_sharding_an_iterator(option: str, here: Path) -> None:
    folders: Iterator[int] = iter(range(2))

    def rows_of(files: str, tokenizer: bbpe.Tokenizer = TOK, **given: Any) -> dict[str, bytes]:
        folder = Path(f"out{next(folders)}")
        lines = Path(files).read_text().splitlines()
        bbpe.shard_from_iterator([json.loads(line) if line != "{" else 5 for line in lines], folder, tokenizer, **given)
        return {path.name: path.read_bytes() for path in folder.glob("part-*") if path.suffix != ".json"}

    differs(rows_of, {"files": "a.jsonl"}, option, SHARDS[option])


# test_other_tools.py and test_unigram_json.py have these
_OTHERS = {"minbpe", "rwkv", "youtokentome", "unigram_json"}


@pytest.mark.parametrize("name", sorted(set(formats.FORMATS) - _OTHERS))
def test_a_file_is_written_in_the_format_that_is_asked_for(name: str, tmp_path: Path) -> None:
    if name == "gguf":
        pytest.importorskip("gguf")
    (tmp_path / "tekken.json").write_text(json.dumps(tekken()))
    words = bbpe.BPE(alphabet="chars", end_of_word="</w>", unk_token="<unk>")
    tok = {
        "codes": lambda: bbpe.train_from_iterator([OTHER], 40, model=words),
        "wordpiece": lambda: bbpe.train_from_iterator([OTHER], 40, model="wordpiece"),
        "sentencepiece": lambda: UNIGRAM,
        "tekken": lambda: bbpe.load(tmp_path / "tekken.json"),
    }.get(name, lambda: PLAIN)()
    tok.save(tmp_path / "new", format=name)
    assert formats.sniff(tmp_path / "new") == name


@pytest.mark.parametrize("part", get_args(Part))
def test_a_part_is_left_out_if_that_is_asked_for(part: Part, tmp_path: Path) -> None:
    whole = replace(PLAIN.spec, special_tokens={"<s>": 290})
    name, changed = {
        "special_tokens": ("tiktoken", whole),
        "template": ("gpt2", replace(whole, template=Template(((290, 0), ("A", 0)), ((290, 0), ("A", 0), ("B", 1))))),
        "pattern": ("gpt2", replace(whole, pattern=get_pattern("o200k"), modelled=())),
        "padding": ("gpt2", replace(whole, padding=RowPadding(290, "<s>"))),
    }[part]
    said = "how text is split" if part == "pattern" else rf"drop=\['{part}'\]"
    with pytest.raises(bbpe.VocabularyError, match=said):
        bbpe.Tokenizer(changed).save(tmp_path / "x", format=name)
    bbpe.Tokenizer(changed).save(tmp_path / "x", format=name, drop=[part])
    again = bbpe.load(tmp_path / "x", pattern="gpt2")
    assert again.encode(TEXT) == PLAIN.encode(TEXT)
    assert again.special_tokens == ({} if part == "special_tokens" else {"<s>": 290})
    assert again.spec.template is again.spec.padding is None


def reporting() -> list[str]:
    """Functions with `progress`."""
    with_it = (name for name, call in two_values.public() if "progress" in optional(call))
    return [name for name in with_it if not name.endswith("__init__")]


@pytest.mark.parametrize("name", reporting())
def test_progress_is_told(name: str, here: Path) -> None:
    special: dict[str, Callable[..., Any]] = {
        "count": lambda **given: bbpe.count("a.jsonl", pattern="gpt2", **given),
        "count_from_iterator": lambda **given: bbpe.count_from_iterator(TEXTS, pattern="gpt2", **given),
        "count_shards": lambda **given: bbpe.count_shards(bbpe.shard("a.jsonl", "s", TOK), pattern="gpt2", **given),
        "shard": lambda **given: bbpe.shard("a.jsonl", "out", TOK, **given),
        "convert_shards": lambda **given: bbpe.convert_shards(sharded(), "new", format="olmo", **given),
        "retokenize": lambda **given: bbpe.retokenize(bbpe.shard("a.jsonl", "old", TOK), "out", PLAIN, **given),
        "shard_from_iterator": lambda **given: bbpe.shard_from_iterator(TEXTS, "out", TOK, **given),
        "merge_shards": lambda **given: bbpe.merge_shards([bbpe.shard("a.jsonl", "old", TOK)], "new", **given),
        "verify_shards": lambda **given: bbpe.verify_shards(bbpe.shard("a.jsonl", "old", TOK), **given),
        "lint": lambda **given: bbpe.lint(TOK, "a.jsonl", **given),
        "compare": lambda **given: bbpe.compare(TOK, PLAIN, "a.jsonl", **given),
    }
    told: list[Progress] = []
    special.get(name, lambda **given: ROWS[name].call(**ROWS[name].given, **given))(progress=told.append)
    assert {type(each) for each in told} == {Progress}
    for phase in {each.phase for each in told if not each.note}:
        rows = [each for each in told if each.phase == phase]
        # a curve over corpora trains again and again
        assert name == "corpus_curve" or [each.done for each in rows] == sorted(each.done for each in rows)
        assert rows[-1].done > 0
        assert rows[-1].total in (None, rows[-1].done)


class Asked(ThreadPoolExecutor):
    """Threads that know how often they were asked."""

    times = 0

    def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
        self.times += 1
        return super().submit(*arguments, **options)


@pytest.mark.parametrize("name", [name for name, call in two_values.public() if "executor" in optional(call)])
def test_an_executor_does_the_work(name: str, here: Path) -> None:
    calls: dict[str, Callable[..., Any]] = {
        "count": lambda given: bbpe.count("a.jsonl", pattern="gpt2", executor=given),
        "count_from_iterator": lambda given: bbpe.count_from_iterator(TEXTS, pattern="gpt2", executor=given),
        "count_shards": lambda given: bbpe.count_shards(
            bbpe.shard("a.jsonl", "s", TOK), pattern="gpt2", executor=given
        ),
        "shard": lambda given: bbpe.shard("a.jsonl", "out", TOK, executor=given),
        "convert_shards": lambda given: bbpe.convert_shards(sharded(), "new", format="olmo", executor=given),
        "retokenize": lambda given: bbpe.retokenize(bbpe.shard("a.jsonl", "old", TOK), "out", PLAIN, executor=given),
        "Counting.__init__": lambda given: bbpe.train("a.jsonl", 270, counting=bbpe.Counting(executor=given)),
    }
    with Asked(1) as executor:
        calls[name](executor)
    assert executor.times


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.mark.parametrize("name", ["threads", "in_flight", "attempts", "max_memory", "checkpoint"])
def test_resources_of_counting(name: str, here: Path, request: pytest.FixtureRequest) -> None:
    """Each is read: too little of it is refused, and a checkpoint is there."""
    given = {"files": "a.jsonl", "pattern": "gpt2", "executor": None}
    if name == "checkpoint":
        bbpe.count("a.jsonl", pattern="gpt2", checkpoint="c")
        bbpe.count_from_iterator(TEXTS, pattern="gpt2", checkpoint="d")
        assert Path("c/bbpe-checkpoint.json").exists()
        assert Path("d/bbpe-checkpoint.json").exists()
        return
    two = Two("4GB", 1) if name == "max_memory" else Two(1, 0)
    if name in ("in_flight", "attempts"):  # of an executor
        given["executor"] = request.getfixturevalue("executor")
    differs(bbpe.count, given, name, two)
    differs(lambda files, **more: bbpe.count_from_iterator(TEXTS, **more), given, name, two)
    differs(lambda files, pattern, **more: bbpe.train(files, 270, counting=bbpe.Counting(**more)), given, name, two)
    if name != "max_memory":
        differs(lambda pattern, **more: bbpe.shard(folder=new_folder(), tokenizer=TOK, **more), given, name, two)
    if name == "threads":
        given = {"texts": TEXTS, "folder": "iterated", "tokenizer": TOK}
        differs(bbpe.shard_from_iterator, given, name, two)


def sharded() -> bbpe.Shards:
    return bbpe.shard("a.jsonl", "shards", TOK, part_size=300)


def covered() -> dict[str, set[str]]:
    """The options that this file looks at, by what has them."""
    found: dict[str, set[str]] = {name: set(row.options) for name, row in ROWS.items()}
    found |= {name: set(options) for name, (_, options) in FULL_MODELS.items()}
    own = set(RESOURCES) | {"executor", "progress"}
    found["count"] = found["Counting"] = {*FILES, *own}
    found["count_from_iterator"] = found["count_shards"] = {*FILES, *own}
    found["plan_count"] = {*FILES, "part_size"}
    found["shard"], found["plan_shards"] = {*SHARDS, *own}, set(SHARDS)
    found["convert_shards"] |= own
    found["retokenize"] |= {"threads", "in_flight", "attempts", "executor"}
    found["shard_from_iterator"] = {*SHARDS, "threads", "progress"} - {"document", "input_format"}
    for name in reporting():
        found.setdefault(name, set()).add("progress")
    for each in ELSEWHERE:
        found.setdefault(each.rpartition(".")[0], set()).add(each.rpartition(".")[2])
    return found


def test_no_option_is_left_out() -> None:
    """Of any public function or method; a row for what is no option has been forgotten."""
    rows, looked_at = covered(), set()
    for name, call in two_values.public():
        owner = name.removesuffix(".__init__")
        if owner in RESULTS:
            continue
        looked_at |= {owner} & rows.keys()
        assert optional(call) <= rows.get(owner, set()), f"{owner} has options without a row"
        assert owner not in ROWS or set(ROWS[owner].options) <= set(inspect.signature(call).parameters) | {"**options"}
    assert looked_at == rows.keys()
    assert len(looked_at) > 60
    assert {name for name in RESULTS if not is_dataclass(getattr(bbpe, name))} == set()
    assert set(FULL_MODELS) == {"BPE", "WordPiece", "Unigram"}
    assert all(map(two_values.is_there, (*RESOURCES.values(), *ELSEWHERE.values())))
