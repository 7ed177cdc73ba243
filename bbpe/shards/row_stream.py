"""Iterations over rows for training that can be stored, and continued by other numbers of processes and workers.

Each batch of an epoch, and of the epochs after it, has a number.  Ranks take turns, and so do the workers of a rank:

    step       0           1           2           3
    worker     0           1           0           1         2 workers in each rank
    rank       0  1  2     0  1  2     0  1  2     0  1  2   world = 3
    rows       0B 1B 2B    3B 4B 5B    6B ...                B = batch

`DataLoader` takes a batch from each worker in turn as well, so that after any number of batches the rows that
were given are the first ones of the whole.  A state is how many these are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..lazy import safe_import
from ..records import kind, whole
from ..text import counted

#: The version of stored states, and what they have.
_VERSION = 1
_KEYS = ("version", "epoch", "at", "rest", "batch", "worker", "rows", "shards", "options")
#: The most rows that are made at once.
_AT_ONCE = 64


class Ordered(Protocol):
    """Rows in the order of an epoch."""

    epoch: int

    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    def digest(self) -> str:
        """The digest of what rows are made of."""

    @property
    def options(self) -> dict[str, Any]:
        """The options that decide which ids a row has."""

    def _rows_at(self, places: Sequence[int], epoch: int) -> list[Any]:
        """Return the rows at some places of an epoch."""


class RowStream:
    """The rows of one process of several, as `Windows.stream` and `Bins.stream` return them.

    An iteration begins at the position of the stream, and ends with its epochs; the next one begins the next epoch.
    Within a worker of a torch `DataLoader` the stream gives the rows of that worker.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("abcdefghi")
        ...     rows = bbpe.shard(folder + "/a.txt", folder + "/out", tok).windows(2)
        ...     stream = rows.stream(rank=1, world=2)
        ...     [row["input_ids"].tolist() for row in stream], stream.state_dict()["epoch"]
        ([[66, 67], [70, 71]], 1)

    """

    def __init__(self, rows: Ordered, *, rank: int, world: int, batch: int, epochs: int | None) -> None:
        """Check the arguments, and begin at the epoch of the rows."""
        self.rows = rows
        self.world = whole("world", world, 1)
        self.rank = whole("rank", rank, 0, self.world - 1, detail=f", as world is {self.world}")
        self.batch = whole("batch", batch, 1)
        self.epochs = None if epochs is None else whole("epochs", epochs, 1, expected="an int or None")
        #: The rows of the whole that were given before `epoch` and in it, and of the next batch of this worker.
        self._epoch, self._at, self._rest = rows.epoch, 0, 0
        #: The worker that the state is of, and how many there are; None for the whole.
        self._worker: tuple[int, int] | None = None
        self._turn = 0

    def __reduce__(self) -> tuple[Any, ...]:
        options = {"rank": self.rank, "world": self.world, "batch": self.batch, "epochs": self.epochs}
        return _stream_again, (self.rows, options, self._state())

    def __repr__(self) -> str:
        return f"<bbpe.RowStream: {self.rows!r}, rank {self.rank} of {self.world}>"

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of an epoch.

        Args:
            epoch: The number of the epoch, from 0.

        Raises:
            ValueError: The number is negative.
            TypeError: `epoch` is no int.
        """
        self._epoch, self._at, self._rest = whole("epoch", epoch, 0), 0, 0
        self._worker = None
        self._turn += 1

    def __iter__(self) -> Iterator[Any]:
        worker, workers = self._check_worker()
        self._turn += 1
        return self._give(self._turn, worker, workers)

    def _check_worker(self) -> tuple[int, int]:
        """Return which worker this is and how many there are; `ValueError` when the state is of another one."""
        here = _worker()
        if self._worker is not None and self._worker != here:
            raise ValueError(
                f"the state is of worker {self._worker[0]} of {self._worker[1]}, and this is worker {here[0]} of "
                f"{here[1]}; stream.state_dict(batches) in the main process is a state for any number of workers"
            )
        return here

    def _give(self, turn: int, worker: int, workers: int) -> Iterator[Any]:
        count, batch, world = len(self.rows), self.batch, self.world
        base, rest = self._epoch * count + self._at, self._rest
        self._worker = (worker, workers) if workers > 1 else None
        last = None if self.epochs is None else (self._epoch // self.epochs + 1) * self.epochs * count
        while count and (last is None or base < last):
            first = base + (worker * world + self.rank) * batch
            stop = first + batch if last is None else min(first + batch, last)
            while first + rest < stop:
                places = range(first + rest, min(first + rest + _AT_ONCE, stop))
                for row in self._made(places, count):
                    if self._turn != turn:
                        raise RuntimeError("the stream was begun again, or got another state; this iteration is over")
                    rest += 1
                    if rest == batch:
                        self._epoch, self._at, self._rest = *_divided(base + batch * world * workers, count, last), 0
                    else:
                        self._epoch, self._at, self._rest = *_divided(base, count, last), rest
                    yield row
            base, rest = base + batch * world * workers, 0
        if count and self._turn == turn and last is not None:
            self._epoch, self._at, self._rest, self._worker = *_divided(last, count, last), 0, None

    def _made(self, places: range, count: int) -> list[Any]:
        """Return rows by their numbers in all epochs."""
        made: list[Any] = []
        first = places.start
        while first < places.stop:
            epoch, at = divmod(first, count)
            stop = min(places.stop, (epoch + 1) * count)
            made += self.rows._rows_at(range(at, at + stop - first), epoch)
            first = stop
        return made

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Return the position of the stream, as numbers and texts that JSON can hold.

        Args:
            batches: The batches that this rank has got from workers of a `DataLoader` since the stream was made or
                loaded.  By default the state is that of the iteration in this process.

        Returns:
            The state: `at` counts the rows of the whole that were given in `epoch`, by all ranks together.

        Raises:
            ValueError: `batches` is negative, or the iteration in this process has begun a batch.
            TypeError: `batches` is no int.
        """
        if batches is None:
            return self._state()
        given = whole("batches", batches, 0, expected="an int or None")
        if self._worker is not None or self._rest:
            raise ValueError(f"batches is {given}, and this process is within a batch of its own; leave batches= out")
        state, count = self._state(), len(self.rows)
        last = None if self.epochs is None else (self._epoch // self.epochs + 1) * self.epochs * count
        if count:
            done = self._epoch * count + self._at + given * self.batch * self.world
            state["epoch"], state["at"] = _divided(done, count, last)
        return state

    def _state(self) -> dict[str, Any]:
        worker = None if self._worker is None else list(self._worker)
        return {
            "version": _VERSION, "epoch": self._epoch, "at": self._at, "rest": self._rest, "batch": self.batch,
            "worker": worker, "rows": len(self.rows), "shards": self.rows.digest, "options": self.rows.options,
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to the position of a stream of the same rows; its rank, world, batch and number of workers may differ.

        Args:
            state: The state, as `state_dict` returned it.

        Raises:
            ValueError: The state is of other rows, or was taken within a batch of another layout.
            TypeError: `state` is no dict.
        """
        kind("state", state, Mapping, "what state_dict returned")
        missing = [name for name in _KEYS if name not in state]
        if missing or state["version"] != _VERSION:
            lacks = ", ".join(missing) or f"version {_VERSION}"
            raise ValueError(f"state lacks {lacks}; expected what state_dict returned")
        more = [name for name in state if name not in _KEYS]
        if more:
            raise ValueError(f"state has {more[0]!r:.60}; expected what state_dict returned, {', '.join(_KEYS)}")
        kind("state['options']", state["options"], Mapping, "the options of rows, as state_dict returned them")
        batch, worker = whole("state['batch']", state["batch"], 1), _worker_of(state["worker"])
        mine = self._state()
        before, now = (
            {"shards": one["shards"], **one["options"], "number of rows": one["rows"]} for one in (state, mine)
        )
        found = [f"{name} {before.get(name)!r} and {now.get(name)!r}" for name in {**before, **now}
                 if before.get(name) != now.get(name)]  # fmt: skip
        if found:
            shown = "; ".join(found)
            raise ValueError(f"the state is of other rows: {shown}; make the rows as they were, or begin anew")
        rest = whole("state['rest']", state["rest"], 0, batch - 1)
        if rest and batch != self.batch:
            raise ValueError(
                f"the state was taken {counted(rest, 'row')} into a batch of {batch}; batch is {self.batch}: "
                f"make the stream with batch={batch}, or take the state between batches"
            )
        epoch = whole("state['epoch']", state["epoch"], 0)
        at = whole("state['at']", state["at"], 0, max(mine["rows"] - 1, 0))
        self._epoch, self._at, self._rest = epoch, at, rest
        self._worker = worker
        self._turn += 1

    def torch_dataset(self) -> Any:
        """Return the stream as a `torch.utils.data.IterableDataset`, with its state.

        Returns:
            The data set, for `DataLoader` with `batch_size=batch`, and for torchdata's `StatefulDataLoader`.

        Raises:
            ImportError: There is no torch.
        """
        return _torch_dataset(self)


def _divided(done: int, count: int, last: int | None) -> tuple[int, int]:
    """Return the epoch and the rows in it after so many rows of all epochs."""
    return divmod(done if last is None else min(done, last), count)


def _worker() -> tuple[int, int]:
    """Return which worker of a `DataLoader` this process is, and how many there are; (0, 1) for none."""
    torch_data = sys.modules.get("torch.utils.data")
    info = None if torch_data is None else torch_data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


def _worker_of(stored: Any) -> tuple[int, int] | None:
    """Return the worker that a state is of, and how many there are; `None` for a state of all."""
    if stored is None:
        return None
    if not isinstance(stored, list | tuple) or len(stored) != 2:
        raise ValueError(f"state['worker'] is {stored!r}; expected None, or a worker and the number of workers")
    workers = whole("state['worker'][1]", stored[1], 1)
    return whole("state['worker'][0]", stored[0], 0, workers - 1), workers


def _stream_again(rows: Ordered, options: dict[str, Any], state: dict[str, Any]) -> RowStream:
    stream = RowStream(rows, **options)
    stream.load_state_dict(state)
    return stream


def _torch_dataset(stream: RowStream) -> Any:
    safe_import("torch.utils.data")
    from torch.utils.data import IterableDataset

    class StreamDataset(IterableDataset):  # type: ignore[misc]
        def __init__(self) -> None:
            self.stream = stream

        def __iter__(self) -> Iterator[Any]:
            return iter(self.stream)

        def __reduce__(self) -> tuple[Any, ...]:
            return _torch_dataset, (self.stream,)

        def state_dict(self) -> dict[str, Any]:
            return self.stream.state_dict()

        def load_state_dict(self, state: Mapping[str, Any]) -> None:
            self.stream.load_state_dict(state)

    return StreamDataset()
