#!/usr/bin/env bash
# pyarrow 26.0.1 (23.0.1 and 25.0.0 too): `import pyarrow` alone starts a thread, so Python 3.12 and later warn at every fork.
#
# Nothing has been read or computed. The thread is that of jemalloc, which is compiled in, although the memory pool in use is
# mimalloc's, and it never ends. A program of one thread that has imported pyarrow, perhaps through pandas or another library,
# and that forks, as multiprocessing with "fork" does, gets "This process is multi-threaded, use of fork() may lead to deadlocks
# in the child": an error for those who turn warnings into errors.
#
# Seen (Linux x86-64; 3.11.7 has no such warning):
#   Python 3.12.1: threads without pyarrow python; warnings at a fork 0
#   Python 3.12.1: threads with pyarrow 26.0.1 (mimalloc) jemalloc_bg_thd, python; warnings at a fork 1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1
cat > "$folder/see.py" <<'PYTHON'
import os
import platform
import sys
import warnings

about = "without pyarrow"
if sys.argv[1:] == ["pyarrow"]:
    import pyarrow

    about = f"with pyarrow {pyarrow.__version__} ({pyarrow.default_memory_pool().backend_name})"
names = sorted(open(f"/proc/self/task/{each}/comm").read().strip() for each in os.listdir("/proc/self/task"))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always", DeprecationWarning)
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
forks = [each for each in told if "multi-threaded" in str(each.message)]
print(f"Python {platform.python_version()}: threads {about} {', '.join(names)}; warnings at a fork {len(forks)}")
has_thread = "jemalloc_bg_thd" in names
if has_thread != (len(sys.argv) > 1) or len(forks) != (has_thread and sys.version_info >= (3, 12)):
    sys.exit("the behaviour has changed")
PYTHON
"$folder/venv/bin/python" "$folder/see.py"
"$folder/venv/bin/python" "$folder/see.py" pyarrow
