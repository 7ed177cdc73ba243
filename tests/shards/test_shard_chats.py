"""Shards of chats: the ids of `encode_chat`, and a mask beside them in each format that has a place for one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.errors import CorpusError
from bbpe.shards.formats import FORMATS

pytest.importorskip("jinja2")
TEMPLATE = (
    "{% if tools %}<|tools|>{{ tools | tojson }}{% endif %}{% for m in messages %}"
    "<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endfor %}"
)
SPECIALS = ["<|user|>", "<|assistant|>", "<|system|>", "<|tools|>", "<|end|>", "</s>"]
WITH_MASKS = [name for name, known in FORMATS.items() if known.masks is not None]
TOOLS = [{"type": "function", "function": {"name": "get_dogs"}}]


@pytest.fixture(scope="module")
def tok(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("tokenizer")
    bbpe.train_from_iterator(["see my eyes first, my dogs"] * 3, 290, special_tokens=SPECIALS).save(
        folder / "tokenizer.json"
    )
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return bbpe.load(folder)


def chats(count: int = 40) -> list[dict[str, Any]]:
    found = []
    for number in range(count):
        says = [f"see my eyes {number}", "first <|end|> \u4f60\u597d", "my dogs" * (number % 4)]
        messages = [
            {"role": ("user", "assistant")[turn % 2], "content": says[turn % 3]} for turn in range(1 + number % 5)
        ]
        found.append({"id": f"chat-{number}", "messages": messages, "more": [number]})
        if number % 3 == 0:
            found[-1]["tools"] = TOOLS
    return found


def expected(tok: Any, records: list[dict[str, Any]], **options: Any) -> list[tuple[list[int], list[int]]]:
    rows = [tok.encode_chat(record["messages"], record.get("tools"), **options) for record in records]
    return [(row.ids.tolist(), row.mask.tolist()) for row in rows]


def written(shards: bbpe.Shards) -> list[tuple[list[int], list[int]]]:
    return [(shards[number].tolist(), shards.mask(number).tolist()) for number in range(len(shards))]


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("name", WITH_MASKS)
def test_ids_and_masks_are_those_of_encode_chat(tok: Any, tmp_path: Path, name: Any) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    records = chats()
    done = bbpe.shard(
        lines(tmp_path / "a.jsonl", records), tmp_path / "out", tok, format=name, messages_field="messages"
    )
    assert written(done) == expected(tok, records)
    assert any(any(mask) and not all(mask) for _, mask in written(done))
    assert done.totals.text == sum(
        len(tok.apply_chat_template(record["messages"], record.get("tools")).encode()) for record in records
    )
    assert bbpe.verify_shards(done, tok, sample=1.0) == []
    assert done.masks(0).dtype == np.uint8
    options: Any = {"format": name, "messages_field": "messages", "part_size": 2000, "threads": 2}
    other = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "other", tok, **options)
    assert len(other.plan) > 3
    assert written(other) == written(done)
    whole = bbpe.merge_shards([other], tmp_path / "whole")
    for path in sorted((tmp_path / "out").glob("part-00000*")):
        if path.suffix not in (".json", ".gz"):  # which have the paths of sources
            assert (tmp_path / "whole" / path.name).read_bytes() == path.read_bytes(), path.name
    assert written(whole) == written(done)


@pytest.mark.parametrize("name", WITH_MASKS)
def test_rows_learn_what_the_assistant_wrote(tok: Any, tmp_path: Path, name: Any) -> None:
    """Labels of windows and bins are -100 exactly where the mask of `encode_chat` is 0, parts and ends included."""
    if name == "parquet":
        pytest.importorskip("pyarrow")
    records = chats()
    options: Any = {"format": name, "messages_field": "messages", "part_size": 2000}
    eos = "</s>" if name != "parquet" else None
    done = bbpe.shard(lines(tmp_path / "a.jsonl", records), tmp_path / "out", tok, eos=eos, **options)
    assert len(done.plan) > 3
    end = [] if eos is None else [tok.special_tokens[eos]]
    docs = [(ids + end, mask + [0] * len(end)) for ids, mask in expected(tok, records)]
    learned = [[token if mask else -100 for token, mask in zip(*doc, strict=True)] for doc in docs]
    flat, labels = [token for ids, _ in docs for token in ids], [label for row in learned for label in row]
    for shift, n in ((1, 7), (0, 7), (1, 64), (0, 500)):
        rows = done.windows(n, labels="shift" if shift else "same")
        assert len(rows) == (len(flat) - shift) // n
        for number, row in enumerate(rows):
            assert row["input_ids"].tolist() == flat[number * n : (number + 1) * n]
            assert row["labels"].tolist() == labels[number * n + shift : (number + 1) * n + shift]
        assert done.windows(n, masks=False)[0]["labels"].tolist() == flat[1 : n + 1]
    most = max(len(ids) for ids, _ in docs)
    for shift in (1, 0):
        packed = []
        for row in done.bins(most, ragged=True, labels="shift" if shift else "same"):
            for number in range(row["document_ids"][-1] + 1):
                there = row["document_ids"] == number
                packed.append((row["input_ids"][there].tolist(), row["labels"][there].tolist()))
        by_document = zip([ids for ids, _ in docs], learned, strict=True)
        assert sorted(packed) == sorted((ids, row[shift:] + [-100] * shift) for ids, row in by_document)


@pytest.mark.parametrize("name", WITH_MASKS)
def test_masks_move_with_their_documents(tok: Any, tmp_path: Path, name: Any) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    records = chats(70)
    done = bbpe.shard(
        lines(tmp_path / "a.jsonl", records), tmp_path / "out", tok, format=name, messages_field="messages"
    )
    for options in ({"shuffle": 3}, {"shard_size": 500}, {"shuffle": 4, "shard_size": 700}):
        moved = bbpe.merge_shards([done], tmp_path / f"moved{len(options)}{options.get('shuffle')}", **options)
        assert sorted(written(moved)) == sorted(written(done))
        assert (written(moved) == written(done)) == ("shuffle" not in options)
        assert bbpe.verify_shards(moved, tok) == []


def test_other_programs_read_the_masks(tok: Any, tmp_path: Path) -> None:
    """Parquet as a table, Megatron's pair as another data set, the others as bools."""
    records = chats()
    ids, masks = map(list, zip(*expected(tok, records), strict=True))
    flat = [value for mask in masks for value in mask]
    path = lines(tmp_path / "a.jsonl", records)
    for name in WITH_MASKS:
        if name != "parquet":
            bbpe.shard(path, tmp_path / name, tok, format=name, messages_field="messages", eos="</s>")
    with_eos = [value for mask in masks for value in (*mask, 0)]
    assert np.fromfile(tmp_path / "olmo/part-00000.mask", np.bool_).tolist() == with_eos
    assert np.fromfile(tmp_path / "datatrove/part-00000.ds.loss", np.bool_).tolist() == with_eos
    assert np.fromfile(tmp_path / "megatron/part-00000.mask.bin", np.uint8).tolist() == with_eos
    index, other = (Path(tmp_path, f"megatron/part-00000{kind}.idx").read_bytes() for kind in ("", ".mask"))
    assert (index[17], other[17]) == (8, 1)
    count = 34 + 4 * len(ids)
    assert other[18:count] == index[18:count]  # the same numbers of ids, in as many sequences
    begins = np.frombuffer(other[count : count + 8 * len(ids)], np.int64).tolist()
    assert begins == [sum(len(mask) + 1 for mask in masks[:number]) for number in range(len(masks))]
    parquet = pytest.importorskip("pyarrow.parquet")
    bbpe.shard(path, tmp_path / "parquet", tok, format="parquet", messages_field="messages", id_field="id")
    table = parquet.read_table(tmp_path / "parquet/part-00000.parquet")
    assert table.column_names == ["input_ids", "assistant_masks", "id"]
    assert table.column("assistant_masks").to_pylist() == masks
    assert table.column("input_ids").to_pylist() == ids
    assert table.column("id").to_pylist() == [record["id"] for record in records]
    assert sum(flat) > 0


