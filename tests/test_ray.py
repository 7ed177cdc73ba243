"""Ray as an executor: what it asks of Ray, by one that does the work at once, and a cluster where Ray is installed."""

from __future__ import annotations

import json
import sys
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bbpe
from bbpe.ray import RayExecutor


class FakeRay(ModuleType):
    """Eight processors, whose tasks are done when they are asked for."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.options: list[dict[str, Any]] = []
        self.is_there = False

    def is_initialized(self) -> bool:
        return self.is_there

    def init(self) -> None:
        self.is_there = True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 8.0}

    def remote(self, **options: Any) -> Any:
        self.options.append(options)

        def make(function: Any) -> Any:
            class Task:
                def remote(self, *arguments: Any) -> Task:
                    self.result = function(*arguments)
                    return self

                def future(self) -> Future[Any]:
                    future: Future[Any] = Future()
                    future.set_result(self.result)
                    return future

            return Task()

        return make


def test_tasks_have_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    with RayExecutor(num_cpus=2, max_retries=5) as executor:
        assert ray.is_there
        assert executor._max_workers == 4
        assert executor.submit(int, "11", base=2).result() == 3
        assert list(executor.map(abs, [-1, -2])) == [1, 2]
    assert ray.options == [{"num_cpus": 2, "max_retries": 5}] * 3
    assert RayExecutor()._max_workers == 8


@pytest.mark.parametrize(
    ("each", "processors", "tasks"), [(1, 8.0, 8), (0.5, 8.0, 16), (3, 8.0, 2), (16, 8.0, 1), (0, 8.0, 8), (1, None, 1)]
)
def test_as_many_tasks_as_the_cluster_has_processors_for(
    each: float, processors: float | None, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least one, which Ray starts when there are more nodes."""
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {} if processors is None else {"CPU": processors})
    assert RayExecutor(num_cpus=each)._max_workers == tasks


def test_a_cluster_that_is_there_is_used_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    ray.is_there = True
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(ray, "init", lambda: pytest.fail("there is a cluster"))
    with RayExecutor() as executor:
        executor.submit(abs, -1)
    assert ray.is_there
    assert ray.options == [{"num_cpus": 1}]


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'bbpe\[ray\]'"):
        RayExecutor()


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_writes_shards(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": f"low {n}"}) + "\n" for n in range(300)))
    tok = bbpe.train_from_iterator(["low lower"], 258)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with RayExecutor() as executor:
            done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok, executor=executor, part_size=900)
    finally:
        ray.shutdown()
    one = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "one", tok, part_size=900)
    assert len(done.plan) > 3
    for path in one.plan.folder.glob("part-*"):
        assert path.read_bytes() == (done.plan.folder / path.name).read_bytes()
