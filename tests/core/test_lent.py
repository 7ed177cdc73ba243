"""What callers lend, and other threads change meanwhile: refused where it is read, and never followed out of bounds."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from house import PACKAGE
from processes import package_env

import bbpe
from bbpe.core.count import PretokenTable
from bbpe.core.encoder import Encoder
from bbpe.core.ids import TokenBytes
from bbpe.core.parts import Parts
from bbpe.core.rows import hashes, sum_rows, take
from bbpe.core.split import Splitter
from bbpe.core.tasks import Tasks
from bbpe.core.token_table import TokenTable
from bbpe.core.train_words import FrequencyTrainer
from bbpe.core.unigram_train import Pieces
from bbpe.encoding import engine
from bbpe.splitting.scheme import Scheme
from bbpe.threads import run

DATA = b"abc" * 10
FAR = 1 << 40


@pytest.fixture
def encoder(tok_of: Callable[[str], bbpe.Tokenizer]) -> Encoder:
    found: Encoder = tok_of("gpt2")._parts.encoder.encoder
    return found


def ends_of(*ends: int) -> Any:
    return np.array(ends, np.int64)


#: Ends that leave 30 bytes, come before those before them, or both.
BAD_ENDS = [(FAR, 30), (5, 3, 30), (-1, 30), (-FAR, 30), (31,), (30, FAR), (1 << 62, 30), (0, 30, 29)]


def take_ends(encoder: Encoder, ends: Any) -> dict[str, Callable[[], object]]:
    """What takes ends of pretokens."""
    data, one = np.frombuffer(DATA, np.uint8), np.ones(len(ends) - 1, np.uint64)
    return {
        "encode_given": lambda: encoder.encode_given(DATA, ends),
        "count_given": lambda: PretokenTable().count_given(DATA, ends),
        "add_arrays": lambda: PretokenTable().add_arrays(data, ends, one),
        "count_spans": lambda: PretokenTable().count_spans(DATA, ends, ends[::-1].copy(), Splitter(Scheme())),
        "hashes": lambda: hashes(data, ends),
        "take": lambda: take(data, ends, ends_of(0)),
        "sum_rows": lambda: sum_rows(data, ends, one),
        "of_rows": lambda: TokenTable.of_rows(data, ends),
        "Pieces": lambda: Pieces(data, ends, np.zeros(len(ends) - 1), unknown_score=0.0),
        "Parts": lambda: Parts(ends, 30, 1),
        "FrequencyTrainer": lambda: FrequencyTrainer(
            np.zeros(30, np.uint32), ends, np.ones(len(ends), np.uint64), base=1, merge_limit=5
        ),
    }


@pytest.mark.parametrize("bad", [ends for ends in BAD_ENDS if len(ends) > 1], ids=str)
@pytest.mark.parametrize(
    "name",
    [name for name in take_ends(None, ends_of(0, 1)) if name != "Parts"],  # type: ignore[arg-type]
)
def test_ends_that_do_not_fit_are_refused(name: str, bad: tuple[int, ...], encoder: Encoder) -> None:
    with pytest.raises(ValueError, match=r"30|ascending|fit|not within|larger"):
        take_ends(encoder, ends_of(*bad))[name]()


@pytest.mark.parametrize("bad", [(5, 3), (-1, 5), (0, 1 << 60)], ids=str)
def test_bounds_of_parts_that_do_not_fit_are_refused(bad: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=rf"is {max(bad) if bad[1] > 30 else '-?[0-9]+'}, in a text of .* expected"):
        Parts(ends_of(*bad), 30, 1)


def test_parts_of_another_text_are_refused(encoder: Encoder) -> None:
    """Cuts, marks and lengths that are too few, or promise less than the texts have."""
    cuts = ends_of(0, 10, 30)
    for wrong, error in (
        (ends_of(0, 30), ValueError),
        (ends_of(0, 10, 29), RuntimeError),
        (ends_of(20, 10, 30), RuntimeError),
        (ends_of(0, -FAR, 30), RuntimeError),
    ):
        with pytest.raises(error):
            encoder.encode_parts(DATA, wrong, Parts(cuts, 30, 2), 0)
    with pytest.raises(RuntimeError, match="changed"):
        encoder.encode_parts(DATA, cuts, Parts(ends_of(0, 1, 2), 30, 1), 0)
    texts, parts = ["ab", "cd"], Parts(ends_of(0, 2, 4), 4, 2)
    for marks, lengths in (((0, 2), 2), ((0, 1, 2), 1), ((2, 1, 2), 2), ((0, 1, 1 << 40), 2)):
        with pytest.raises(ValueError, match=r"expected one more|is not within"):
            encoder.encode_row_parts(texts, ends_of(*marks), np.zeros(lengths, np.int64), parts, 0)
        parts = Parts(ends_of(0, 2, 4), 4, 2)
    with pytest.raises(ValueError, match="is none of the"):
        encoder.to_list(np.array([1, 1 << 30], np.uint32))


@pytest.mark.parametrize("change", ["shorter", "longer", "empty"])
@pytest.mark.parametrize("name", ["encode_to_numpy", "encode"])
def test_a_bytearray_that_changes_between_threads(
    name: str, change: str, tok_of: Callable[[str], bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the text is cut, and before any thread looks at it."""
    tok, text = tok_of("gpt2"), bytearray(b"hello world, this is text " * 60_000)

    def run_changed(tasks: Tasks, work: Callable[[int], None]) -> None:
        text[1000:] = {"shorter": b"abc", "longer": bytes(text) * 2, "empty": b""}[change]
        run(tasks, work)

    monkeypatch.setattr(engine, "run", run_changed)
    monkeypatch.setattr("bbpe.encoding.engine.thread_count", lambda threads: 2)
    with pytest.raises(RuntimeError, match=r"the text has \d+ bytes, and had 1560000: it was changed while"):
        getattr(tok, name)(text)
    del text[:]  # and nobody looks at it any more


