"""Streams: every row once whatever the ranks and workers, and states that others continue."""

from __future__ import annotations

import json
import pickle
import random
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import bbpe
from bbpe.shards.row_stream import RowStream


class Numbers:
    """Rows that are their epoch and place."""

    epoch = 0

    def __init__(self, count: int, digest: str = "d", **options: Any) -> None:
        self.count, self.digest, self.options = count, digest, {"rows": "windows", "n": 8, "shuffle": 7, **options}

    def __len__(self) -> int:
        return self.count

    def _rows_at(self, places: Any, epoch: int) -> list[tuple[int, int]]:
        assert all(0 <= place < self.count for place in places)
        return [(epoch, place) for place in places]


def stream_of(count: int = 100, state: dict[str, Any] | None = None, **options: Any) -> RowStream:
    stream = RowStream(Numbers(count), **{"rank": 0, "world": 1, "batch": 1, "epochs": 1, **options})
    if state is not None:
        stream.load_state_dict(json.loads(json.dumps(state)))
    return stream


class Loader:
    """The batches that torch's `DataLoader` gives of a stream: of each worker in turn, each with a copy of it."""

    def __init__(self, stream: RowStream, size: int, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.copies = [pickle.loads(pickle.dumps(stream)) for _ in range(max(workers, 1))]
        self.iterators = []
        self.size, self.workers, self.patch = size, workers, monkeypatch
        for number, copy in enumerate(self.copies):
            with self.within(number):
                self.iterators.append(iter(copy))

    def within(self, number: int) -> Any:
        context = self.patch.context()
        info = SimpleNamespace(id=number, num_workers=self.workers) if self.workers else None
        patch = context.__enter__()
        patch.setitem(sys.modules, "torch.utils.data", SimpleNamespace(get_worker_info=lambda: info))
        return _Leave(context)

    def __iter__(self) -> Any:
        running = list(range(len(self.copies)))
        while running:
            for number in list(running):
                with self.within(number):
                    batch = [row for _, row in zip(range(self.size), self.iterators[number], strict=False)]
                if len(batch) < self.size:
                    running.remove(number)
                if batch:
                    yield batch


class _Leave:
    def __init__(self, context: Any) -> None:
        self.context = context

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None:
        self.context.__exit__(*error)


def taken(stream: RowStream, size: int, workers: int, batches: int | None, patch: pytest.MonkeyPatch) -> list[Any]:
    """The rows of the first batches; of a worker's batch no more is taken than the loader takes."""
    found: list[Any] = []
    if batches == 0:
        return found
    for number, batch in enumerate(Loader(stream, size, workers, patch), 1):
        found += batch
        if number == batches:
            break
    return found


def test_states_are_continued_by_other_ranks_and_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 50 random places with random layouts before and after, all rows of both epochs come exactly once."""
    draw = random.Random(11)
    for _ in range(50):
        count, epochs = draw.randrange(1, 200), draw.choice([1, 2])
        world, batch, workers = draw.randrange(1, 6), draw.randrange(1, 9), draw.randrange(5)
        most = count * epochs // (world * batch)
        steps = draw.randrange(most + 1)
        found, states = [], []
        for rank in range(world):
            stream = stream_of(count, rank=rank, world=world, batch=batch, epochs=epochs)
            found += taken(stream, batch, workers, steps, monkeypatch)
            states.append(stream.state_dict(steps))
        assert all(state == states[0] for state in states)
        assert len(found) == steps * world * batch == states[0]["epoch"] * count + states[0]["at"]
        if len(found) == count * epochs:
            continue
        world, batch, workers = draw.randrange(1, 6), draw.randrange(1, 9), draw.randrange(5)
        for rank in range(world):
            stream = stream_of(count, states[0], rank=rank, world=world, batch=batch, epochs=epochs)
            found += taken(stream, batch, workers, None, monkeypatch)
        assert sorted(found) == [(epoch, place) for epoch in range(epochs) for place in range(count)]


def test_an_iteration_is_stored_at_each_row() -> None:
    for epochs, batch in ((1, 1), (2, 1), (1, 4), (2, 7)):
        every = list(stream_of(23, epochs=epochs, batch=batch))
        stream = stream_of(23, epochs=epochs, batch=batch)
        for at, row in enumerate(stream, 1):
            assert row == every[at - 1]
            rest = list(stream_of(23, stream.state_dict(), epochs=epochs, batch=batch)) if at < len(every) else []
            assert rest == every[at:]
            again = pickle.loads(pickle.dumps(stream))
            assert list(again)[: len(every) - at] == every[at:]


def test_iterations_go_on_with_the_next_epoch() -> None:
    stream = stream_of(5, epochs=2)
    assert list(stream) == [(epoch, place) for epoch in (0, 1) for place in range(5)]
    assert [epoch for epoch, _ in stream] == [2] * 5 + [3] * 5
    stream.set_epoch(9)
    assert next(iter(stream)) == (9, 0)
    endless = iter(stream_of(3, epochs=None, rank=1, world=2))
    assert [next(endless) for _ in range(5)] == [(0, 1), (1, 0), (1, 2), (2, 1), (3, 0)]
    assert list(stream_of(0)) == []


def test_only_the_last_iteration_goes_on() -> None:
    stream = stream_of(9)
    first = iter(stream)
    next(first)
    assert next(iter(stream)) == (0, 1)
    with pytest.raises(RuntimeError, match="the stream was begun again, or got another state"):
        next(first)


def test_a_state_of_other_rows_is_refused() -> None:
    state = stream_of(9).state_dict()
    other = RowStream(Numbers(8, "e", n=4), rank=0, world=1, batch=1, epochs=1)
    with pytest.raises(ValueError, match=r"shards 'd' and 'e'; n 8 and 4; number of rows 9 and 8; make the rows"):
        other.load_state_dict(state)
    wrong: list[tuple[type[Exception], str, Any]] = [
        (TypeError, "state must be what state_dict returned, not list", [1]),
        (ValueError, "state lacks version, epoch", {}),
        (ValueError, "state lacks version 1;", {**state, "version": 2}),
        (ValueError, r"state\['at'\] is 9; expected 0 to 8", {**state, "at": 9}),
        (ValueError, r"state\['epoch'\] is -1", {**state, "epoch": -1}),
        (ValueError, r"taken 2 rows into a batch of 4; batch is 1: .* batch=4", {**state, "batch": 4, "rest": 2}),
        (TypeError, r"state\['batch'\] must be an int, not NoneType", {**state, "batch": None}),
        (TypeError, r"state\['options'\] must be the options of rows", {**state, "options": [1]}),
        (ValueError, r"state\['worker'\] is 1; expected None, or", {**state, "worker": 1}),
        (ValueError, r"state\['worker'\]\[0\] is 9; expected 0 to 2", {**state, "worker": [9, 3]}),
        (TypeError, r"state\['worker'\]\[1\] must be an int, not str", {**state, "worker": ["0", "1"]}),
    ]
    for error, message, given in wrong:
        with pytest.raises(error, match=message):
            stream_of(9).load_state_dict(given)
    # what a failed call leaves is the state before
    stream = stream_of(9)
    next(iter(stream))
    with pytest.raises(ValueError, match="state"):
        stream.load_state_dict({**state, "at": 9, "epoch": 5})
    assert next(iter(stream)) == (0, 1)


def test_a_state_of_a_worker_is_for_that_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = Loader(stream_of(40, batch=4), 4, 2, monkeypatch)
    batches = iter(loader)
    found = [next(batches) for _ in range(5)]
    states = [copy.state_dict() for copy in loader.copies]
    again = Loader(stream_of(40, batch=4), 4, 2, monkeypatch)
    for number, copy in enumerate(again.copies):
        copy.load_state_dict(states[number])
        with again.within(number):
            again.iterators[number] = iter(copy)
    rest = list(again)
    assert sorted(row for batch in [*found, *rest] for row in batch) == [(0, place) for place in range(40)]
    with pytest.raises(ValueError, match=r"the state is of worker 1 of 2, and this is worker 0 of 1; stream"):
        iter(stream_of(40, states[1], batch=4))
    with pytest.raises(ValueError, match="batches is 3, and this process is within a batch of its own"):
        stream_of(40, states[1], batch=4).state_dict(3)


def test_wrong_numbers_are_named() -> None:
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "rank is 2; expected 0 to 1, as world is 2", {"rank": 2, "world": 2}),
        (ValueError, "world is 0; expected at least 1", {"world": 0}),
        (ValueError, "rank is -1; expected 0 to 1, as world is 2", {"rank": -1, "world": 2}),
        (ValueError, "batch is 0; expected at least 1", {"batch": 0}),
        (TypeError, "batch must be an int, not float", {"batch": 1.5}),
        (ValueError, "epochs is 0; expected at least 1", {"epochs": 0}),
    ]
    for error, message, given in wrong:
        with pytest.raises(error, match=message):
            stream_of(5, **given)
    with pytest.raises(ValueError, match="batches is -1"):
        stream_of(5).state_dict(-1)


class IterableDataset:
    """The class of torch that data sets have for a base."""


def test_a_data_set_of_torch_has_the_rows_and_the_state_of_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    data = ModuleType("torch.utils.data")
    monkeypatch.setattr(data, "IterableDataset", IterableDataset, raising=False)
    monkeypatch.setattr(data, "get_worker_info", lambda: None, raising=False)
    for module in (ModuleType("torch"), ModuleType("torch.utils"), data):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    stream = stream_of(7, batch=2)
    dataset: Any = stream.torch_dataset()
    assert IterableDataset in type(dataset).__mro__
    rows = iter(dataset)
    assert [next(rows) for _ in range(3)] == [(0, 0), (0, 1), (0, 2)]
    state = dataset.state_dict()
    assert state == stream.state_dict()
    assert (state["at"], state["rest"]) == (2, 1)
    # a copy in a worker goes on where the stream was, and both are continued by the state of another
    for later in (pickle.loads(pickle.dumps(dataset)), dataset):
        later.load_state_dict(json.loads(json.dumps(state)))
        assert list(later) == [(0, place) for place in range(3, 7)]
    other = stream_of(7, batch=2).torch_dataset()
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert list(other) == [(0, place) for place in range(3, 7)]


def test_shown_streams_say_whose_they_are() -> None:
    stream = stream_of(7, rank=1, world=3)
    assert repr(stream) == f"<bbpe.RowStream: {stream.rows!r}, rank 1 of 3>"


def test_a_state_has_nothing_more() -> None:
    state = stream_of(9).state_dict()
    for key in state:
        less = {name: value for name, value in state.items() if name != key}
        with pytest.raises(ValueError, match=rf"^state lacks {key}; expected what state_dict returned$"):
            stream_of(9).load_state_dict(less)
    with pytest.raises(ValueError, match=r"^state has 'more'; expected what state_dict returned, version, epoch, at"):
        stream_of(9).load_state_dict({**state, "more": 1})
    with pytest.raises(ValueError, match=r"^the state is of other rows: labels 'same' and None; make the rows"):
        stream_of(9).load_state_dict({**state, "options": {**state["options"], "labels": "same"}})
    for rest in (4, 9):
        with pytest.raises(ValueError, match=rf"state\['rest'\] is {rest}; expected 0 to 3"):
            stream_of(9, batch=4).load_state_dict({**state, "batch": 4, "rest": rest})
    empty = stream_of(0)
    empty.load_state_dict(empty.state_dict())
    assert empty.state_dict(5) == empty.state_dict() == {**empty.state_dict(), "at": 0, "epoch": 0, "rows": 0}


def test_streams_of_shards_have_every_row(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest " * 40)
    done = bbpe.shard(tmp_path / "a.txt", tmp_path / "out", tok, threads=1)
    rows = done.windows(3, shuffle=5)
    every = [row["input_ids"].tolist() for row in rows]
    found = [[row["input_ids"].tolist() for row in rows.stream(rank=rank, world=3)] for rank in range(3)]
    assert [found[place % 3][place // 3] for place in range(len(rows))] == every
    state = rows.stream().state_dict()
    with pytest.raises(ValueError, match="shuffle 5 and 6"):
        done.windows(3, shuffle=6).stream().load_state_dict(state)
    again = pickle.loads(pickle.dumps(rows.stream(rank=1, world=3)))
    assert [row["input_ids"].tolist() for row in again] == found[1]
