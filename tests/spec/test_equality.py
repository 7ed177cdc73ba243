"""Equality, hash and fingerprint: equal tokenizers give the same ids and texts, and nothing of one can be changed."""

from __future__ import annotations

import copy
import functools
import hashlib
import os
import pickle
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.spec import decoders
from bbpe.spec.fingerprint import fingerprint
from bbpe.spec.models import LongestMatchModel, UnigramModel, WordLevelModel, WordPieceModel
from bbpe.spec.rules import (
    Characters,
    LeadingCodes,
    Lowercase,
    Prefix,
    RowPadding,
    RowTruncation,
    Split,
    Template,
    TokenOptions,
)
from bbpe.spec.spec import TextRules, TokenizerSpec, make_spec
from bbpe.splitting.patterns import Pattern, get_pattern

BYTES = {byte: bytes([byte]) for byte in range(256)}
VOCAB = {**BYTES, 256: b"ab", 257: b"bc", 258: b"xyz"}
MERGES = [(b"a", b"b"), (b"b", b"c")]


def of_merges(*merges: tuple[bytes, bytes]) -> bbpe.Tokenizer:
    return bbpe.Tokenizer.from_merges(VOCAB, merges, pattern="gpt2")


def of_ranks(vocab: dict[int, bytes] = VOCAB) -> bbpe.Tokenizer:
    return bbpe.Tokenizer.from_ranks({token: rank for rank, token in vocab.items()}, pattern="gpt2")


def test_the_order_of_merges_counts() -> None:
    one, other = of_merges(*MERGES), of_merges(*reversed(MERGES))
    assert one.encode("abc") != other.encode("abc")
    assert one != other
    assert one.fingerprint != other.fingerprint
    cached = functools.lru_cache(lambda tok: tok.encode("abc"))
    assert (cached(one), cached(other)) == (one.encode("abc"), other.encode("abc"))


def test_the_mode_counts_where_it_changes_ids() -> None:
    by_rank, by_list = of_ranks(), of_merges(*MERGES)
    assert (by_rank.encode("xyz"), by_list.encode("xyz")) == ([258], [120, 121, 122])
    assert by_rank != by_list
    without = {token_id: token for token_id, token in VOCAB.items() if token_id != 258}
    assert of_ranks(without) == bbpe.Tokenizer.from_merges(without, MERGES, pattern="gpt2")


@pytest.mark.parametrize(
    ("more", "merges", "text"),
    [
        ([], [(b"a", b"b")], None), ([], [], "ab"), ([b"ba"], [(b"a", b"b")], "ba"),
        ([b"aba"], [(b"a", b"b"), (b"ab", b"a")], None), ([b"aba", b"bb"], [(b"a", b"b"), (b"ab", b"a")], "bb"),
    ],
)  # fmt: skip
def test_tokens_of_characters_that_no_merge_makes_count_where_they_are_found_whole(
    more: list[bytes], merges: list[tuple[bytes, bytes]], text: str | None
) -> None:
    vocab = dict(enumerate([b"?", b"a", b"b", "\u4e2d".encode(), b"ab", *more]))
    options: Any = {"pattern": get_pattern("none"), "characters": Characters(unknown=0)}
    one, other = (
        bbpe.Tokenizer(make_spec(vocab, merges, whole_pretokens=whole, **options)) for whole in (False, True)
    )
    assert (one.fingerprint == other.fingerprint) == (text is None)
    assert text is None or one.encode(text) != other.encode(text)


def test_a_merge_that_never_happens_does_not_count() -> None:
    vocab = {**BYTES, 256: b"ab", 257: b"abc"}
    listed = [(b"a", b"b"), (b"ab", b"c")]
    one = bbpe.Tokenizer.from_merges(vocab, listed, pattern="gpt2")
    dead = bbpe.Tokenizer.from_merges({**vocab}, [*listed, (b"ab", b"c")], pattern="gpt2")
    assert one == dead


