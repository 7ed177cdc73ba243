"""A child that is forked while another thread makes a first call can make any call."""

from __future__ import annotations

from pathlib import Path

import pytest
from first_calls import CALLS
from fresh import needs_fork, run

#: A thread makes a first call, and a child is forked at some moments of it.  Each of its own children, which have what
#: it has, makes another call.  Prints the pairs in which one of these hangs, fails, or gives something else than a
#: child of a process without threads.
MATRIX = """
    import os, pickle, signal, sys, threading, time, warnings
    from pathlib import Path
    moments, libraries, is_warm = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "warm"
    if libraries == "with":
        import concurrent.futures.thread, hashlib, json, logging, numpy, regex
    warnings.simplefilter("ignore")  # Python warns about forks in processes with threads
    import bbpe, first_calls
    from first_calls import CALLS


    def started():
        tok = first_calls.load(Path())
        if is_warm:
            tok.warm_up()
        return lambda name: repr(CALLS[name](tok, Path())).encode()

    def forked(work, seconds=20):
        # what `work` returns in a child, or how the child ended
        read, write = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(seconds)
            with open(write, "wb") as file:
                file.write(work())
            os._exit(0)
        os.close(write)
        with open(read, "rb") as file:
            found = file.read()
        status = os.waitpid(child, 0)[1]
        return b"status %d" % status if status else found

    def once(name):
        call, start = started(), time.perf_counter()
        found = call(name)
        return b"%f %b" % (time.perf_counter() - start, found)

    def at(moment, first, others):
        call = started()
        thread = threading.Thread(target=call, args=(first,))
        thread.start()
        time.sleep(moment)
        found = forked(lambda: pickle.dumps([forked(lambda: call(other)) for other in others]), 600)
        thread.join()
        return found

    names = [sys.argv[4].split(","), sys.argv[5].split(",")]
    alone = {name: forked(lambda: once(name)).partition(b" ")[::2] for name in {*names[0], *names[1]}}
    for first in names[0]:
        for number in range(moments):
            moment = float(alone[first][0]) * (number + 0.5) / moments
            found = pickle.loads(forked(lambda: at(moment, first, names[1]), 1200))
            for other, result in zip(names[1], found, strict=True):
                if result != alone[other][1]:
                    print(first, other, number, result[:80], flush=True)
"""


def matrix(folder: Path, moments: int, libraries: str, warm: str, firsts: list[str], others: list[str]) -> str:
    return run(MATRIX, folder, str(moments), libraries, warm, ",".join(firsts), ",".join(others), seconds=36_000)


_FULL = ("save", "encode_with_offsets", "fingerprint", "as_tiktoken")
FULL = [pytest.param(call, marks=pytest.mark.full) for call in _FULL]


@needs_fork
@pytest.mark.parametrize("call", ["decode", "lint", *FULL])
def test_a_child_forked_in_a_first_call_makes_the_same_call(call, calls_folder):
    assert not matrix(calls_folder, 3, "without", "cold", [call], [call])


@needs_fork
def test_a_child_forked_in_a_first_call_makes_another(calls_folder):
    firsts, others = ["encode_batch_to_numpy", "train"], ["chunk", "save"]
    assert not matrix(calls_folder, 1, "without", "cold", firsts, others)


@needs_fork
@pytest.mark.long
@pytest.mark.parametrize("libraries", ["with", "without"])
@pytest.mark.parametrize("warm", ["warm", "cold"])
@pytest.mark.parametrize("call", CALLS)
def test_a_child_forked_in_any_first_call_makes_any_other(libraries, warm, call, calls_folder):
    assert not matrix(calls_folder, 20, libraries, warm, [call], list(CALLS))


#: Python looks for its temporary folder while a child is forked, which needs that folder too.
SEARCH = """
    import os, signal, tempfile, threading, time
    from pathlib import Path
    import first_calls

    search, has_begun = tempfile._get_default_tempdir, threading.Event()
    def slowly():
        has_begun.set()
        time.sleep(0.2)
        return search()

    tempfile._get_default_tempdir = slowly
    tok = first_calls.load(Path())
    thread = threading.Thread(target=first_calls.FILES["save"], args=(tok, Path()))
    thread.start()
    has_begun.wait()
    child = os.fork()
    if not child:
        signal.alarm(10)
        first_calls.FILES["save"](tok, Path())
        os._exit(0)
    thread.join()
    print(os.waitpid(child, 0)[1])
"""


@needs_fork
def test_a_fork_waits_for_the_search_of_the_temporary_folder(calls_folder):
    assert run(SEARCH, calls_folder) == "0\n"
