"""Options of a call live in the call: threads that share one accelerated tokenizer never get each other's."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import bbpe

hf = pytest.importorskip("tokenizers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers

TEXTS = ["see my dogs <s> first", "see", "I have 12  dogs, naïve café x"]
WORDS = [["see", "my", "dogs"], ["first"]]
#: The options of calls: of the quick way, and of those that transformers makes itself.
CALLS: dict[str, Callable[[Any], Any]] = {
    "none": lambda tok: tok(TEXTS),
    "truncated": lambda tok: tok(TEXTS, truncation=True, max_length=4),
    "one, truncated": lambda tok: tok(TEXTS[0], truncation=True, max_length=5),
    "padded": lambda tok: tok(TEXTS, padding=True),
    "padded to a length": lambda tok: tok(TEXTS, padding="max_length", max_length=24),
    "padded left": lambda tok: tok(TEXTS, padding=True, padding_side="left", return_tensors="np"),
    "split": lambda tok: tok(TEXTS, split_special_tokens=True),
    "split, with offsets": lambda tok: tok(TEXTS, split_special_tokens=True, return_offsets_mapping=True),
    "offsets": lambda tok: tok(TEXTS, return_offsets_mapping=True, truncation=True, max_length=6),
    "overflowing": lambda tok: tok(TEXTS, truncation=True, max_length=6, stride=1, return_overflowing_tokens=True),
    "words": lambda tok: tok(WORDS, is_split_into_words=True, padding=True),
    "encode": lambda tok: {"input_ids": tok.encode(TEXTS[0])},
}


def made(kind: str = "bytes") -> Any:
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=KINDS[kind](), pad_token="<s>")
    return bbpe.accelerate(tokenizer)


def plain(found: Any) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}


@pytest.fixture
def often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def wrong_answers(tokenizer: Any, rounds: int, threads: int = 4) -> list[str]:
    """Return the names of calls whose answer is not the one that they have alone."""
    names = list(CALLS)
    expected = {name: plain(CALLS[name](tokenizer)) for name in names}
    wrong: list[str] = []
    start = threading.Barrier(threads)

    def work(number: int) -> None:
        start.wait()
        for step in range(rounds):
            name = names[(step * (number + 1) + 5 * number) % len(names)]
            if plain(CALLS[name](tokenizer)) != expected[name]:
                wrong.append(name)

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, number) for number in range(threads)]:
            done.result()
    return wrong


@pytest.mark.parametrize("kind", KINDS)
def test_threads_never_meet(kind: str, often: None) -> None:
    assert wrong_answers(made(kind), 60) == []


@pytest.mark.full
def test_threads_never_meet_in_50000_calls(often: None) -> None:
    assert wrong_answers(made(), 12_500) == []


def test_threads_never_meet_after_the_end_of_acceleration(often: None) -> None:
    tokenizer = made()
    tokenizer._tokenizer.model.dropout = 0.0001
    with pytest.warns(bbpe.AccelerationWarning, match="dropout"):
        tokenizer("see")
    tokenizer._tokenizer._inner.model.dropout = None  # so that answers do not vary
    assert tokenizer._tokenizer.ready() is None
    assert wrong_answers(tokenizer, 60) == []


def test_threads_never_meet_in_a_class_with_its_own_method(often: None) -> None:
    class Own(transformers.PreTrainedTokenizerFast):
        def _encode_plus(self, *arguments: Any, **options: Any) -> Any:
            return super()._encode_plus(*arguments, **options)

    assert wrong_answers(bbpe.accelerate(Own(tokenizer_object=KINDS["bytes"](), pad_token="<s>")), 60) == []


def test_what_is_set_outside_of_calls_is_seen_by_all_threads() -> None:
    tokenizer = made()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(tokenizer, TEXTS, truncation=True, max_length=9).result()
        assert pool.submit(lambda: tokenizer.backend_tokenizer.truncation["max_length"]).result() == 9
        tokenizer.backend_tokenizer.enable_truncation(3)
        assert pool.submit(lambda: tokenizer.backend_tokenizer.truncation["max_length"]).result() == 3
        assert len(pool.submit(tokenizer.backend_tokenizer.encode, "see my dogs first").result().ids) == 3
        # calls of other threads leave it
        pool.submit(tokenizer, TEXTS).result()
        assert pool.submit(lambda: tokenizer.backend_tokenizer.truncation).result() is None
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 3
    assert len(tokenizer.backend_tokenizer.encode("see my dogs first").ids) == 3


def test_a_thread_sees_the_options_of_its_last_call_as_in_transformers() -> None:
    ours = made()
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=KINDS["bytes"](), pad_token="<s>")
    for call in CALLS.values():
        for tokenizer in (ours, theirs):
            call(tokenizer)
        seen = [
            (each.truncation, each.padding, each.encode_special_tokens)
            for each in (ours.backend_tokenizer, theirs.backend_tokenizer)
        ]
        assert seen[0] == seen[1]


def test_a_call_within_a_call_leaves_its_options() -> None:
    chosen = made()._tokenizer.chosen
    with chosen.call():
        chosen.options = chosen.options._replace(is_plain=True)
        with chosen.call():
            chosen.options = chosen.options._replace(is_plain=False)
        assert chosen.options.is_plain
    assert chosen.options.is_plain


def test_what_a_call_sets_is_never_seen_by_another_thread() -> None:
    from bbpe.compat.transformers.call_options import Chosen, Options

    chosen = Chosen(Options())
    plain, seen = Options(is_plain=True), []
    with ThreadPoolExecutor(1) as pool:
        with chosen.call():
            chosen.options = plain
            seen.append(pool.submit(lambda: chosen.options).result())
        seen.append(pool.submit(lambda: chosen.options).result())
        assert seen == [Options()] * 2
        assert chosen.options == plain
        # what is set outside of calls ends what calls of other threads have left, even when it is the same again
        chosen.options = plain
        with_own = Options(is_plain=False)

        def call() -> None:
            with chosen.call():
                chosen.options = with_own

        pool.submit(call).result()
        assert pool.submit(lambda: chosen.options).result() == with_own
        chosen.options = plain
        assert pool.submit(lambda: chosen.options).result() == plain
        pool.submit(chosen.after_call, with_own).result()
        assert pool.submit(lambda: chosen.options).result() == with_own
        chosen.options = plain
        assert pool.submit(lambda: chosen.options).result() == plain


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_the_turn_of_a_thread() -> None:
    backend = made()._tokenizer
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with backend._lock.turn():
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    child = os.fork()
    if not child:
        import signal

        signal.alarm(20)
        os._exit(0 if backend.by_inner("encode", "see").ids else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert status == 0