BASE = bbpe.Tokenizer.from_merges(VOCAB, MERGES, pattern="gpt2", special_tokens={"<s>": 300}).spec
WORDS = TokenizerSpec(
    {0: b"[UNK]", 1: b"see", 2: b"##s"}, None, get_pattern("gpt2"), {}, {}, model=WordPieceModel(0)
)
CHARACTERS = replace(
    BASE, vocab={256: b"a", 257: b"b", 258: b"ab"}, merges=((256, 257, 258),), characters=Characters((), 300)
)
WORD_LEVEL = replace(WORDS, model=WordLevelModel(0), decoder=())
UNIGRAM = TokenizerSpec(
    {1: b"a", 2: b"b", 3: b"ab"}, None, get_pattern("none"), {"<u>": 0}, characters=Characters((), 0),
    model=UnigramModel((0.0, -1.0, -2.0, -3.0)),
)  # fmt: skip
SCORES = UNIGRAM.model.scores  # type: ignore[union-attr]
LEVELS = replace(
    CHARACTERS, vocab={256: b"a", 257: b"b", 258: b"ab", 259: b"ba"}, merges=((256, 257, 258), (257, 256, 259)),
    merge_levels=(0, 1),
)  # fmt: skip
#: Each field of the options of characters, with a value that is not its default.
OF_CHARACTERS: dict[str, Any] = {
    "byte_ids": tuple(range(256)), "unknown": 256, "fuse_unknown": True, "marks_blanks": True, "end_of_word": "b",
    "are_bytes": True, "prefix": "a", "unknown_text": "?", "unused": (258,), "some_byte_ids": ((97, 301),),
    "end_apart": True,
}  # fmt: skip
CHANGES: list[tuple[TokenizerSpec, dict[str, Any]]] = [
    (BASE, {"vocab": {**VOCAB, 259: b"zz"}}),
    (BASE, {"pattern": get_pattern("o200k")}),
    (replace(BASE, pattern=Pattern(None, (r"\w+",))), {"pattern": Pattern(None, (r"\w+",), True)}),
    (replace(BASE, pattern=Pattern(None, ("ab",))), {"pattern": Pattern(None, ("a", "b"))}),
    (BASE, {"padding": RowPadding(300)}),
    (BASE, {"truncation": RowTruncation(9)}),
    (replace(BASE, padding=RowPadding(300)), {"padding": RowPadding(300, side="left")}),
    (LEVELS, {"merge_levels": (0, 0)}),
    (WORDS, {"model": WordPieceModel(None)}),
    (WORD_LEVEL, {"model": WordLevelModel(1)}),
    (WORD_LEVEL, {"model": WordLevelModel(0, True)}),
    (replace(BASE, merges=None), {"model": LongestMatchModel()}),
    (UNIGRAM, {"model": UnigramModel((0.0, -1.0, -2.5, -3.0))}),
    (UNIGRAM, {"model": UnigramModel(SCORES, is_float=False)}),
    (UNIGRAM, {"model": UnigramModel(SCORES, user_defined=(3,))}),
    (UNIGRAM, {"model": UnigramModel(SCORES, unnamed=((b"c", -1.0),))}),
    (UNIGRAM, {"model": UnigramModel(SCORES, finds_runs=True)}),
    (replace(UNIGRAM, decoder=(decoders.Fuse(),)), {"characters": Characters((), 0, some_byte_ids=((99, 4),))}),
    (replace(BASE, added_tokens={"<m>": 301}), {"modelled": (301,)}),
    *(
        (CHARACTERS, {"characters": replace(CHARACTERS.characters, **{name: OF_CHARACTERS[name]})})
        for name in OF_CHARACTERS
    ),
    (BASE, {"template": Template(((300, 0), ("A", 0)))}),
    (BASE, {"template": Template((("A", 1),))}),
    (BASE, {"template": Template((("A", 0),), (("A", 0), (300, 0), ("B", 1)))}),
    (BASE, {"token_options": {"<s>": TokenOptions(lstrip=True)}}),
    (BASE, {"token_options": {"<s>": TokenOptions(single_word=True)}}),
    (BASE, {"rules": TextRules((Lowercase(),))}),
    (BASE, {"rules": TextRules(prefix=Prefix(" "))}),
    (BASE, {"rules": TextRules(codes=LeadingCodes(">>", "<<", 300))}),
    (BASE, {"rules": TextRules(pre_tokenizers=(Split("a", "Isolated"),))}),
    (BASE, {"decoder": (decoders.ByteLevel(), decoders.Strip(" ", 1, 0))}),
    (BASE, {"decoder": (decoders.Blanks(),)}),
    (BASE, {"whole_pretokens": True}),
    (BASE, {"merges": ()}),
    (BASE, {"added_tokens": {"<t>": 301}}),
    (BASE, {"special_tokens": {}, "added_tokens": {"<s>": 300}}),
    (WORDS, {"model": WordPieceModel(0, "@@")}),
    (WORDS, {"decoder": (decoders.WordPiece(cleanup=False),)}),
    (WORDS, {"model": WordPieceModel(0, max_characters=2)}),
    (CHARACTERS, {"merges": ()}),
    (CHARACTERS, {"characters": Characters((), 300, True)}),
    (CHARACTERS, {"characters": Characters((), 300, marks_blanks=True)}),
]


