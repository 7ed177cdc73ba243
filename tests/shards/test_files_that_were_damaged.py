"""Files of shards that were cut, exchanged or removed after they were written: what reads them names the part."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shard_lines import lines

import bbpe
from bbpe.shards import merge, state, status
from bbpe.shards.plan import open_plan

EOS = "</s>"
TEXTS = ["low", "lower low", "", None, "lowest"] * 8


def shards_of(folder: Path, tok: bbpe.Tokenizer, **options: Any) -> bbpe.Shards:
    """Three parts at least, with records that have no document."""
    path = lines(folder / "a.jsonl", TEXTS)
    done = bbpe.shard(path, folder / "out", tok, **{"eos": EOS, "part_size": 300, "threads": 1, **options})
    assert len(done.plan) > 2
    return done


def cut(name: str, size: int) -> Callable[[Path], None]:
    """Remove some bytes of the end of a file."""

    def damage(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:-size])

    return damage


def removed(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def longer_last_document(folder: Path) -> None:
    lengths = np.fromfile(folder / "part-00001.lens", "<i4")
    lengths[-1] += 1
    lengths.tofile(folder / "part-00001.lens")


def divided_last_document(folder: Path) -> None:
    """The same ids, in one document more."""
    lengths = np.fromfile(folder / "part-00001.lens", "<i4")
    assert lengths[-1] > 1
    np.array([*lengths[:-1], 1, lengths[-1] - 1], "<i4").tofile(folder / "part-00001.lens")


def a_token_less(folder: Path) -> None:
    path = folder / "part-00001.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "tokens": record["tokens"] - 1}))


def shuffled(shards: bbpe.Shards) -> Any:
    return bbpe.merge_shards([shards], shards.plan.folder.with_name("all"), shuffle=1)


def joined(shards: bbpe.Shards) -> Any:
    return bbpe.merge_shards([shards], shards.plan.folder.with_name("all"))


def mixed(shards: bbpe.Shards) -> Any:
    return bbpe.merge_shards([(shards, 1)], shards.plan.folder.with_name("all"), tokens=20)


def last_window(shards: bbpe.Shards) -> Any:
    rows = shards.windows(2)
    return [rows[number] for number in range(len(rows))]


def with_positions(shards: bbpe.Shards) -> Any:
    rows = shards.windows(2, columns=["position_ids"])
    return [rows[number] for number in range(len(rows))]


DAMAGES: dict[str, tuple[Callable[[Path], None], Callable[[bbpe.Shards], Any], str]] = {
    "windows without a record": (removed("part-00001.json"), last_window, r"part 1 is missing; run bbpe\.shard again"),
    "bins without a record": (removed("part-00002.json"), lambda shards: shards.bins(50, ragged=True),
        r"part 2 is missing; run bbpe\.shard again"),
    "windows of other tokens": (a_token_less, last_window,
        r"parts have 24 documents of {all_less} ids; expected {all} ids"),
    "windows of fewer ids": (cut("part-00001.bin", 2), last_window, r"out: part 1 has {t_less} ids; expected {t}$"),
    "bins of other lengths": (longer_last_document, lambda shards: shards.bins(50, ragged=True),
        r"out: part 1 has {d} documents of {t_more} ids; expected {t} ids"),
    "bins of more documents": (divided_last_document, lambda shards: shards.bins(50, ragged=True),
        r"out: part 1 has {d_more} documents of {t} ids; expected {t} ids"),
    "bins of fewer documents": (cut("part-00001.lens", 4), lambda shards: shards.bins(50, ragged=True),
        r"out: part 1 has {d_less} documents of {t_cut} ids; expected {t} ids"),
    "windows of other lengths": (longer_last_document, with_positions,
        r"out: part 1 has documents of {t_more} ids; expected {t}"),
    "a mixture without a record": (removed("part-00001.json"), mixed, r"part-00001: the part is missing; run bbpe\.sh"),
    "a mixture of fewer documents": (cut("part-00001.lens", 4), mixed,
        r"part-00001\.lens: the file has {d_less} documents; the record has {d}$"),
    "a shuffle of fewer ids": (cut("part-00001.bin", 2), shuffled,
        r"part-00001: the files are not those of the record; verify the shards"),
    "a merge of fewer documents": (cut("part-00001.lens", 4), joined,
        r"part-00001: the files are not those of the record; verify the shards"),
    "an origin of fewer numbers": (cut("part-00001.rows", 4), lambda shards: [shards.source(n) for n in range(24)],
        r"part-00001\.rows: the file has {rows_less} numbers?; expected {rows}"),
    "ids of a part": (longer_last_document, lambda shards: shards.part(1),
        r"part-00001\.lens: the documents have {t_more} ids together; expected {t}$"),
    "documents of a conversion": (longer_last_document,
        lambda shards: bbpe.convert_shards(shards, shards.plan.folder.with_name("all"), format="olmo"),
        r"part-00001\.lens: the documents have {t_more} ids together; expected {t}$"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_the_part_that_was_damaged_is_named(name: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    damage, read, message = DAMAGES[name]
    shards = shards_of(tmp_path, tok)
    sizes = [len(tok.encode(text)) + 1 for text in TEXTS if text]
    d, first = len(shards.part(1)[1]), len(shards.part(0)[1])
    t, rows = sum(sizes[first : first + d]), (tmp_path / "out/part-00001.rows").stat().st_size // 4
    message = message.format(
        d=d, d_less=d - 1, d_more=d + 1, t=t, t_less=t - 1, t_more=t + 1, t_cut=t - sizes[first + d - 1],
        all=sum(sizes), all_less=sum(sizes) - 1, rows=rows, rows_less=rows - 1,
    )  # fmt: skip
    read(bbpe.load_shards(tmp_path / "out"))
    if (tmp_path / "all").exists():
        for path in (tmp_path / "all").iterdir():
            path.unlink()
    damage(tmp_path / "out")
    with pytest.raises(bbpe.CorpusError, match=message):
        read(bbpe.load_shards(shards.plan.folder))


def test_ids_that_no_tokenizer_has_are_no_text(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    shards_of(tmp_path, tok)
    ids = np.fromfile(tmp_path / "out/part-00001.bin", np.uint16)
    ids[0] = 60_000
    ids.tofile(tmp_path / "out/part-00001.bin")
    with pytest.raises(bbpe.CorpusError, match=r"part-00001: .*60000.* of the tokenizer that the shards keep"):
        bbpe.count_shards(tmp_path / "out", pattern="gpt2")


def test_a_part_without_documents_has_no_token(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low", *[None] * 40, "lower"])
    done = bbpe.shard(path, tmp_path / "out", tok, part_size=200, threads=1)
    empty = [number for number in range(len(done.plan)) if not len(done.part(number)[1])]
    assert len(empty) >= 2
    for number in empty:
        with pytest.raises(ValueError, match=f"token is 0; part {number} has no documents"):
            done.document_at(number, 0)
    assert (done.document_at(0, 0), done.document_at(len(done.plan) - 1, 0)) == (0, 1)
    assert [ids.tolist() for ids in done] == [tok.encode("low"), tok.encode("lower")]


def test_a_part_that_ends_while_its_folder_is_listed(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the list of files and a look at one of them, it may have been published, or removed to be made again."""
    shards_of(tmp_path, tok)
    plan = open_plan(tmp_path / "out")
    count, stale = len(plan), state.listing(plan.folder)
    assert stale.done == set(range(count))
    stale.done.discard(1)
    stale.temporary[1] = [".part-00001.bin.0123.tmp"]
    stale.failed.add(1)
    monkeypatch.setattr(status, "listing", lambda folder: stale)
    (plan.folder / "part-00000.json").unlink()
    found = bbpe.shards_status(plan)
    assert (found.done, found.running, found.failed, found.missing) == (count - 2, (), (), (0, 1))
    assert found.again == "0-1"
    parts = [bbpe.load_shards(plan).part(number)[1] for number in range(2, count)]
    assert found.totals.documents == sum(map(len, parts)) > 0


