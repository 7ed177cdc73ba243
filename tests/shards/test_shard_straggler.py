"""One worker that is slow holds up no other part, and the files are those of an undisturbed run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bbpe
from bbpe.shards.plan import open_plan
from bbpe.shards.run import totals_of_part

PARTS, SLOW = 40, 3


class OneIsSlow(ThreadPoolExecutor):
    """64 workers, of which one waits before its part until all others are done; it counts the parts done by then."""

    def __init__(self, folder: Path) -> None:
        super().__init__(64)
        self.folder, self.lock = folder, threading.Lock()
        self.handed_out: list[int] = []
        self.done = 0
        self.others_are_done = threading.Event()
        self.done_before_the_slow_one = -1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **keywords: Any) -> Future[Any]:
        (number,) = args
        self.handed_out.append(number)

        def work() -> Any:
            if number == SLOW:
                assert self.others_are_done.wait(60)
                self.done_before_the_slow_one = self.done
            totals = totals_of_part(open_plan(self.folder), number)
            with self.lock:
                self.done += 1
                if self.done == PARTS - 1:
                    self.others_are_done.set()
            return totals

        return super().submit(work)


def test_a_slow_worker_holds_up_no_other_part(tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["low lower lowest"], 270, special_tokens=["<|endoftext|>"])
    lines = [json.dumps({"text": f"low lower {number} " * 9}) for number in range(2000)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    size = (tmp_path / "a.jsonl").stat().st_size
    options: dict[str, Any] = {"eos": "<|endoftext|>", "part_size": size // PARTS + 1}
    right = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "right", tok, threads=1, **options)
    with OneIsSlow(tmp_path / "out") as executor:
        done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok, executor=executor, **options)
    assert executor.done_before_the_slow_one == PARTS - 1
    assert sorted(executor.handed_out) == list(range(PARTS))
    assert (done.documents, done.tokens) == (right.documents, right.tokens) == (2000, right.tokens)
    for path in (tmp_path / "right").glob("part-*.bin"):
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()
    assert len(list((tmp_path / "right").glob("part-*.bin"))) == PARTS