@pytest.mark.parametrize(("spec", "change"), CHANGES, ids=lambda part: "-".join(part) if isinstance(part, dict) else "")
def test_everything_that_changes_ids_or_texts_counts(spec: TokenizerSpec, change: dict[str, Any]) -> None:
    changed = replace(spec, **change)
    assert fingerprint(changed) != fingerprint(spec)
    one, other = bbpe.Tokenizer(spec), bbpe.Tokenizer(changed)
    assert one != other
    assert len({one, other}) == 2


#: Fields of a spec that change neither ids nor texts by themselves; trims change offsets, and equality has them.
WITHOUT_EFFECT = {"name", "files", "trims", "dropout", "names", "notes"}


def test_the_table_of_changes_is_whole() -> None:
    changed = {name for _, change in CHANGES for name in change}
    assert changed == set(TokenizerSpec.__match_args__) - WITHOUT_EFFECT
    assert set(OF_CHARACTERS) == set(Characters.__match_args__)
    for kind in (WordPieceModel, WordLevelModel, UnigramModel):
        models = [(spec.model, change["model"]) for spec, change in CHANGES if isinstance(change.get("model"), kind)]
        for name in kind.__match_args__:
            assert any(getattr(one, name) != getattr(other, name) for one, other in models), (kind, name)


def test_the_scores_of_tokens_that_score_by_their_length_do_not_count() -> None:
    one, other = (
        replace(UNIGRAM, model=UnigramModel((0.0, -1.0, -2.0, score), user_defined=(3,))) for score in (-3.0, -9.0)
    )
    assert bbpe.Tokenizer(one).encode("abab") == bbpe.Tokenizer(other).encode("abab") == [3, 3]
    assert fingerprint(one) == fingerprint(other)


def test_the_model_that_encodes_gives_the_same_digest() -> None:
    """By ranks and by merges, some tokens without merges, and ids out of order."""
    vocab = {byte: bytes([byte]) for byte in range(256)} | {300: b"bc", 299: b"ab", 257: b"abc", 258: b"xyz"}
    for merges in (None, ((97, 98, 299), (299, 99, 257))):
        for whole in (False, True):
            spec = TokenizerSpec(vocab, merges, get_pattern("gpt2"), whole_pretokens=whole)
            assert bbpe.Tokenizer(spec).fingerprint == fingerprint(spec)


def test_what_changes_neither_does_not_count() -> None:
    for change in ({"name": "x"}, {"files": {"chat_template.jinja": b"x"}}, {"template": Template((("A", 0),))}):
        assert fingerprint(replace(BASE, **change)) == fingerprint(BASE)


def test_nothing_that_a_tokenizer_hands_out_changes_it() -> None:
    tok = bbpe.train_from_iterator(["see my eyes"], 260, special_tokens=["<s>"])
    before = (tok.special_tokens, tok.encode("EVIL", allowed_special="all"), tok.fingerprint)
    assert isinstance(tok.special_tokens_set, frozenset)
    tok.special_tokens["EVIL"] = 5
    tok.as_tiktoken().special_tokens_set.add("EVIL")
    for name in ("special_tokens", "added_tokens", "token_options", "files"):
        with pytest.raises(TypeError):
            getattr(tok.spec, name)["EVIL"] = 5
    assert (tok.special_tokens, tok.encode("EVIL", allowed_special="all"), tok.fingerprint) == before
    assert tok == bbpe.train_from_iterator(["see my eyes"], 260, special_tokens=["<s>"])


