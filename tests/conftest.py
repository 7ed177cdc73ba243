"""Fixtures: real text and real vocabularies, from `../shared` beside the checkout or from installed packages."""

from __future__ import annotations

import gc
import lzma
import multiprocessing
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from caches import ROOM
from fresh import calls_folder
from hypothesis import HealthCheck, settings
from plain_texts import use_plain_texts
from public_texts import public_text
from public_vocabs import put_public
from published import PUBLISHED, RANK_FILES, SHARED
from skips import counted, summary_of, too_many
from small_blocks import small_blocks
from small_published import make_bare
from strings import adversarial_strings

import bbpe

__all__ = ["calls_folder"]

# the benchmarks are those of the checkout; last, so that the package is the one that is under test
sys.path.append(str(Path(__file__).resolve().parents[1]))

# a shell's jobs in the background ignore Ctrl-C, and so would all processes that tests interrupt
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

use_plain_texts()
settings.register_profile(
    "deterministic", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deterministic")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--count-skips", action="store_true", help="fail when more tests are skipped than skips.py allows")
    parser.addoption("--site", metavar="FOLDER", help="build the site in this folder, and keep it")
    parser.addoption("--share", metavar="K/N", help="of every N tests, by a checksum of their names, those of share K")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a share of the tests, the same in every process."""
    if config.getoption("share"):
        number, count = map(int, config.getoption("share").split("/"))
        assert 0 <= number < count
        items[:] = [item for item in items if crc32(item.nodeid.encode()) % count == number]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay: the garbage collector need not look through them, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def skipped(config: pytest.Config) -> Counter[str]:
    """How many tests were skipped, by cause."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = [] if reporter is None else reporter.stats.get("skipped", [])
    return counted(report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if session.config.getoption("count_skips") and exitstatus == 0 and too_many(skipped(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    causes = skipped(terminalreporter.config)
    terminalreporter.write_line(summary_of(causes))
    if terminalreporter.config.getoption("count_skips"):
        for cause in too_many(causes):
            terminalreporter.write_line(f"too many skipped: {cause}", red=True)


def shared_by_workers(factory: pytest.TempPathFactory) -> Path:
    """The temporary folder that all workers have."""
    folder = factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def unpacked(path: Path, target: Path) -> Path:
    """An .xz file decompressed, unless another process has done so."""
    if not target.exists():
        partial = target.with_name(f"{target.name}.{os.getpid()}")
        with lzma.open(path) as source, partial.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        partial.replace(target)
    return target


@pytest.fixture(scope="session", autouse=True)
def _no_tables() -> Iterator[None]:
    """Tests leave the user's cache alone; those of finished tables name a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bbpe.tables.store.user_folder", lambda: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _small_blocks() -> Iterator[None]:
    """What takes a second block of real size needs none here."""
    with small_blocks():
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """`corpus("en", 100_000)`: the first 100,000 bytes of a real text, cut at a character's border.

    Without `../shared` it comes from packages, and is shorter if they have less: 60,000 bytes at least.
    """
    read: dict[tuple[str, int], str] = {}
    folder = shared_by_workers(tmp_path_factory)

    def first(name: str, size: int | None = None) -> str:
        path = SHARED / "corpora" / f"{name}.txt.xz"
        if not path.exists():
            public = public_text(name)
            if public is None:
                pytest.skip(f"no real text {name} beside the checkout or in a package")
            return public[:size].decode("utf-8", "ignore")
        if size is None:  # too large to keep in memory
            return unpacked(path, folder / f"{name}.txt").read_bytes().decode("utf-8", "ignore")
        if (name, size) not in read:
            with lzma.open(path) as file:
                read[name, size] = file.read(size).decode("utf-8", "ignore")
        return read[name, size]

    return first


@pytest.fixture(scope="session")
def vocab_path(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`vocab_path("o200k_base.tiktoken")`: a real vocabulary, decompressed where it is kept as .xz."""
    folder, shared = tmp_path_factory.mktemp("vocabs"), shared_by_workers(tmp_path_factory) / "unpacked"
    shared.mkdir(exist_ok=True)

    def find(name: str) -> Path:
        kept = SHARED / "vocabs" / name
        packed = kept.with_name(name + ".xz")
        target = folder / name
        if target.exists():
            return target
        if packed.exists():
            return unpacked(packed, shared / name)
        if kept.is_file():
            return kept
        if kept.is_dir():
            target.mkdir()
            for part in sorted(kept.iterdir()):
                if part.suffix == ".xz":
                    with lzma.open(part) as source, (target / part.stem).open("wb") as file:
                        shutil.copyfileobj(source, file)
                else:
                    shutil.copy(part, target)
            return target
        if put_public(name, target):
            return target
        pytest.skip(f"no vocabulary {name} beside the checkout or in a package")

    return find


@pytest.fixture(scope="session")
def tok_of() -> Callable[[str], bbpe.Tokenizer]:
    """`tok_of("cl100k")`: a small tokenizer with that pattern, special tokens, and merges across classes."""
    text = "".join(adversarial_strings(300, seed=23))
    specials = ["<s>", "<s>>", "<|end|>", "é<"]
    return cache(lambda pattern: bbpe.train_from_iterator([text], 600, pattern=pattern, special_tokens=specials))


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, on a machine with no published vocabulary, where the name "small" is known (small_published.py)."""
    return make_bare(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def processes() -> Iterator[Executor]:
    """Processes for slow peers that hold the interpreter lock; started when something is submitted."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="session")
def real(vocab_path: Callable[[str], Path]) -> Callable[[str], bbpe.Tokenizer]:
    """`real("o200k_base")`: a published tokenizer."""
    return cache(lambda name: bbpe.load(vocab_path(RANK_FILES.get(name, name))))


@pytest.fixture(scope="session")
def tiktoken_of(real: Callable[[str], bbpe.Tokenizer]) -> Callable[[str], Any]:
    """`tiktoken_of("o200k_base")`: the same ranks, special tokens and regex in tiktoken."""
    tiktoken = pytest.importorskip("tiktoken")

    def make(name: str) -> Any:
        tok = real(name)
        pat_str = PUBLISHED.get(tok.pattern, tok.spec.pattern.steps[0])
        return tiktoken.Encoding(
            name, pat_str=pat_str, mergeable_ranks=tok.ranks, special_tokens=tok.special_tokens
        )

    return cache(make)


@pytest.fixture
def limit() -> Iterator[Callable[[int], None]]:
    """`limit(n)` sets the limit of all caches; ample at first, as it was when the test is over."""
    before = bbpe.train_from_iterator(["a"], 256).cache_info().limit
    bbpe.set_cache_limit(0)  # what other tests have left in caches would give way within this one
    bbpe.set_cache_limit(ROOM)
    yield bbpe.set_cache_limit
    bbpe.set_cache_limit(before)
