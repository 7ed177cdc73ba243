"""Options of an accelerated tokenizer that another thread sets while a call runs."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("transformers")

from bbpe.compat.transformers.call_options import Chosen, Options

PLAIN, SPECIAL = Options(None, None, True), Options(None, None, False)


def set_by_another_thread(chosen: Chosen, options: Options) -> None:
    thread = threading.Thread(target=setattr, args=(chosen, "options", options))
    thread.start()
    thread.join()


def test_a_call_keeps_the_options_that_it_began_with() -> None:
    chosen = Chosen(SPECIAL)
    with chosen.call():
        set_by_another_thread(chosen, PLAIN)
        assert chosen.options == SPECIAL
        with chosen.call():
            set_by_another_thread(chosen, SPECIAL)
            set_by_another_thread(chosen, PLAIN)
            assert chosen.options == SPECIAL
        assert chosen.options == SPECIAL
    set_by_another_thread(chosen, PLAIN)
    assert chosen.options == PLAIN


def test_options_set_between_calls_are_those_of_all_threads() -> None:
    chosen, seen = Chosen(SPECIAL), []
    chosen.options = PLAIN
    thread = threading.Thread(target=lambda: seen.append(chosen.options))
    thread.start()
    thread.join()
    assert seen == [PLAIN]
    with chosen.call():
        assert chosen.options == PLAIN
