"""Why tests are skipped: each cause with the most tests that it may keep from running in a bare clone.

With `--count-skips`, which `make test` says, a run fails when a cause exceeds its number or has none.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable

#: A skip of more than this many tests would be a promise that nobody but us can check.
MOST = 60

_SYSTEM = (
    r"/proc|/dev/full|needs (?:fork|POSIX|SIGKILL|root|Linux)|no such signal|mkfifo|pipes with (?:a )?names?"
    r"|only root|root alone|no file may be so large|file system does not allow|no bash|could not import 'resource'"
    r"|POSIX|RLIMIT|no fork|no devices|whose size lies|needs links|affinities|allocator|sanitizer|C compiler|huge pages"
    r"|level of instructions"
    r"|limit of memory|Linux says|stacks grow|the system does not tell|a shell and its|begins where this one is"
)
#: Reasons as pytest tells them, and what to call them; `{}` is the first group.
_REASONS = (
    (_SYSTEM, "this system"),
    (r"could not import '(\w+)", "no {}"),
    (r"module '(\w+)' has __version__", "old {}"),
    (r"^(\w+) is not installed", "no {}"),
    (r"no vocabulary ([\w.]+?)(?:\.(?:tiktoken|tokenizer\.json|json|model))? ", "no vocabulary {}"),
    (r"no real text|no corpora", "no real text"),
    (r"packages of the group docs", "no mkdocs"),
    (r"needs Chromium", "no Chromium"),
    (r"needs axe-core", "no axe-core"),
    (r"no mypy", "no mypy"),
    (r"no nm", "no nm"),
    (r"needs a checkout", "no checkout"),
    (r"a build for tests", "a build for tests"),
    (r"unicodedata2 knows", "another unicodedata2"),
    (r"the loader refuses such a file", "a loader that refuses"),
)
#: Of the tests that `make test` runs without `../shared`, on Linux; other systems lack more.
ALLOWED = {
    "no vocabulary llama3": 17,  # its licence lets no light package have it
    "no vocabulary deepseek_v3": 10,  # the packages that have it are heavy
    "no mkdocs": 5,  # `make docs` runs these
    "no Chromium": 19,
    "this system": 4,
    "no mypy": 1,  # `make lint` has it
    "no torch": 1,
    "no nm": 1,
    "a build for tests": 1,
    "a loader that refuses": 1,
}


def cause_of(reason: str) -> str:
    """What a reason is counted as: itself when no cause is known for it."""
    for pattern, cause in _REASONS:
        found = re.search(pattern, reason)
        if found is not None:
            return cause.format(*found.groups())
    return reason


def counted(reasons: Iterable[str]) -> Counter[str]:
    return Counter(cause_of(reason.removeprefix("Skipped: ")) for reason in reasons)


def summary_of(causes: Counter[str]) -> str:
    """One line: how many, and of each cause."""
    each = ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
    return f"{causes.total()} skipped: {each}" if each else "none skipped"


def too_many(causes: Counter[str]) -> list[str]:
    """The causes that keep more tests from running than they may."""
    return [f"{cause}: {count}, at most {ALLOWED.get(cause, 0)}" for cause, count in causes.items()
            if count > ALLOWED.get(cause, 0) and (cause != "this system" or sys.platform == "linux")]  # fmt: skip