def test_columns_of_parquet(tok: Any, tmp_path: Path) -> None:
    """A struct has the fields of all rows; tools may be JSON in a string, as data sets have them."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    records = chats(30)
    records[4]["messages"][0]["name"] = "Ann"
    columns = {
        "messages": [record["messages"] for record in records],
        "tools": [json.dumps(record["tools"]) if "tools" in record else None for record in records],
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=7)
    done = bbpe.shard(tmp_path / "a.parquet", tmp_path / "out", tok, messages_field="messages", part_size=500)
    assert len(done.plan) > 1
    assert written(done) == expected(tok, records)
    parquet.write_table(
        pa.table({"messages": [json.dumps(each) for each in columns["messages"]]}), tmp_path / "b.parquet"
    )
    done = bbpe.shard(tmp_path / "b.parquet", tmp_path / "b", tok, messages_field="messages")
    assert [ids for ids, _ in written(done)] == [
        row[0] for row in expected(tok, [{**each, "tools": None} for each in records])
    ]
    for table, problem in (
        ({"text": ["a"]}, "no column 'messages', only 'text'; name the column with the messages by messages_field="),
        ({"messages": [1]}, "column 'messages' is int64; expected lists of messages, or these as JSON"),
    ):
        parquet.write_table(pa.table(table), tmp_path / "c.parquet")
        with pytest.raises(CorpusError, match=problem):
            bbpe.shard(tmp_path / "c.parquet", tmp_path / "c", tok, messages_field="messages")


WRONG = {
    '{"messages": 5}': "field 'messages' is int; expected a list, or null",
    '{"messages": "see"}': "field 'messages' is a string; expected a list, or one as JSON: ",
    '{"text": "see"}': "expected an object with the field 'messages', found one with 'text'; name the field with the ",
    "[1]": "expected an object with the field 'messages', found list",
    "see": "expected a JSON object: ",
    '{"messages": [5]}': "messages",
    '{"messages": [{"role": "user", "content": "a"}], "tools": 5}': "field 'tools' is int; expected a list, or null",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_records(tok: Any, tmp_path: Path, line: str) -> None:
    """They are named with their lines, in a part that begins within the file too, or left out and listed."""
    records = [json.dumps(record) for record in chats(20)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([*records[:15], "", line, *records[15:], '{"messages": null}', ""]))
    with pytest.raises(CorpusError) as error:
        bbpe.shard(path, tmp_path / "out", tok, messages_field="messages", part_size=1500)
    assert f"{path}: line 17: " in str(error.value)
    assert WRONG[line] in str(error.value)
    done = bbpe.shard(path, tmp_path / "skipped", tok, messages_field="messages", on_error="skip", part_size=1500)
    assert len(done.plan) > 1
    assert written(done) == expected(tok, chats(20))
    assert (done.totals.refused, done.totals.null) == (1, 1)
    skipped = json.loads((tmp_path / "skipped/skipped.jsonl").read_text())
    assert f"{path}: line 17: " in skipped["error"]


@pytest.mark.parametrize("line", WRONG)
def test_the_first_record_is_checked_before_work_begins(tok: Any, tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{line}\n")
    if line != '{"messages": [5]}':  # which only the template finds
        with pytest.raises(CorpusError) as error:
            bbpe.plan_shards(path, tmp_path / "out", tok, messages_field="messages")
        assert f"{path}: line 1: " in str(error.value)
        assert WRONG[line] in str(error.value)
    assert len(bbpe.plan_shards(path, tmp_path / "skipped", tok, messages_field="messages", on_error="skip")) == 1


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_wrong_last_record(tok: Any, tmp_path: Path, threads: int) -> None:
    """Another thread may have read the end of the file before it is found."""
    path = lines(tmp_path / "a.jsonl", [*chats(3), {"messages": 5}])
    with pytest.raises(CorpusError, match="line 4: field 'messages' is int; expected a list, or null"):
        bbpe.shard(path, tmp_path / "out", tok, messages_field="messages", threads=threads)


def test_a_run_goes_on(tok: Any, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", chats())
    plan = bbpe.plan_shards(path, tmp_path / "out", tok, messages_field="messages", part_size=2000)
    bbpe.shard_part(plan, 1)
    shutil.copy(path, tmp_path / "copy")
    (tmp_path / "copy").replace(path)  # of another time
    done = bbpe.shard(path, tmp_path / "out", tok, messages_field="messages", part_size=2000)
    assert written(done) == expected(tok, chats())
    for name in ("plan.json", "manifest.json"):
        assert (tmp_path / "out" / name).exists()
    mask = tmp_path / "out/part-00001.mask.bin"
    mask.write_bytes(mask.read_bytes().replace(b"\1", b"\2"))
    faults = bbpe.verify_shards(done, sample=0)
    assert any("SHA-256" in fault for fault in faults)
    assert any("there is a mask of 2; expected 0 and 1" in fault for fault in faults)
    mask.write_bytes(b"\1")
    with pytest.raises(CorpusError, match="part-00001"):
        done.masks(1)


def test_a_plan_has_the_template(tok: Any, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", chats())
    bbpe.shard(path, tmp_path / "out", tok, messages_field="messages")
    tok.save(tmp_path / "tokenizer.json")
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE.replace("\n", ""))
    with pytest.raises(CorpusError, match="the folder has another plan, with templates "):
        bbpe.shard(path, tmp_path / "out", bbpe.load(tmp_path), messages_field="messages")


def test_special_tokens_of_contents(tok: Any, tmp_path: Path) -> None:
    records = chats()
    path = lines(tmp_path / "a.jsonl", records)
    plain, opened = (
        bbpe.shard(path, tmp_path / name, tok, messages_field="messages", allowed_special=allowed)
        for name, allowed in (("plain", ()), ("all", "all"))
    )
    assert written(opened) == expected(tok, records, content_special="all") != written(plain)


def test_what_is_refused(tok: Any, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", chats())
    bare = bbpe.train_from_iterator(["see my eyes"], 258)
    (tmp_path / "a.txt").write_text("see my eyes")
    for options, problem in (
        (
            {"format": "nanogpt", "eos": "</s>"},
            "the format 'nanogpt' has no place for the mask of what a model learns: give ",
        ),
        (
            {"text_field": "content"},
            "messages_field and text_field='content' are given; documents are either chats or texts",
        ),
        ({"document": "line"}, "messages_field and document='line' are given"),
        ({"messages_field": 5}, "messages_field must be a str or None, or a list of them, not int"),
        (
            {"tokenizer": bare},
            "the files of the tokenizer have no chat template: load a folder with chat_template.jinja",
        ),
        ({"files": tmp_path / "a.txt"}, "a text file has no field 'messages'; expected JSON lines or Parquet"),
    ):
        given = {"files": path, "tokenizer": tok, "messages_field": "messages", **options}
        with pytest.raises((ValueError, TypeError, CorpusError), match=problem):
            bbpe.shard(given.pop("files"), tmp_path / "out", given.pop("tokenizer"), **given)
    texts = bbpe.shard(lines(tmp_path / "b.jsonl", [{"text": "see"}]), tmp_path / "texts", tok)
    with pytest.raises(
        CorpusError, match="the documents are texts, which have no masks; messages_field= encodes chats"
    ):
        texts.mask(0)
