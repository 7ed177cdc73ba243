"""Exceptions from handlers of signals at random moments leave no thread and no file, and break no call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import first_calls
import pytest

import bbpe

#: Makes calls while a handler raises; prints threads and files that are left, and whether the next call is right.
STORM = """
    import gc, os, random, signal, sys, tempfile, time
    from pathlib import Path
    import bbpe, first_calls
    from bbpe.core import helper

    name, seconds = sys.argv[1], float(sys.argv[2])
    helper._PATIENCE = 200_000
    call, chance = {**first_calls.METHODS, **first_calls.FILES, **first_calls.FUNCTIONS}[name], random.Random(5)
    folder = Path().absolute()
    out = Path("out").absolute()
    out.mkdir(), Path("tmp").mkdir()
    tempfile.tempdir = str(Path("tmp").absolute())
    first_calls.new = lambda folder, name: out / name
    first_calls.LONG, first_calls.TEXTS = first_calls.LONG[:200_000], first_calls.TEXTS[:30]
    tok = first_calls.load(folder)
    sys.unraisablehook = id  # nothing to print where a handler raises while a generator is closed

    class Boom(Exception):
        pass

    def handle(*_):
        if is_armed:
            raise Boom

    is_armed, booms = False, 0
    signal.signal(signal.SIGALRM, handle)
    want = repr(call(tok, folder))
    start = time.perf_counter()
    call(tok, folder)
    span = time.perf_counter() - start
    helper.end_idle()
    files = lambda: {path for path in out.rglob("*")} | {path for path in Path("tmp").rglob("*")}
    held = lambda: [len(os.listdir(f"/proc/self/{what}")) for what in ("task", "fd")]
    before, known, end = held(), files(), time.monotonic() + seconds
    while time.monotonic() < end:
        signal.setitimer(signal.ITIMER_REAL, chance.random() * span * 1.2 + 1e-6, max(span / 30, 0.0002))
        try:
            is_armed = True
            call(tok, folder)
        except Exception as error:
            booms += 1
        finally:
            is_armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    gc.collect()
    for _ in range(100):  # idle threads end themselves after a moment
        left = [max(0, now - then) for now, then in zip(held(), before)]
        if not any(left):
            break
        time.sleep(0.05)
    print(left, sorted(map(str, files() - known)))
    assert booms and repr(call(tok, folder)) == want
"""

THREADED = ["encode_to_numpy", "encode_batch", "encode_batch_to_numpy", "encode_padded", "count_tokens", "decode_batch"]
THREADED += ["count", "count_from_iterator", "train", "train_from_iterator", "train unigram", "shard", "encode_files"]
THREADED += ["save", "save folder", "save gpt2", "load", "load_counts", "merge_shards", "evaluate", "lint"]
SHORT = ("encode_padded", "train_from_iterator", "save folder", "shard", "load")

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")


def storm(folder: Path, name: str, seconds: float) -> None:
    first_calls.prepare(folder)
    paths = os.pathsep.join([str(Path(first_calls.__file__).parent), str(Path(bbpe.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", "if True:" + STORM, name, str(seconds)], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": paths}, timeout=600, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
    assert done.stdout == "[0, 0] []\n"


@needs_proc
@pytest.mark.parametrize("name", SHORT)
def test_exceptions_of_handlers_leave_nothing(name: str, tmp_path: Path) -> None:
    storm(tmp_path, name, 0.4)


@needs_proc
@pytest.mark.long
@pytest.mark.parametrize("name", THREADED)
def test_exceptions_of_handlers_leave_nothing_in_the_long_run(name: str, tmp_path: Path) -> None:
    storm(tmp_path, name, 5)