def test_a_file_of_a_part_that_goes_while_it_is_looked_at(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards_of(tmp_path, tok)
    plan = open_plan(tmp_path / "out")

    def gone(plan: bbpe.ShardPlan, record: Any) -> str:
        if record.part == 1:
            raise FileNotFoundError(2, "No such file", "part-00001.bin")
        return ""

    monkeypatch.setattr(status, "lost_file", gone)
    found = bbpe.shards_status(plan)
    assert (found.done, found.missing, found.failed) == (len(plan) - 1, (1,), ())


@pytest.mark.parametrize("is_done", [True, False])
def test_a_merge_that_another_run_has_done_meanwhile(
    is_done: bool, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run has removed the files of this one; if it has not done all, that is an error."""
    shards_of(tmp_path, tok)
    whole = merge._merge

    def beaten(*arguments: Any) -> None:
        if is_done:
            whole(*arguments)
        raise FileNotFoundError(2, "No such file", "part")

    monkeypatch.setattr(merge, "_merge", beaten)
    if is_done:
        assert bbpe.merge_shards([tmp_path / "out"], tmp_path / "all", shuffle=1).documents == 24
        return
    with pytest.raises(FileNotFoundError):
        bbpe.merge_shards([tmp_path / "out"], tmp_path / "all", shuffle=1)


def shards_of_chats(folder: Path, form: str) -> tuple[bbpe.Tokenizer, bbpe.Shards]:
    """Eight chats, in one part with masks."""
    pytest.importorskip("jinja2")
    template = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    bbpe.train_from_iterator(["low lower"], 260, special_tokens=[EOS]).save(folder / "tokenizer.json")
    (folder / "chat_template.jinja").write_text(template)
    tok = bbpe.load(folder)
    chats = [{"messages": [{"role": "assistant", "content": "low " * number}]} for number in range(1, 9)]
    (folder / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in chats))
    done = bbpe.shard(folder / "a.jsonl", folder / "out", tok, messages_field="messages", format=form, eos=EOS)
    assert len(done.masks(0)) == done.tokens
    return tok, done


def test_masks_that_do_not_fit_their_ids(tmp_path: Path) -> None:
    tok, done = shards_of_chats(tmp_path, "olmo")
    # shards of texts have none, and cannot be merged with those
    lines(tmp_path / "b.jsonl", ["low"])
    bbpe.shard(tmp_path / "b.jsonl", tmp_path / "texts", tok, format="olmo", eos=EOS)
    with pytest.raises(bbpe.CorpusError, match="shards with masks in one of them alone cannot be merged"):
        bbpe.merge_shards([tmp_path / "out", tmp_path / "texts"], tmp_path / "all")
    path = tmp_path / "out/part-00000.mask"
    path.write_bytes(path.read_bytes() + b"\1")
    with pytest.raises(bbpe.CorpusError, match=rf"the masks have {done.tokens + 1} numbers; expected {done.tokens}"):
        done.masks(0)


def the_index_of_the_ids(path: Path) -> None:
    path.write_bytes(path.with_name("part-00000.idx").read_bytes())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (the_index_of_the_ids, "ids are uint16; expected uint8"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), r"part-00000\.mask\.idx"),
        (lambda path: path.unlink(), r"part-00000\.mask\.idx"),
    ],
)
def test_masks_of_megatron_have_an_index_of_their_own(
    damage: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    """It is looked at although the masks alone would do: Megatron reads masks by it."""
    done = shards_of_chats(tmp_path, "megatron")[1]
    damage(tmp_path / "out/part-00000.mask.idx")
    with pytest.raises((bbpe.CorpusError, FileNotFoundError), match=message):
        done.masks(0)
