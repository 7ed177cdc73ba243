"""Touch free memory and give it back, so that who asks for memory next finds it: `python -m benchmarks.free_memory`.

A virtual machine gives large pages that nobody has to its host two seconds and more after they were freed, and getting
one back takes it 4.6 instead of 0.1 ms (measured on one with free page reporting). How much of that a process meets
depends on what ran before it: a cold pass of 8 MB took 30 ms or 85.
"""

import mmap
import subprocess
import sys

SIZE = 512 << 20


def touch() -> None:
    # shared memory, which is what mmap takes otherwise, is of small pages
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        memory[:: mmap.PAGESIZE] = bytes(SIZE // mmap.PAGESIZE)


def touch_elsewhere() -> None:
    """Have another process do it, so that this one's peak stays its own."""
    subprocess.run([sys.executable, "-m", __name__], check=True)


if __name__ == "__main__":
    touch()
