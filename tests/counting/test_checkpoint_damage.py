"""The folder of a checkpoint that was damaged: the right counts, or an error that names the file."""

from __future__ import annotations

import copy
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from half_counts import count, error_of, make_corpus, make_half, save_states_quickly

import bbpe
from bbpe.corpus.rowfiles import RunReader
from bbpe.counting import checkpoint
from bbpe.progress import Progress

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def states_in_quick_succession(monkeypatch: pytest.MonkeyPatch) -> None:
    save_states_quickly(monkeypatch)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def half(corpus: Path, tmp_path: Path) -> Path:
    return make_half(corpus, tmp_path / "half")


# -- a state that is damaged ---------------------------------------------------------------------------


def sealed(record: dict[str, Any]) -> bytes:
    """A state with the digest that belongs to it, as somebody writes who knows how."""
    return json.dumps({**record, "digest": checkpoint._digest_of(record)}).encode()


def changes(state: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """States that no count writes, and what the error names."""
    bad: list[Any] = [True, -1, 2**70, 1.5, None, "x", [1], {}]
    rows = [(key, {**state, key: new}) for key in ("chunk", "parts") for new in bad]
    rows += [("parts", {**state, "parts": new}) for new in (0, 3, 8, 17, 2048)]
    rows += [("place", {**state, "place": {**state["place"], key: new}}) for key in state["place"] for new in bad]
    rows += [("place", {**state, "place": new}) for new in (None, [], {}, {**state["place"], "more": 1})]
    # the lowest numbers that are too large
    rows += [("chunk", {**state, "chunk": 2**32}), ("place", {**state, "place": {**state["place"], "byte": 2**63}})]
    rows += [("summary", {**state, "summary": {**state["summary"], "bytes": 2**63}})]
    read = state["summary"]
    rows += [("summary", {**state, "summary": {**read, key: new}}) for key in read for new in bad]
    rows += [("summary", {**state, "summary": new}) for new in (None, [], {}, {**read, "more": 1})]
    rows += [("ended", {**state, "ended": new}) for new in (0, 1, "no", None, [], {})]
    rows += [("run", {**state, "runs": new}) for new in (None, {}, "x", [1], [None], [[]], [{}], state["runs"] * 2)]
    (run, *others) = state["runs"]
    names = ["../x.parquet", "/etc/passwd", "", "bbpe-run-00000-0.parquet", "bbpe-part-00000-000000000000.parquet"]
    fields = [("name", new) for new in (*names, 3, None)] + [("bytes", new) for new in bad] + [("digest", 3)]
    rows += [("run", {**state, "runs": [{**run, key: new}, *others]}) for key, new in fields]
    rows += [("run", {**state, "runs": [{**run, "more": 1}, *others]})]
    return rows


def test_every_field_of_a_state_is_checked(half: Path, corpus: Path) -> None:
    path = half / "state.json"
    record = json.loads(path.read_bytes())
    assert len(record["state"]["runs"]) > 1
    for name, state in changes(record["state"]):
        path.write_bytes(sealed({**record, "state": state}))
        with pytest.raises(bbpe.CorpusError, match=rf"state\.json: expected the state of a count.*\b{name}") as caught:
            count(corpus, half)
        assert "delete the folder to start again" in str(caught.value), state
        assert str(path) in str(caught.value)


def test_a_state_that_does_not_fit_the_corpus_is_refused(half: Path, corpus: Path) -> None:
    path = half / "state.json"
    record = json.loads(path.read_bytes())
    for place in ({"source": 4}, {"source": 3, "text": 1}, {"source": 3, "byte": 1}, {"source": 0, "byte": 10**9}):
        state = {**record["state"], "place": {"source": 0, "text": 0, "byte": 0, **place}}
        path.write_bytes(sealed({**record, "state": state}))
        with pytest.raises(bbpe.CorpusError, match=r"state\.json: Position\(.* is not in the corpus, of 3 sources"):
            count(corpus, half)
    path.write_bytes(sealed({**record, "state": {**record["state"], "parts": 1024}}))
    with pytest.raises(bbpe.CorpusError, match=r"bbpe-run-.*: found \d+ parts, and .*state\.json says 1024"):
        count(corpus, half)


def test_a_change_without_its_digest_is_found(half: Path, corpus: Path) -> None:
    path = half / "state.json"
    record = json.loads(path.read_bytes())
    for change in ({"chunk": record["state"]["chunk"] + 1}, {"ended": True}, {"runs": record["state"]["runs"][:-1]}):
        changed = copy.deepcopy(record)
        changed["state"].update(change)
        path.write_text(json.dumps(changed))
        with pytest.raises(bbpe.CorpusError, match=r"state\.json.*digest is of something else; the file was changed"):
            count(corpus, half)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 5_000,
        b'{"a":' * 100_000,
        b'{"version": NaN}',
        b'{"version": 3, "state": {"chunk": Infinity}}',
        b'{"version": 3, "identity": {}, "state": {"chunk": ' + b"9" * 5000 + b"}}",
        b'{"version": 1e999}',
        b"\xff\xfe{}",
        b"null",
        b'"state"',
        b'{"version": 3, "identity": [], "state": {}}',
        b'{"version": 3, "identity": {}, "state": []}',
        b'{"version": true, "identity": {}, "state": {}}',
    ],
    ids=range(12),
)
def test_hostile_json_is_named(content: bytes, half: Path, corpus: Path) -> None:
    (half / "state.json").write_bytes(content)
    with pytest.raises(bbpe.CorpusError, match=r"state\.json: expected the state of a count") as caught:
        count(corpus, half)
    assert len(str(caught.value)) < 1100