def test_a_bytearray_is_held_while_its_ids_are_counted(
    tok_of: Callable[[str], bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    tok, text = tok_of("gpt2"), bytearray(b"hello world, this is text " * 60_000)

    def run_changed(tasks: Tasks, work: Callable[[int], None]) -> None:
        text[1000:] = b"abc"

    monkeypatch.setattr(engine, "run", run_changed)
    monkeypatch.setattr("bbpe.encoding.engine.thread_count", lambda threads: 2)
    with pytest.raises(BufferError, match="cannot be re-sized"):
        tok.count_tokens(text)
    del text[:]  # and nobody looks at it any more


def test_no_answer_is_half_of_one_text_and_half_of_another(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """While a call looks at a bytearray it keeps its length, as Python has it."""
    tok, text = tok_of("gpt2"), bytearray(b"hello world " * 1000)
    ids = tok.encode(text)
    assert tok.encode(bytes(text)) == ids
    text.extend(b" more")
    assert tok.decode(tok.encode(text)) == text.decode()


RACE = """
import sys, threading
import numpy as np
import bbpe
from bbpe.core.count import PretokenTable
from bbpe.core.rows import hashes, sum_rows, take
sys.setswitchinterval(1e-5)
tok = bbpe.train_from_iterator(["see my eyes first, see my dogs"] * 9, 300)
encoder = tok._parts.encoder.encoder
data = b"see my" * 20_000
bytes_of = np.frombuffer(data, np.uint8)
right = np.arange(0, len(data) + 1, 3, dtype=np.int64)
ends, one = right.copy(), np.ones(len(right) - 1, np.uint64)
stopped = False
def spoil():
    rng = np.random.default_rng(1)
    while not stopped:
        at = int(rng.integers(1, len(ends) - 1))
        ends[at : at + 50] = 1 << 50
        ends[at : at + 50] = right[at : at + 50]
thread = threading.Thread(target=spoil)
thread.start()
calls = [
    lambda: encoder.encode_given(data, ends[1:]),
    lambda: PretokenTable().count_given(data, ends[1:]),
    lambda: PretokenTable().add_arrays(bytes_of, ends, one),
    lambda: hashes(bytes_of, ends),
    lambda: take(bytes_of, ends, right[:-1] // 3),
    lambda: sum_rows(bytes_of, ends, one),
]
for _ in range(60):
    for call in calls:
        try:
            call()
        except (RuntimeError, ValueError):
            pass
stopped = True
thread.join()
print("alive")
"""


def in_process(code: str, **options: Any) -> str:
    """Run Python that may crash; what it prints."""
    environment = package_env()
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, **options
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_ends_that_another_thread_writes_to() -> None:
    assert in_process(RACE) == "alive\n"


LOANS = """
import gc
import bbpe
from bbpe.core.encoder import Encoder
from bbpe.core.parts import Parts, _Loan
from bbpe.threads import run
tok = bbpe.train_from_iterator(["see my eyes first, see my dogs"] * 9, 300)
encoder, text = tok._parts.encoder.encoder, "hello world, this is a text. " * 2000
cuts = encoder.cuts(text, 4096)
gc.collect(), gc.disable()
parts = Parts(cuts, len(text), 2)
run(parts.tasks, lambda worker: encoder.encode_parts(text, cuts, parts, worker))
loans = [thing for thing in gc.get_objects() if isinstance(thing, _Loan)]
assert loans
# what the collector finds in a cycle it clears in its own order, what is lent before what lends it
loans.append(loans)
parts.taken()
del loans
gc.collect()
assert tok.encode("see my eyes") == tok.encode(b"see my eyes")
print("alive")
"""


def test_the_collector_may_come_to_what_is_lent_first() -> None:
    assert in_process(LOANS) == "alive\n"


def attributes_of(source: str) -> dict[str, str]:
    """The C names of a class body that are Python objects, and their types."""
    kinds = "object|list|dict|str|bytes|tuple|[A-Z][A-Za-z]+"
    found = re.findall(rf"^    cdef (?:readonly |public )?({kinds}) (\w[\w, ]*)$", source, re.M)
    return {name.strip(): kind for kind, names in found for name in names.split(",")}


def test_what_frees_uses_no_python_attribute() -> None:
    """The collector may have taken it away, unless the class keeps all of its own."""
    core, seen = PACKAGE / "core", 0
    for path in sorted(core.glob("*.pyx")):
        declared = path.with_suffix(".pxd").read_text("utf-8") if path.with_suffix(".pxd").exists() else ""
        for name, body in re.findall(r"^cdef class (\w+).*?:\n((?:    .*\n|\n)+)", path.read_text("utf-8"), re.M):
            frees = re.search(r"    def __dealloc__\(self\):\n((?:        .*\n)+)", body)
            if frees is None or f"@cython.no_gc_clear\ncdef class {name}" in path.read_text("utf-8"):
                continue
            seen += 1
            here = re.search(rf"^cdef class {name}\b.*?:\n((?:    .*\n|\n)+)", declared, re.M)
            objects = attributes_of(body) | (attributes_of(here[1]) if here else {})
            used = [attribute for attribute in objects if re.search(rf"self\.{attribute}\b", frees[1])]
            assert used == [], f"{path.name}: {name}.__dealloc__ uses {used}"
    assert seen > 10


def test_ids_that_are_none_are_refused(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    table: TokenBytes = tok_of("gpt2")._parts.decoder.token_bytes
    with pytest.raises(bbpe.errors.TokenIdError, match="id 4000000000 is out of range"):
        table.spans(np.array([1, 4_000_000_000], np.uint32))
