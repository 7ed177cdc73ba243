"""How fast the machine is right now, by arithmetic that needs nothing but processors: `python -m benchmarks.pace`.

Of a virtual machine's processors two may be threads of one core of its host, or one with another machine's.  Each is
as fast as ever while the other one rests and half as fast beside it, which comes and goes within milliseconds, and no
count of CPU time shows it: on such a machine two threads that added up registers took 22 us a round each or 44, and
seldom anything else.  A run is told apart by what the same arithmetic took right before and after it.
"""

import hashlib
import itertools
import os
import threading
import time

#: A run is undisturbed if it was done at a pace of at most so many times the best one.
UNDISTURBED = 1.1
#: Rounds of a thread, about 0.4 ms each; hashing of more than 2 kB releases the GIL.
_ROUNDS, _DATA = 4, bytes(1 << 16)


def pace(threads: int) -> float:
    """Return the seconds of the slowest of so many threads that do the same at once, each on a processor of its own."""
    allowed = os.sched_getaffinity(0)
    begin = threading.Barrier(threads)
    took: list[float] = []

    def work(cpu: int) -> None:
        os.sched_setaffinity(0, {cpu})  # Linux may have a new thread wait behind the one that started it
        begin.wait()
        start = time.perf_counter()
        for _ in range(_ROUNDS):
            # integer arithmetic that fills a core, as the instructions that other hashes have of their own do not
            hashlib.sha3_512(_DATA)
        took.append(time.perf_counter() - start)

    first, *others = itertools.islice(itertools.cycle(sorted(allowed)), threads)
    workers = [threading.Thread(target=work, args=(cpu,)) for cpu in others]
    for worker in workers:
        worker.start()
    work(first)
    for worker in workers:
        worker.join()
    os.sched_setaffinity(0, allowed)
    return max(took)


def undisturbed(costs: list[float], paces: list[float], best: float) -> list[float]:
    """Return the costs of the runs that were undisturbed, by the best pace of any."""
    return [cost for cost, found in zip(costs, paces, strict=True) if found <= UNDISTURBED * best]


if __name__ == "__main__":
    for _ in range(20):
        print(f"one thread {pace(1) * 1e3:.2f} ms, two {pace(2) * 1e3:.2f} ms")
        time.sleep(0.1)