# -- runs that are damaged -----------------------------------------------------------------------------


def test_a_run_that_was_changed_is_named(half: Path, corpus: Path) -> None:
    first, second = sorted(half.glob("bbpe-run-*"))[:2]
    whole, other = first.read_bytes(), second.read_bytes()
    for content in (whole[:-1], whole[:100], b"", other, whole + b"x", whole[:50] + b"x" + whole[51:]):
        first.write_bytes(content)
        with pytest.raises(bbpe.CorpusError, match=rf"{first.name}: a file of the checkpoint was changed: .* expected"):
            count(corpus, half)
    first.write_bytes(whole)
    assert count(corpus, half) == bbpe.count(corpus, pattern="gpt2")


def test_a_run_that_changes_while_it_is_counted_on_is_named(half: Path, corpus: Path) -> None:
    """Pages have checksums, so what the disk damages between two readings is found as well."""
    run = min(half.glob("bbpe-run-*"))
    data = bytearray(run.read_bytes())

    def report(progress: Progress) -> None:
        at = len(data) // 2
        run.write_bytes(data[:at] + bytes([data[at] ^ 8]) + data[at + 1 :])

    with pytest.raises(bbpe.CorpusError, match=rf"{run.name}: expected a Parquet file"):
        count(corpus, half, progress=report)


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("flips", [60, pytest.param(2000, marks=pytest.mark.long)])
def test_flipped_bits_change_no_count(flips: int, half: Path, corpus: Path, tmp_path: Path) -> None:
    """The right counts, or an error of ours that names the folder."""
    rng, right = random.Random(flips), bbpe.count(corpus, pattern="gpt2")
    paths = sorted(path.name for path in half.iterdir())
    refused = 0
    for number in range(flips):
        folder = tmp_path / "copy"
        shutil.copytree(half, folder)
        # half of them in the state
        path = folder / ("state.json" if number % 2 else rng.choice(paths))
        data = path.read_bytes()
        path.write_bytes(flipped(data, rng.randrange(8 * len(data))))
        found = list[bbpe.PretokenCounts]()
        error = error_of(lambda folder=folder, found=found: found.append(count(corpus, folder)))
        refused += error is not None
        assert found == [right] if error is None else str(folder) in error
        shutil.rmtree(folder)
    assert refused > flips * 0.85


def test_a_run_reader_names_its_file(half: Path) -> None:
    run = min(half.glob("bbpe-run-*"))
    run.write_bytes(run.read_bytes()[:-20])
    with pytest.raises(bbpe.CorpusError, match=run.name):
        RunReader(run)
