"""Where documents come from: every one of random corpora, against a slow reader of records in Python."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.errors import CorpusError
from bbpe.shards import origins
from bbpe.shards.part import PartRecord

KINDS = ("jsonl", "jsonl.gz", "parquet", "txt")
BAD = ("[1]", "{", '{"other": 1}', '{"text": 5}', '{"text": "\\ud800"', "nul")


def records_of(generator: random.Random, count: int) -> list[str | int | None]:
    """Texts, nulls, and numbers of lines that are wrong, each kind in stretches."""
    records: list[str | int | None] = []
    while len(records) < count:
        some = generator.choice(["text", "text", "text", "empty", "null", "bad"])
        for _ in range(generator.choice([1, 1, 2, 9])):
            words = generator.choices(["lower", "slow", "\u00e9\u6f22", "\n"], k=generator.randrange(6))
            text = " ".join(["low", *words])
            records.append({"text": text, "empty": "", "null": None, "bad": generator.randrange(len(BAD))}[some])
    return records[:count]


def write(path: Path, records: list[str | int | None], generator: random.Random) -> dict[int, str | None]:
    """Write a file, and return the text of each of its records; `None` of one without a text."""
    if path.suffix == ".txt":
        lines = [str(text or "").replace("\n", " ") + "\n" for text in records]
        path.write_text("".join(lines))
        return dict(enumerate(lines))
    if path.suffix == ".parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        texts = [text if isinstance(text, str) else None for text in records]
        table = pa.table({"text": pa.array(texts, pa.string()), "id": [f"id{row}" for row in range(len(texts))]})
        parquet.write_table(table, path, row_group_size=generator.choice([1, 7, 100]))
        return dict(enumerate(texts))
    lines = []
    for number, record in enumerate(records):
        line = BAD[record] if isinstance(record, int) else json.dumps({"text": record, "id": f"id{number}"})
        lines += [line, *[generator.choice(["", " ", "\t"])] * generator.choice([0, 0, 0, 1, 2])]
    data = ("\n".join(lines) + generator.choice(["", "\n", "\n\n"])).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return {number: record if isinstance(record, str) else None for number, record in enumerate(records)}


def corpus(folder: Path, generator: random.Random) -> dict[str, dict[int, str | None]]:
    """Write a few files, and return the texts of their records by path."""
    kinds = generator.sample(KINDS, 3) + generator.choices(KINDS, k=generator.randrange(2))
    texts = {}
    for number, kind in enumerate(kinds):
        path = folder / f"{number}.{kind}"
        texts[str(path)] = write(path, records_of(generator, generator.choice([0, 1, 12, 60])), generator)
    return texts


def check(
    shards: bbpe.Shards, tok: bbpe.Tokenizer, texts: dict[str, dict[int, str | None]], keep: bool = False
) -> None:  # fmt: skip
    """Check the origin of each document, that each record is found, and that no other document has it."""
    documents = [ids.tolist() for ids in shards]
    for number, ids in enumerate(documents):
        origin = shards.source(number)
        text = texts[origin.path][origin.record]
        assert text is not None
        assert tok.encode(text) == ids
        assert origin.document == number
        assert origin.id is None or origin.id == ("" if origin.path.endswith("txt") else f"id{origin.record}")
        assert shards[shards.find(origin.path, origin.record)].tolist() == ids
    there = {(shards.source(number).path, shards.source(number).record) for number in range(len(shards))}
    expected = {
        (path, row) for path, of_file in texts.items() for row, text in of_file.items()
        if text or (keep and text == "")
    }  # fmt: skip
    assert there == expected
    for path, of_file in texts.items():
        for row in {*of_file} - {row for name, row in expected if name == path}:
            with pytest.raises(CorpusError, match=f"record {row} has no document: it "):
                shards.find(path, row)
        with pytest.raises(ValueError, match=f"record is {len(of_file)}; expected less than"):
            shards.find(path, len(of_file))
    assert bbpe.verify_shards(shards, tok, sample=0.2) == []


SEEDS = [pytest.param(seed, marks=pytest.mark.full if seed > 1 else ()) for seed in range(20)]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_document_of_random_corpora_has_its_record(seed: int, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    generator = random.Random(seed)
    texts = corpus(tmp_path, generator)
    form, keep = generator.choice(["megatron", "parquet", "olmo"]), generator.random() < 0.3
    options: Any = {"format": form, "on_error": "skip", "document": "line", "empty": "keep" if keep else "skip"}
    if form != "megatron":
        options["id_field"] = "id"
    files = [*texts]
    shards = [
        bbpe.shard(some, tmp_path / f"out{number}", tok, part_size=generator.choice([200, 1000, 10**9]), **options)
        for number, some in enumerate([files[:1], files[1:]])
    ]
    check(bbpe.shard(files, tmp_path / "all", tok, part_size=300, **options), tok, texts, keep)
    size = max((len(ids) for each in shards for ids in each), default=1) * 4 + 9
    divided = bbpe.merge_shards(shards, tmp_path / "divided", shard_size=size)
    in_order = bbpe.merge_shards(shards, tmp_path / "in-order")
    again = bbpe.merge_shards([divided], tmp_path / "again")
    shuffled = bbpe.merge_shards(shards, tmp_path / "shuffled", shuffle=seed, shard_size=size)
    twice = bbpe.merge_shards([shuffled], tmp_path / "twice", shuffle=seed + 1)
    for merged in (in_order, divided, again, shuffled, twice):
        check(merged, tok, texts, keep)
    # as if nobody had cut or divided anything
    whole = bbpe.shard(files, tmp_path / "whole", tok, part_size=10**9, **options)
    for merged in (in_order, again):
        found, right = ({path.suffix for path in each.plan.folder.glob("part-*")} for each in (merged, whole))
        assert found == right
        if ".rows" in right:
            rows = [each.plan.folder.joinpath("part-00000.rows").read_bytes() for each in (merged, whole)]
            assert rows[0] == rows[1]


def test_numbers_take_no_file_where_no_record_is_left_out(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    texts = {str(tmp_path / f"{number}.jsonl"): write(tmp_path / f"{number}.jsonl", ["low"] * 50, random.Random(0))
             for number in range(3)}  # fmt: skip
    done = bbpe.shard([*texts], tmp_path / "out", tok, part_size=700)
    assert len(done.plan) > 2
    assert not [*done.plan.folder.glob("*.rows")]
    check(done, tok, texts)


def test_texts_of_files_are_record_0(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("" if name == "b" else f"low {name}")
    done = bbpe.shard(tmp_path / "*.txt", tmp_path / "out", tok)
    assert [(Path(done.source(i).path).name, done.source(i).record) for i in range(2)] == [("a.txt", 0), ("c.txt", 0)]
    assert done.find(tmp_path / "c.txt", 0) == 1
    with pytest.raises(CorpusError, match=r"record 0 has no document: it is empty$"):
        done.find(tmp_path / "b.txt", 0)
    with pytest.raises(ValueError, match=r"no file of the corpus"):
        done.find(tmp_path / "d.txt", 0)


def test_chats_have_records(tmp_path: Path) -> None:
    tok = bbpe.load(chat_folder(tmp_path))
    lines = ['{"messages": null}', "", '{"messages": [{"role": "user", "content": "low"}]}', "wrong"]
    (tmp_path / "a.jsonl").write_text("\n".join(lines * 20))
    done = bbpe.shard(
        tmp_path / "a.jsonl", tmp_path / "out", tok, messages_field="messages", on_error="skip", part_size=300
    )
    assert [done.source(number).record for number in range(len(done))] == list(range(1, 60, 3))
    assert [done.find(tmp_path / "a.jsonl", row) for row in range(1, 60, 3)] == list(range(20))


def chat_folder(folder: Path) -> Path:
    tok = bbpe.train_from_iterator(["low lower"], 262, special_tokens=["<u>", "<a>"])
    tok.save(folder / "tok.json")
    target = folder / "chat"
    target.mkdir()
    tok.save(target / "tokenizer.json")
    template = "{% for message in messages %}<u>{{ message['content'] }}{% endfor %}"
    (target / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    return target


def test_tokens_are_of_documents(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    generator = random.Random(3)
    texts = ["low " * generator.choice([0, 0, 1, 5]) for _ in range(1000)]
    write(tmp_path / "a.jsonl", [*texts], generator)
    for empty in ("keep", "skip"):
        options: Any = {"empty": empty, "part_size": 5000, "eos": "</s>"}
        done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / empty, tok, **options)
        for number in range(len(done.plan)):
            _, lengths = done.part(number)
            first = done._firsts[number]
            right = [first + at for at, length in enumerate(lengths.tolist()) for _ in range(length)]
            assert [done.document_at(number, token) for token in range(len(right))] == right
            with pytest.raises(ValueError, match=f"token is {len(right)}; part {number} has"):
                done.document_at(number, len(right))


def edited(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads(path.read_bytes())
    change(record)
    path.write_text(json.dumps(record))


def older(folder: Path) -> None:
    """Make shards those of a bbpe that did not keep numbers."""
    for path in folder.glob("part-*.json"):
        edited(path, lambda record: record.pop("rows"))
        for gone in folder.glob(f"{path.stem}.[rf]*"):
            gone.unlink()
            edited(path, lambda record, name=gone.name: record["files"].pop(name))


def test_shards_of_an_older_version_load(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    write(tmp_path / "a.jsonl", ["low", "", "slow"] * 9, random.Random(1))
    write(tmp_path / "b.jsonl", ["low", "slow"] * 9, random.Random(1))
    for name in "ab":
        bbpe.shard(tmp_path / f"{name}.jsonl", tmp_path / name, tok, part_size=200)
        older(tmp_path / name)
    with pytest.raises(CorpusError, match=r"the part is of an older bbpe, .*; write the shards again"):
        bbpe.load_shards(tmp_path / "a").source(3)
    known = bbpe.load_shards(tmp_path / "b")
    assert [known.source(number).record for number in range(18)] == list(range(18))
    assert known.find(tmp_path / "b.jsonl", 7) == 7
    # merging goes on, and says who does not know
    for number, options in enumerate(({}, {"shuffle": 4})):
        for name, is_known in (("a", False), ("b", True)):
            merged = bbpe.merge_shards([tmp_path / name], tmp_path / f"{name}{number}", **options)
            assert bbpe.verify_shards(merged, sample=0) == []
            if is_known:
                found = merged.source(5)
                assert merged[5].tolist() == known[found.record].tolist()
            else:
                with pytest.raises(CorpusError, match=r"of an older bbpe"):
                    merged.source(5)
    merged = bbpe.merge_shards([tmp_path / "b"], tmp_path / "old", shard_size=3)
    older(tmp_path / "old")
    with pytest.raises(CorpusError, match=r"older bbpe"):
        bbpe.load_shards(tmp_path / "old").source(0)
    with pytest.raises(CorpusError, match=r"older bbpe"):
        bbpe.load_shards(tmp_path / "old").find(tmp_path / "b.jsonl", 0)
    assert len(bbpe.merge_shards([tmp_path / "old"], tmp_path / "new")) == len(merged)


WRONG = [
    (".rows", b"\1\0\0\0" * 18, "document 1 is said to be record 1 of source 0, which cannot be"),
    (".rows", b"\0\0\0\0" * 17, "the file has 68 bytes; expected 72"),
    (".from", b"\0\0\0\0\x1b\0\0\0" * 18, "document 0 is said to be record 27 of source 0"),
    (".from", b"\1\0\0\0\0\0\0\0" * 18, "document 0 is said to be record 0 of source 1"),
]


@pytest.mark.parametrize(("suffix", "data", "fault"), WRONG)
def test_wrong_numbers_are_faults(suffix: str, data: bytes, fault: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    write(tmp_path / "a.jsonl", ["low", "", "slow"] * 9, random.Random(1))
    done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok)
    if suffix == ".from":
        done = bbpe.merge_shards([done], tmp_path / "merged", shuffle=1)
    path = done.plan.folder / f"part-00000{suffix}"
    assert path.name in json.loads(path.with_suffix(".json").read_bytes())["files"]
    path.write_bytes(data)
    faults = bbpe.verify_shards(done, sample=0)
    assert any(fault in each for each in faults), faults


@pytest.mark.parametrize(
    ("rows", "moved"),
    [(rows, {}) for rows in ([26], [28], [27, 1], [20, 7])]
    + [(rows, moved) for rows in ([27, 1], [20, 7]) for moved in ({"shuffle": 1}, {"shard_size": 9})],
)
def test_wrong_numbers_of_records_are_faults(
    rows: list[int], moved: dict[str, int], tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    """Of each source, or of all together where merging has not moved documents from part to part."""
    write(tmp_path / "a.jsonl", ["low", "", "slow"] * 9, random.Random(1))
    done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok)
    if moved:
        done = bbpe.merge_shards([done], tmp_path / "merged", **moved)
    path = done.plan.folder / "part-00000.json"
    assert bbpe.verify_shards(done, sample=0) == []
    edited(path, lambda record: record.update(rows=rows))
    faults = bbpe.verify_shards(done, sample=0)
    found = f"{path}: found {sum(rows)} records of {len(rows)} source{'s' * (len(rows) > 1)}; expected "
    assert any(fault.startswith(found) for fault in faults), faults


def test_more_records_than_four_bytes_have_are_refused(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bbpe.shards.part._MOST_RECORDS", 20)
    write(tmp_path / "a.jsonl", ["low", "", "slow"] * 9, random.Random(1))
    with pytest.raises(CorpusError, match=r"a\.jsonl: record 26 has a document; expected fewer than 20 of"):
        bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok)


def test_blocks_of_numbers_are_joined(tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "_DOCUMENTS", 3)
    monkeypatch.setattr("bbpe.shards.part._BLOCK", 4)
    texts = {str(tmp_path / f"{number}.jsonl"): write(
        tmp_path / f"{number}.jsonl", ["low"] * 11 + ["", "slow"] * number, random.Random(number)
    ) for number in range(3)}  # fmt: skip
    options: Any = {"format": "parquet", "id_field": "id"}
    done = bbpe.shard([*texts], tmp_path / "out", tok, part_size=300, **options)
    check(done, tok, texts)
    for number, how in enumerate(({}, {"shuffle": 2}, {"shard_size": 9})):
        check(bbpe.merge_shards([done], tmp_path / f"merged{number}", **how), tok, texts)


def test_the_command_line_shows_the_source(
    tmp_path: Path, tok: bbpe.Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    from bbpe.cli import main

    write(tmp_path / "a.jsonl", [None, "low"], random.Random(1))
    bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok)
    assert main(["shards", "show", str(tmp_path / "out"), "0", "--source", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["source"] == {
        "path": str(tmp_path / "a.jsonl"), "start": 0, "stop": None, "record": 1, "document": 0, "id": None,
    }  # fmt: skip
    assert main(["shards", "show", str(tmp_path / "out"), "0", "--source"]) == 0
    assert "record         1\n" in capsys.readouterr().out
    assert main(["shards", "show", str(tmp_path / "out"), "--source"]) == 2
    assert "without the number of a document" in capsys.readouterr().err


def test_records_are_read_as_older_versions_wrote_them() -> None:
    assert PartRecord(part=3, sources=[1]).rows == []
