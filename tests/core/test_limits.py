"""Where the system gives little: small stacks, no more threads, memory that is counted before it is used, forks."""

from __future__ import annotations

import gc
import os
import signal
import sys
import sysconfig
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from test_lent import in_process

import bbpe
from bbpe.core import helper
from bbpe.core.tasks import Tasks
from bbpe.counting import counter
from bbpe.threads import (
    MOST_THREADS,
    Workers,
    check_threads,
    imap,
    run,
    run_in_thread,
    run_threads,
    thread_count,
)  # fmt: skip

TEXT = "héllo wörld 你好 some other words 12345 " * 60_000

STACK = """
import platform
import sys
import threading
import numpy as np
import bbpe
texts = ["h\\u00e9llo w\\u00f6rld \\u4f60\\u597d some other words, 12345! " * 300] * 40
text = "".join(texts) * 3
more = "\\n".join(chr(97 + i % 26) * (i % 90) + chr(0x4e00 + i) for i in range(3000))

def journey(pattern, **options):
    tok = bbpe.train_from_iterator(texts, 400, pattern=pattern)
    ids = tok.encode(text)
    assert tok.decode(ids) == text and tok.decode_bytes(ids) == text.encode()
    assert tok.encode_to_numpy(text.encode(), **options).tolist() == ids
    assert tok.count_tokens(text, **options) == len(ids)
    assert tok.encode_batch(texts, **options)[3] == tok.encode(texts[0])
    rows = tok.encode_batch_to_numpy(texts, **options)
    assert tok.decode_batch(rows, **options) == texts
    assert list(tok.encode_with_offsets(text)[0]) == ids
    assert tok.encode(more) == list(tok.encode_iterable([more]))
    assert list(tok.count_tokens_batch(texts)) == [len(tok.encode(texts[0]))] * len(texts)
    bbpe.count_from_iterator(texts, pattern=pattern, **options)
    return tok

def unigram():
    tok = bbpe.train_from_iterator(texts, 300, model="unigram")
    assert len(tok.encode_batch(texts)) == len(texts)
    tok = bbpe.train_from_iterator(texts, 300, model="wordpiece")
    assert len(tok.encode_batch(texts)) == len(texts)

# what Python itself does for the first time, such as importing, takes more
journey("gpt2", threads=2), journey(r"\\\\w+|\\\\W", threads=2), unigram()
# 3.14 and later free no containers, views of buffers among them, in the last half of so small a stack
# (and Arm has none so small)
threading.stack_size((64 if sys.version_info < (3, 14) and platform.machine() != "aarch64" else 128) << 10)
failed = []
threading.excepthook = lambda args: failed.append(args.exc_value)
for work in (lambda: journey("gpt2"), lambda: journey("o200k", threads=3), lambda: journey(r"\\\\w+|\\\\W"), unigram):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
assert not failed, failed
print("alive")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="stacks grow in other steps")
def test_a_stack_of_64_kilobytes_is_enough() -> None:
    assert in_process(STACK) == "alive\n"


@pytest.fixture(params=[0, 1, 2])
def few_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A system that starts so many threads and no more."""
    most: int = request.param
    started: list[int] = []

    def counted(start: Callable[..., Any], *args: Any) -> Any:
        if len(started) >= most:
            raise RuntimeError("can't start new thread")
        started.append(1)
        return start(*args)

    helper.end_idle()
    begin = helper.start_new_thread
    monkeypatch.setattr(helper, "start_new_thread", lambda *args: counted(begin, *args))
    yield most
    helper.end_idle()