def test_a_spec_does_not_follow_the_mappings_it_was_made_of() -> None:
    specials = {"<s>": 300}
    spec = replace(BASE, special_tokens=specials)
    specials["<t>"] = 301
    assert spec.special_tokens == {"<s>": 300}
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_a_copy_is_the_object_itself() -> None:
    tok = of_merges(*MERGES)
    assert copy.copy(tok) is copy.deepcopy(tok) is copy.deepcopy([tok])[0] is tok
    assert tok.as_tiktoken() is tok.as_tiktoken()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "use",
    [
        hash,
        lambda tok: tok.special_tokens_set,
        lambda tok: tok.is_special_token(5),
        lambda tok: tok.token_to_id(b"a"),
        lambda tok: tok.as_tiktoken()._pat_str,
        lambda tok: tok.spec.pattern.scheme,
    ],
)
def test_a_child_forked_while_an_attribute_is_made_makes_its_own(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock of the class, which a forked child finds taken for ever, would hang the child here."""
    entered, leave = threading.Event(), threading.Event()
    make = fingerprint

    def slow(spec: TokenizerSpec, *compiled: object) -> str:
        if threading.current_thread() is not threading.main_thread():
            entered.set()
            leave.wait(60)
        return make(spec)

    monkeypatch.setattr("bbpe.spec.fingerprint.fingerprint", slow)
    busy, other = of_merges(*MERGES), of_merges(*MERGES[:1])
    thread = threading.Thread(target=hash, args=(busy,))
    thread.start()
    assert entered.wait(60)
    child = os.fork()
    if not child:
        try:
            use(other)
            os._exit(0)
        finally:
            os._exit(1)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        leave.wait(0.05)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        status = -1
    leave.set()
    thread.join()
    assert status == 0


def test_ragged_rows() -> None:
    rows = [[1, 2], [], [3], [4, 5, 6]]
    one, other = (bbpe.Ragged.from_rows(np.array(row, np.uint32) for row in rows) for _ in range(2))
    assert one == other
    assert one != bbpe.Ragged.from_rows(np.array(row, np.uint32) for row in rows[:3])
    # the same ids in other rows
    assert one != bbpe.Ragged.from_rows(np.array(row, np.uint32) for row in [[1, 2, 3], [], [], [4, 5, 6]])
    assert one != rows
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    parts = [slice(0, 2), slice(1, None), slice(None), slice(2, 1), slice(-2, None), slice(None, None, 2)]
    for part in (*parts, slice(None, None, -1)):
        found = one[part]
        assert isinstance(found, bbpe.Ragged)
        assert [row.tolist() for row in found] == rows[part]
        assert found.offsets[0] == 0
    assert one[np.int64(2)].tolist() == [3]
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(IndexError, match="row 4 of 4"):
        one[4]


@pytest.mark.parametrize(("ids", "shown"), [(15, False), (16, False), (17, True)])
def test_long_rows_are_shown_in_part(ids: int, shown: bool) -> None:
    page = bbpe.Ragged.from_rows([np.arange(ids, dtype=np.uint32)])._repr_html_()
    assert (" ..." in page) == shown
    assert f"{min(ids, 16) - 1}" in page


def test_a_mapping_with_other_tokens_is_no_vocabulary() -> None:
    vocab = BASE.vocab
    assert vocab == dict(VOCAB)
    assert vocab != {**VOCAB, 259: b"more"}
    assert vocab != {token_id: VOCAB[token_id] for token_id in list(VOCAB)[:-1]}
    assert vocab != {**VOCAB, 258: b"xyy"}


def test_fingerprints_stay_as_they_are() -> None:
    """Plans of shards keep them; other digests of the same tokenizers need another number in the first line."""
    unsorted = {"vocab": dict(reversed(VOCAB.items())), "merges": None, "whole_pretokens": True}
    tokens = {"special_tokens": {"<t>": 301, "<s>": 300}, "added_tokens": {"y": 303, "x": 302}}
    turns = {**tokens, "token_options": {"<t>": TokenOptions(turn=1), "<s>": TokenOptions(turn=2), "x": TokenOptions()}}
    rows = [*CHANGES, (BASE, unsorted), (BASE, tokens), (BASE, turns), (BASE, {}), (CHARACTERS, {}), (UNIGRAM, {})]
    found = "".join(fingerprint(replace(spec, **change)) for spec, change in rows)
    assert hashlib.sha256(found.encode()).hexdigest()[:16] == "6fb93f282a200ce5"


@pytest.mark.parametrize("form", ["single", "pair"])
def test_ids_of_templates_are_those_of_tokens(form: str) -> None:
    for item, is_refused in ((0, False), (258, False), (259, True), (-1, True)):
        rows = {"single": (("A", 0),), "pair": (("A", 0), ("B", 1))}
        spec, template = replace(BASE, special_tokens={}), Template(**{**rows, form: ((item, 0), *rows[form])})
        if is_refused:
            with pytest.raises(bbpe.VocabularyError, match=f"the template has id {item}; expected at most 258, the"):
                replace(spec, template=template)
        else:
            assert replace(spec, template=template).template == template
