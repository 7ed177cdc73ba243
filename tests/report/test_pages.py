"""Pages: what is text stays text wherever it stands, and a request of the playground gets what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import bbpe
from bbpe.report.serve import Playground
from bbpe.report.tables import page
from bbpe.report.view import MOST, as_json, summary, to_html

TOK = bbpe.train_from_iterator(["see my eyes first, see my dogs"] * 3, 290, special_tokens=["<s>"])
HOSTILE = "</title></script><b a='\"'>"


@pytest.fixture
def server() -> Iterator[Playground]:
    names = [HOSTILE, *(f"t{number}" for number in range(MOST))]
    with Playground({name: lambda: TOK for name in names}, ["t1"], 0) as made:
        yield made


def test_names_are_text() -> None:
    assert "<title>&lt;/title&gt;&lt;/script&gt;&lt;b" in page(HOSTILE, "")
    for made in (to_html("see", {HOSTILE: TOK}), bbpe.compare(TOK, TOK, texts=["see"], names=(HOSTILE, "b")).to_html(),
                 bbpe.evaluate({HOSTILE: TOK}, texts={HOSTILE: ["see"]}).to_html(),
                 bbpe.Tokenizer.from_ranks({bytes([n]): n for n in range(256)}, pattern="gpt2",
                                           special_tokens={HOSTILE: 256})._repr_html_()):  # fmt: skip
        assert "<b a=" not in made
    assert as_json("<\u2028\u2029>") == '"\\u003c\\u2028\\u2029>"'


def test_a_script_runs_by_its_nonce_alone() -> None:
    without, with_one = page("t", "b"), page("t", "b", script="s()", nonce="n0")
    assert "script-src 'none'\"" in without
    assert "<script" not in without
    assert "script-src 'nonce-n0'\"" in with_one
    assert '<script nonce="n0">s()</script></body>' in with_one
    assert "default-src 'none'" in without
    assert "default-src 'none'" in with_one


def test_as_many_tokenizers_as_a_page_has_room_for() -> None:
    toks = {f"t{number}": TOK for number in range(MOST)}
    assert MOST == 5
    assert to_html("see", toks).count("<li>") == MOST
    for wrong in ({}, {**toks, "more": TOK}):
        with pytest.raises(ValueError, match=f"there are {len(wrong)} tokenizers; expected 1 to 5"):
            to_html("see", wrong)


def test_the_table_of_a_tokenizer() -> None:
    many = {f"<{number}>": 300 + number for number in range(10)}
    ranks = {bytes([n]): n for n in range(256)}
    tok = bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens=many)
    assert "&lt;7&gt; and 2 more<" in summary(tok)
    assert "266<" in summary(tok)
    assert tok.fingerprint[:16] in summary(tok)
    eight = bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens=dict(list(many.items())[:8]))
    assert "more" not in summary(eight)
    assert "none<" in summary(bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2"))


@pytest.mark.parametrize(("special", "is_special"), [
    (True, True), (False, False), (None, False), (1, False), ("yes", False), (..., False)
])  # fmt: skip
def test_special_tokens_are_special_only_if_asked(special: Any, is_special: bool, server: Playground) -> None:
    request = {"text": "see <s>", "names": ["t1"], **({} if special is ... else {"special": special})}
    (found,) = server.tokens(request)
    ids = [found["kinds"][number][0] for number in found["order"]]
    assert ids == TOK.encode("see <s>", allowed_special="all" if is_special else ())
    assert (TOK.special_tokens["<s>"] in ids) is is_special


@pytest.mark.parametrize("names", [[], [f"t{n}" for n in range(5)] + ["t0"], ["none"], [1], "t1", None, ["t1", None]])
def test_names_that_a_request_may_not_have(names: Any, server: Playground) -> None:
    with pytest.raises(ValueError, match=r"expected 1 to 5 names|there is no tokenizer 'none'"):
        server.tokens({"text": "see", "names": names})
    assert len(server.tokens({"text": "see", "names": [f"t{n}" for n in range(5)]})) == 5


def test_the_page_of_the_playground(server: Playground) -> None:
    """The chosen ones are ticked; scripts have the nonce of the answer."""
    made = server.page("n0")
    assert made.count(" checked>") == 1
    assert 'value="t1" checked>t1<' in made
    assert "<b a=" not in made
    assert '<script nonce="n0">' in made
    assert server.hosts == {f"127.0.0.1:{server.server_port}", f"localhost:{server.server_port}"}
    assert server.url == f"http://127.0.0.1:{server.server_port}/"
    loads: list[str] = []
    server.loaders = {"once": lambda: loads.append("once") or TOK}  # type: ignore[func-returns-value]
    for _ in range(2):
        assert server.tokenizer("once") is TOK
    assert loads == ["once"]