CALLS: dict[str, Callable[[bbpe.Tokenizer, Path], object]] = {
    "encode_to_numpy": lambda tok, _: tok.encode_to_numpy(TEXT, threads=4).tolist(),
    "count_tokens": lambda tok, _: tok.count_tokens(TEXT, threads=3),
    "decode": lambda tok, _: tok.decode(np.resize(np.arange(256, 290), 1_500_000), threads=3),
    "decode_batch": lambda tok, _: tok.decode_batch([range(256, 290)] * 5000, threads=3),
    "encode_batch": lambda tok, _: tok.encode_batch([TEXT[:5000]] * 90, threads=3),
    "encode_batch_to_numpy": lambda tok, _: tok.encode_batch_to_numpy([TEXT[:5000]] * 90, threads=3).ids.tolist(),
    "by a regex": lambda tok, _: bbpe.Tokenizer(tok.spec).encode_batch(
        [TEXT[:500]] * 9, allowed_special="all", threads=3
    ),
    "count": lambda _, path: list(bbpe.count([path] * 40, pattern="gpt2", threads=3)),
    "count_from_iterator": lambda _, __: list(
        bbpe.count_from_iterator([TEXT[at : at + 90_000] for at in range(0, 900_000, 9_000)], pattern="gpt2", threads=3)
    ),
    "unigram": lambda _, __: (
        bbpe.train_from_iterator([TEXT[:9000]], 300, model="unigram", counting=bbpe.Counting(threads=3)).spec.vocab
    ),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[bbpe.Tokenizer, Path, dict[str, object]]:
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text(TEXT[:200_000], "utf-8")
    tok = bbpe.train_from_iterator([TEXT[:4000]], 300, special_tokens=["<s>"])
    return tok, path, {name: call(tok, path) for name, call in CALLS.items()}


@pytest.mark.parametrize("name", CALLS)
def test_without_more_threads_those_that_are_there_do_it(
    name: str, few_threads: int, answers: tuple[bbpe.Tokenizer, Path, dict[str, object]]
) -> None:
    tok, path, expected = answers
    assert CALLS[name](tok, path) == expected[name], few_threads


def test_maps_and_work_without_more_threads(few_threads: int) -> None:
    assert list(imap(lambda number: number**2, iter(range(200)), 3)) == [number**2 for number in range(200)]
    with pytest.raises(ZeroDivisionError):
        list(imap(lambda number: 1 // number, [1, 0, 1], 3))
    assert run_in_thread(lambda: few_threads) == few_threads
    called: list[int] = []
    run_threads(called.append, 5, lambda error: pytest.fail(str(error)))
    assert sorted(called) == [0, 1, 2, 3, 4]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell")
def test_there_are_threads_for_the_processors_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, cores, count in (({0, 3, 5}, 8, 3), ({7}, 8, 1), (set(), 8, 8), (set(), None, 1)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, found=processors: found)
        monkeypatch.setattr(os, "cpu_count", lambda found=cores: found)
        assert thread_count(None) == count
        assert thread_count(2) == 2
    for wrong in (0, -1, MOST_THREADS + 1):
        with pytest.raises(ValueError, match=f"threads is {wrong}; expected 1 to {MOST_THREADS}"):
            check_threads(wrong)
    check_threads(None)
    check_threads(MOST_THREADS)


def test_few_items_are_taken_before_they_are_wanted() -> None:
    """A caller that stops early has not read, and holds, more than twice as many as there are threads."""
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    with closing(cast("Generator[int]", imap(abs, items(), 2))) as results:
        assert taken == []
        for wanted in range(5):
            assert next(results) == wanted
            assert len(taken) == wanted + 4
        assert list(results) == list(range(5, 100))


def test_workers_raise_the_first_error() -> None:
    begun, both, failed = threading.Event(), threading.Event(), threading.Event()

    def first(_: int) -> None:
        begun.set()
        both.wait(20)
        failed.set()
        raise ValueError("the first")

    def second(_: int) -> None:
        failed.wait(20)
        time.sleep(0.05)
        raise ValueError("the second")

    with Workers([0, 1]) as workers:
        workers.put(first)
        assert begun.wait(20)
        workers.put(second)
        both.set()
        with pytest.raises(ValueError, match="the first"):
            workers.finish()
        with pytest.raises(ValueError, match="the first"):
            workers.put(second)


def test_what_a_helper_raises_is_raised_where_it_is_waited_for() -> None:
    """It serves on: nobody waits for ever."""

    def fail() -> None:
        raise MemoryError(str(threading.get_ident()))

    helper.end_idle()
    with pytest.raises(MemoryError) as raised:
        run_in_thread(fail)
    assert run_in_thread(threading.get_ident) == int(str(raised.value))


@pytest.mark.parametrize("where", [0, 1])
def test_an_error_while_an_error_is_told_reaches_the_caller(where: int) -> None:
    """After all threads have ended, for they use what the caller may free."""
    ended: list[int] = []

    def work(number: int) -> None:
        if number == where:
            raise ValueError("first")
        ended.append(number)

    def stop(_: BaseException) -> None:
        raise MemoryError("second")

    with pytest.raises(MemoryError, match="second"):
        run_threads(work, 3, stop)
    assert len(ended) == (0 if where == 0 else 2) + (2 if where == 0 else 0)


def test_the_first_error_of_tasks_is_raised_once() -> None:
    tasks, held = Tasks(100, 100, 3), type("Held", (), {})()
    gone = weakref.ref(held)

    def work(number: int, held: object = held) -> None:
        raise KeyError(number)

    with pytest.raises(KeyError):
        run(tasks, work)
    tasks.raise_error()
    del work, held
    gc.collect()
    assert gone() is None


def test_a_count_ends_when_its_sums_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that runs out where a part is noted as done."""
    texts = [TEXT[at : at + 90_000] for at in range(0, 900_000, 9_000)]

    class Full(counter.Summary):
        def __add__(self, other: object) -> counter.Summary:
            raise MemoryError("for want of memory")

    monkeypatch.setattr(counter, "Summary", Full)
    before = threading.active_count()
    with pytest.raises(MemoryError, match="for want of memory"):
        bbpe.count_from_iterator(texts, pattern="gpt2", threads=3)
    assert threading.active_count() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_count_leaves_no_thread(error: type[BaseException]) -> None:
    texts, before = [TEXT[at : at + 90_000] for at in range(0, 900_000, 9_000)], threading.active_count()

    def interrupt(progress: bbpe.Progress) -> None:
        if progress.done > 200_000:
            raise error

    with pytest.raises(error):
        bbpe.count_from_iterator(texts * 3, pattern="gpt2", threads=3, progress=interrupt)
    assert threading.active_count() == before


def test_interrupted_work_is_stopped_and_waited_for() -> None:
    stopped, ended = threading.Event(), threading.Event()

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        # Python loses a signal whose exception is raised in a finalizer, so there is another one after a while
        while not stopped.wait(1):
            signal.raise_signal(signal.SIGINT)
        ended.set()

    # jobs that a shell starts in the background ignore the signal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_in_thread(work, stopped.set)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.skipif(
    sys.version_info < (3, 14) and bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="needs fork: a child of 3.13t never gets the locks of Python that another thread had",
)
def test_a_child_is_fit_whatever_threads_do_to_caches_at_the_fork(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """Threads that hold, clear and measure caches when the process forks exist no longer in the child."""
    code = """
import os, signal, threading, warnings
import bbpe
warnings.simplefilter("ignore")
tok = bbpe.train_from_iterator(["see my eyes"], 260)
text = "see my eyes" * 1_500
ids = tok.encode(text)
started, may_go = threading.Barrier(4), threading.Event()
def work(call):
    started.wait()
    while not may_go.is_set():
        call()
calls = [lambda: tok.encode(text), tok.cache_info, tok.clear_cache]
threads = [threading.Thread(target=work, args=(call,)) for call in calls]
for thread in threads: thread.start()
started.wait()
codes = set()
for _ in range(5):
    child = os.fork()
    if not child:
        signal.alarm(20)
        tok.cache_info(), tok.clear_cache()
        os._exit(0 if tok.encode(text) == ids and tok.encode_batch([text] * 2, threads=2) == [ids] * 2 else 1)
    codes.add(os.waitpid(child, 0)[1])
may_go.set()
for thread in threads: thread.join()
print(codes)
"""
    assert in_process(code) == "{0}\n"


COMMITTED = """
import resource, sys
import numpy as np
import bbpe
tok = bbpe.train_from_iterator(["see my eyes first, see my dogs" * 3] * 9, 300)
one = b"see my eyes first, see my dogs\\n" * 32
text = (one * ((240 << 20) // len(one))).decode() if sys.argv[1:] == ["str"] else one * ((240 << 20) // len(one))
ids = np.array(tok.encode(one), np.uint32)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
held = int(status["VmData"].split()[0]) << 10
# of 240 MB of text the ids take 4 bytes each, and might take 960 MB
resource.setrlimit(resource.RLIMIT_DATA, (held + (700 << 20),) * 2)
for threads in (1, 2):
    found = tok.encode_to_numpy(text, threads=threads)
    assert np.array_equal(found[: len(ids)], ids) and len(found) == len(ids) * (len(text) // len(one))
    del found
print("alive")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of memory that may be written to")
def test_ids_take_no_more_memory_than_they_are() -> None:
    """Not even where the system counts all memory that may be written to, as with strict overcommit."""
    assert in_process(COMMITTED) == "alive\n"


ADVICE = """
import ctypes, re
import numpy as np
import bbpe
def advised(place):
    for area in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", open("/proc/self/smaps").read())[1:]:
        start, end = (int(part, 16) for part in area.split()[0].split("-"))
        if start <= place < end:
            return "hg" in re.search(r"VmFlags:(.*)", area)[1].split()
    raise AssertionError(place)
tok = bbpe.train_from_iterator(["see my eyes first, see my dogs" * 3] * 9, 300)
text = "see my eyes first, see my dogs\\n" * 400_000
ids = tok.encode_to_numpy(text)
assert advised(ids.ctypes.data)
data, back, listed = tok.decode_bytes(ids), tok.decode(ids), ids.tolist()
assert back == text == tok.decode(listed)
rows = ctypes.c_void_p.from_address(id(listed) + list.__basicsize__ - 16).value
# the list itself and its ints are in memory for small objects, for which Python 3.15 asks for huge pages
assert not any(advised(place + 4096) for place in (id(data), id(back), rows))
assert not any("hg" in line.split() and "[heap]" in area for area in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )",
    open("/proc/self/smaps").read()) for line in area.splitlines() if line.startswith("VmFlags"))
print("alive")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs what Linux says of memory")
@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="there are no huge pages")
def test_huge_pages_are_asked_for_in_our_own_memory_alone() -> None:
    assert in_process(ADVICE) == "alive\n"


class Thing:
    ids: list[Any]


LISTS: dict[str, Callable[[bbpe.Tokenizer], list[int]]] = {
    "encode": lambda tok: tok.encode("see my dogs"),
    "encode of much": lambda tok: tok.encode("see my dogs " * 120_000),
    "encode with special tokens": lambda tok: tok.encode("see <s> dogs", allowed_special="all"),
    "encode_batch": lambda tok: tok.encode_batch(["see", "my dogs"])[1],
    "encode_batch by threads": lambda tok: tok.encode_batch(["see my dogs " * 9000] * 20, threads=2)[7],
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_ids_are_lists_to_the_collector(name: str) -> None:
    """One that comes to hold what holds it is found."""
    tok = bbpe.train_from_iterator(["see my eyes first, see my dogs"], 270, special_tokens=["<s>"])
    thing = Thing()
    thing.ids = LISTS[name](tok)
    assert gc.is_tracked(thing.ids)
    thing.ids.append(thing)
    seen = weakref.ref(thing)
    del thing
    gc.collect()
    assert seen() is None
