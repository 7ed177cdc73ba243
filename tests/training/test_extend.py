"""More tokens on top of a tokenizer, and fewer: against definitions written out, and in HF and tiktoken."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from options import model_options
from strings import adversarial_strings
from vocabularies import MERGES, small_spec, vocab_of

import bbpe
from bbpe.cli import main
from bbpe.spec.rules import Lowercase, Template
from bbpe.spec.spec import TextRules, make_spec
from bbpe.splitting.patterns import get_pattern
from bbpe.tokenizer import Tokenizer

TIES = ["ids", "bytes", "first"]
TEXTS = adversarial_strings(150, seed=91)


def learned(tok, texts, add, tie_break):
    """New merges as byte strings: pretokens as the tokenizer encodes them, then the best pair again and again."""
    words = Counter(pretoken for text in texts for pretoken in bbpe.split(text, tok.spec.pattern.steps))
    rows = [[list(tok.encode(word)), count] for word, count in words.items()]
    bytes_of = {token_id: tok.id_to_token(token_id) for token_id in range(tok.vocab_size)}
    merges = []
    for new_id in range(tok.vocab_size, tok.vocab_size + add):
        pairs = Counter()
        for ids, count in rows:
            for pair in pairwise(ids):
                pairs[pair] += count
        if not pairs:
            break
        most = max(pairs.values())
        best = [pair for pair, count in pairs.items() if count == most]
        if tie_break == "ids":
            chosen = min(best)
        elif tie_break == "bytes":
            chosen = max((bytes_of[left], bytes_of[right], (left, right)) for left, right in best)[2]
        else:
            chosen = best[0]  # counters keep the order of appearance
        merges.append((bytes_of[chosen[0]], bytes_of[chosen[1]]))
        bytes_of[new_id] = b"".join(merges[-1])
        for row in rows:
            ids, done = row[0], []
            while ids:
                size = 2 if tuple(ids[:2]) == chosen else 1
                done.append(new_id if size == 2 else ids[0])
                ids = ids[size:]
            row[0] = done
    return merges


def counts_of(texts, pattern="gpt2"):
    return bbpe.count_from_iterator(texts, pattern=pattern)


@pytest.mark.parametrize("tie_break", TIES)
def test_new_merges_go_on_from_old_ones(tie_break):
    rng = random.Random(tie_break)
    for size in (257, 420):
        tok = bbpe.train_from_iterator(rng.sample(TEXTS, 60), size, special_tokens=["<s>"])
        texts = rng.sample(TEXTS, 5)
        more = bbpe.extend(tok, counts_of(texts), 9, tie_break=tie_break)
        old = len(tok.merges)
        assert more.merges[:old] == tok.merges
        assert more.merges[old:] == learned(tok, texts, 9, tie_break)
        assert more.special_tokens == tok.special_tokens
        assert all(more.id_to_token(i) == tok.id_to_token(i) for i in range(tok.vocab_size))
        new = [more.id_to_token(i) for i in range(tok.vocab_size, more.vocab_size)]
        assert new == [left + right for left, right in more.merges[old:]]


@pytest.mark.parametrize("tie_break", TIES)
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "whitespace", r"[a-z]+|\s+"])
def test_the_corpus_of_the_first_training_gives_what_one_training_gives(pattern, tie_break):
    counts = counts_of(TEXTS, pattern)
    options = {"tie_break": tie_break, "min_frequency": 2, "max_token_length": 12}
    for first, second in ((256, 300), (300, 500), (480, 500)):
        whole = bbpe.train_from_counts(counts, second, **model_options(**options))
        extended = bbpe.extend(
            bbpe.train_from_counts(counts, first, **model_options(**options)), counts, second - first, **options
        )
        assert extended == whole
        assert extended.merges == whole.merges


@pytest.mark.parametrize("tie_break", TIES)
def test_another_pattern_learns_tokens_of_several_words(tie_break, tmp_path):
    """As SuperBPE has it: words first, then lines; the result splits a text into lines alone."""
    texts = [f"it is what it is, said {name}; and it is so\n" for name in ("he", "she", "they")] * 4
    tok = bbpe.train_from_iterator(texts, 290, special_tokens=["<s>"])
    lines = r"[^\n]+|\n"
    counts = counts_of(texts, lines)
    more = bbpe.extend(tok, counts, 12, tie_break=tie_break, pattern=lines)
    by_lines = Tokenizer(replace(tok.spec, pattern=get_pattern(lines)))
    old = len(tok.merges)
    assert more.merges[:old] == tok.merges
    assert more.merges[old:] == learned(by_lines, texts, 12, tie_break)
    assert any(b" " in token.strip() for token in map(more.id_to_token, range(tok.vocab_size, more.vocab_size)))
    (tmp_path / "a.txt").write_text("".join(texts))
    assert bbpe.extend(tok, tmp_path / "a.txt", 12, tie_break=tie_break, pattern=lines) == more
    for text in texts[:3]:
        assert more.decode(more.encode(text)) == text
        assert len(more.encode(text)) < len(tok.encode(text))
    with pytest.raises(ValueError, match="the counts are of pattern"):
        bbpe.extend(tok, counts, 1)


def test_ranks_stay_ranks():
    by_list = bbpe.train_from_iterator(TEXTS, 320, special_tokens=["<s>"])
    by_rank = Tokenizer.from_ranks(by_list.ranks, pattern="gpt2", special_tokens=by_list.special_tokens)
    counts = counts_of(adversarial_strings(100, seed=92))
    more = bbpe.extend(by_rank, counts, 60)
    assert more.spec.merges is None
    listed = bbpe.extend(by_list, counts, 60)
    assert more == listed
    assert more.merges == listed.merges
    for text in TEXTS:
        assert more.encode(text) == listed.encode(text)


def test_a_token_that_nothing_made_keeps_its_id():
    vocab = {**vocab_of(), 300: b"the hat", 301: b"xyz"}
    tok = Tokenizer(make_spec(vocab, MERGES, pattern=small_spec(pattern="none").pattern, whole_pretokens=True))
    assert tok.encode("xyz") == [301]
    more = bbpe.extend(tok, bbpe.count_from_iterator(["xyz!xyz!xyz"], pattern="none"), 2)
    assert more.merges[-2:] == [(b"x", b"y"), (b"xy", b"z")]
    assert more.encode("xyz") == [301]
    assert more.encode("xyzxyz") == [301, 301]
    assert more.vocab_size == 303


@pytest.fixture
def extended():
    tok = bbpe.train_from_iterator(TEXTS, 340, pattern="cl100k", special_tokens=["<|endoftext|>", "<s>"])
    return bbpe.extend(tok, counts_of(adversarial_strings(80, seed=93), "cl100k"), 80)


@pytest.fixture
def pruned(extended):
    return bbpe.prune(extended, keep=360)[0]


@pytest.mark.parametrize("name", ["extended", "pruned"])
def test_others_load_them(request, tmp_path, name):
    tokenizers, tiktoken = pytest.importorskip("tokenizers"), pytest.importorskip("tiktoken")
    tok = request.getfixturevalue(name)
    tok.save(tmp_path / "tokenizer.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    view = tok.as_tiktoken()
    other = tiktoken.Encoding(
        name, pat_str=view._pat_str, mergeable_ranks=view._mergeable_ranks, special_tokens=view._special_tokens
    )
    assert bbpe.load(tmp_path / "tokenizer.json") == tok
    for text in [*TEXTS, *adversarial_strings(80, seed=93), "a<s>b<|endoftext|>"]:
        ids = tok.encode(text, allowed_special="all")
        assert peer.encode(text, add_special_tokens=False).ids == ids
        assert other.encode(text, allowed_special="all") == ids
    tok.save(tmp_path / "x.tiktoken", drop=["special_tokens"])
    ranks = bbpe.load(tmp_path / "x.tiktoken", pattern="cl100k", special_tokens=tok.special_tokens)
    assert all(ranks.encode(text) == tok.encode(text) for text in TEXTS)


@pytest.mark.parametrize("tie_break", TIES)
def test_the_last_merges_go(tie_break):
    counts = counts_of(TEXTS)
    whole = bbpe.train_from_counts(counts, 502, model=bbpe.BPE(tie_break=tie_break), special_tokens=["<s>", "<t>"])
    for keep in (258, 259, 300, 501, 502):
        less, new_ids = bbpe.prune(whole, keep=keep)
        expected = bbpe.train_from_counts(
            counts, keep, model=bbpe.BPE(tie_break=tie_break), special_tokens=["<s>", "<t>"]
        )
        assert less == expected
        assert less.merges == expected.merges
        assert new_ids.dtype == np.int64
        assert new_ids.tolist() == [*range(keep - 2), *[-1] * (502 - keep), keep - 2, keep - 1]
        assert bbpe.prune(whole, keep=[*range(keep - 2)])[0] == less


def check_map(tok, less, new_ids):
    """New ids are the old tokens, in order and without holes; whatever stays has all that it is merged of."""
    kept = [(int(new), old) for old, new in enumerate(new_ids) if new >= 0]
    assert [new for new, _ in kept] == list(range(less.vocab_size))
    assert len(new_ids) == tok.vocab_size
    for new, old in kept:
        assert less.id_to_token(new) == tok.id_to_token(old)
    ordinary = set(less.spec.vocab.values())
    assert all(left in ordinary and right in ordinary for left, right in less.merges)


@pytest.mark.parametrize("by_rank", [False, True])
def test_what_a_corpus_does_not_use_goes(by_rank):
    tok = bbpe.train_from_iterator(TEXTS, 700, pattern="o200k", special_tokens=["<s>"])
    if by_rank:
        tok = Tokenizer.from_ranks(tok.ranks, pattern="o200k", special_tokens=tok.special_tokens)
    used_by = TEXTS[:25]
    uses = Counter(token_id for text in used_by for token_id in tok.encode(text))
    for least in (1, 2, 5):
        less, new_ids = bbpe.prune(tok, used_in=counts_of(used_by, "o200k"), min_count=least)
        check_map(tok, less, new_ids)
        stays = {i for i, count in uses.items() if count >= least}
        stays |= {i for i in range(700) if len(tok.id_to_token(i)) == 1}
        parents = {tok.token_to_id(token): pair for pair in tok.merges for token in [b"".join(pair)]}
        waiting = list(stays)
        while waiting:
            for part in parents.get(waiting.pop(), ()):
                if tok.token_to_id(part) not in stays:
                    stays.add(tok.token_to_id(part))
                    waiting.append(tok.token_to_id(part))
        assert {i for i, new in enumerate(new_ids) if new >= 0} == stays | {tok.special_tokens["<s>"]}
        if least == 1:
            for text in used_by:
                assert less.encode(text) == new_ids[tok.encode(text)].tolist()
    some, _ = bbpe.prune(tok, keep=300, used_in=counts_of(used_by, "o200k"))
    assert len(some) == 300


def test_merges_listed_before_their_parts():
    merges = [(b"ab", b"c"), (b"a", b"b"), (b"abc", b"d")]
    spec = make_spec(vocab_of(merges), merges, pattern=small_spec().pattern)
    less, new_ids = bbpe.prune(Tokenizer(spec), keep=257)
    assert less.merges == [(b"a", b"b")]
    check_map(Tokenizer(spec), less, new_ids)


def test_a_merge_goes_with_its_parts_though_another_makes_its_token():
    merges = [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc")]
    tok = Tokenizer(make_spec(vocab_of(merges), merges, pattern=small_spec().pattern))
    less, new_ids = bbpe.prune(tok, [tok.token_to_id("abc")])
    assert less.merges == [(b"a", b"b"), (b"ab", b"c")]
    check_map(tok, less, new_ids)


def test_ids_elsewhere_follow():
    template = Template(((301, 0), ("A", 0)), ((301, 0), ("A", 0), ("B", 1)))
    config = {"added_tokens_decoder": {"300": {}}, "chat_template": "x"}
    files = {"tokenizer_config.json": json.dumps(config).encode()}
    files |= {"added_tokens.json": b"{}", "chat_template.jinja": b"y"}
    spec = make_spec(
        vocab_of(), MERGES, pattern=small_spec().pattern, special_tokens={"<s>": 301}, added_tokens={"<a>": 300},
        template=template, files=files,
    )  # fmt: skip
    less, new_ids = bbpe.prune(Tokenizer(spec), keep=260)
    assert (less.added_tokens, less.special_tokens) == ({"<a>": 258}, {"<s>": 259})
    assert less.spec.template.single == ((259, 0), ("A", 0))
    assert less.spec.template.pair == ((259, 0), ("A", 0), ("B", 1))
    assert less.spec.files == {"tokenizer_config.json": b'{"chat_template": "x"}', "chat_template.jinja": b"y"}
    assert new_ids[[300, 301]].tolist() == [258, 259]


def with_added(**options):
    """A tokenizer with a special token and an added one, whose texts stand in the corpus too."""
    spec = make_spec(
        vocab_of(), MERGES, pattern=small_spec().pattern, special_tokens={"YY": 300}, added_tokens={"ZZ": 301},
        **options,
    )  # fmt: skip
    return Tokenizer(spec)


def test_special_and_added_tokens_separate_the_files_that_are_counted(tmp_path: Path):
    (tmp_path / "a.txt").write_text("quZZquYYquZZ" * 9)
    tok = with_added(name="mine")
    more = bbpe.extend(tok, tmp_path / "a.txt", 3)
    assert more.merges[len(MERGES) :] == [(b"q", b"u")]
    assert more.spec.vocab[302] == b"qu"
    assert (more.special_tokens, more.added_tokens) == ({"YY": 300}, {"ZZ": 301})
    assert more.encode("quZZqu") == [302, 301, 302]
    # it is not the vocabulary that the name stands for any more
    assert (tok.name, more.name) == ("mine", None)
    less, new_ids = bbpe.prune(more, used_in=tmp_path / "a.txt")
    assert less.merges == [(b"q", b"u")]
    assert (less.name, len(less)) == (None, 256 + 3)
    assert less.encode("quZZqu") == new_ids[[302, 301, 302]].tolist()


def test_ids_to_keep_and_use_both_count():
    """With ids and a corpus a token must be named and used; with an int the last of those used go."""
    tok = bbpe.train_from_iterator(TEXTS, 400, special_tokens=["<s>"])
    used = bbpe.prune(tok, used_in=counts_of(TEXTS[:9]))[1]
    named = range(256, 330)
    both, new_ids = bbpe.prune(tok, named, used_in=counts_of(TEXTS[:9]))
    of_named = bbpe.prune(tok, named)[1]
    check_map(tok, both, new_ids)
    assert ((new_ids >= 0) == ((used >= 0) & (of_named >= 0))).all()
    assert 256 < len(both) < min((used >= 0).sum(), (of_named >= 0).sum())
    some, kept = bbpe.prune(tok, 290, used_in=counts_of(TEXTS[:9]))
    check_map(tok, some, kept)
    assert len(some) == 290
    assert (used[kept >= 0] >= 0).all()
    # of those used that nothing kept is merged of, the last ones go
    gone = [i for i in range(399) if used[i] >= 0 > kept[i]]
    free = {i for i in range(256, 399) if kept[i] >= 0}
    free -= {tok.token_to_id(part) for pair in some.merges for part in pair}
    assert free
    assert all(i < max(gone) for i in free)


def test_what_corpora_are_called_in_errors(tmp_path: Path):
    tok = bbpe.train_from_iterator(TEXTS, 300)
    with pytest.raises(bbpe.CorpusError, match=r"^used_in names no files"):
        bbpe.prune(tok, used_in=[])
    with pytest.raises(bbpe.CorpusError, match=r"^no files given"):
        bbpe.extend(tok, [])


def test_extending_that_cannot_fit_is_refused_while_files_are_counted(tmp_path: Path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("bbpe.budget.Budget.of", classmethod(lambda cls, limit, buffers: cls(1 << 40, 1 << 16)))
    monkeypatch.setattr("bbpe.counting.options._BLOCK", 1 << 14)
    (tmp_path / "a.txt").write_text(" ".join(f"{number:x}" for number in range(80_000)))
    tok, seen = bbpe.train_from_iterator(TEXTS, 300), []
    monkeypatch.setattr("bbpe.training.bpe.resident_bytes", lambda: 10**9)
    counting = bbpe.Counting(max_memory=10**9 + 100_000, threads=1, progress=seen.append)
    with pytest.raises(bbpe.MemoryLimitError, match=r"unique pretokens.*needs about"):
        bbpe.extend(tok, tmp_path / "a.txt", 900_000, counting=counting)
    done = max(report.done for report in seen if report.phase == "count")
    assert 0 < done < (tmp_path / "a.txt").stat().st_size / 2


def test_errors(tmp_path: Path):
    tok = bbpe.train_from_iterator(TEXTS, 300, special_tokens=["<s>"])
    counts = counts_of(TEXTS)
    for call in (
        lambda: bbpe.extend(tok, counts, 0),
        lambda: bbpe.extend(tok, counts_of(TEXTS, "o200k"), 5),
        lambda: bbpe.prune(tok),
        lambda: bbpe.prune(tok, keep=256),
        lambda: bbpe.prune(tok, keep=[300]),
        lambda: bbpe.prune(tok, keep=[-1]),
        lambda: bbpe.prune(tok, used_in=counts_of(TEXTS, "o200k")),
    ):
        with pytest.raises(ValueError, match=r"expected|no token has"):
            call()
    ruled = Tokenizer(small_spec(rules=TextRules((Lowercase(),))))
    signs = bbpe.train_from_iterator(["low lower"], 60, model=bbpe.BPE(alphabet="chars"))
    for call, said in (
        (lambda: bbpe.extend(ruled, counts, 5), "has rules that change texts; only tokenizers of plain bytes can be e"),
        (lambda: bbpe.extend(signs, counts, 5), "has symbols that are characters; only tokenizers of plain bytes can"),
        (lambda: bbpe.prune(ruled, used_in=counts), "has rules that change texts; what a corpus uses cannot be"),
        (lambda: bbpe.prune(signs, keep=50), "has symbols that are characters; only tokenizers of bytes can be pruned"),
    ):
        with pytest.raises(bbpe.VocabularyError, match=f"this tokenizer {said}"):
            call()
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(bbpe.CorpusError):
        bbpe.extend(tok, tmp_path / "empty.txt", 5)


def test_the_command_line(tmp_path: Path, capsys):
    text = tmp_path / "text.txt"
    text.write_text(" ".join(TEXTS), "utf-8")
    tok = bbpe.train_from_iterator(TEXTS, 300, special_tokens=["<s>"])
    paths = [str(tmp_path / name) for name in ("tok.json", "more.json", "less.json", "map.npy", "used.json")]
    tok.save(paths[0])
    assert main(["extend", str(text), "-t", paths[0], "--add", "40", "-o", paths[1], "--quiet"]) == 0
    assert bbpe.load(paths[1]) == bbpe.extend(tok, text, 40)
    assert main(["prune", "-t", paths[1], "--keep", "280", "-o", paths[2], "--map", paths[3], "--json"]) == 0
    less, new_ids = bbpe.prune(bbpe.load(paths[1]), keep=280)
    assert bbpe.load(paths[2]) == less
    assert np.load(paths[3]).tolist() == new_ids.tolist()
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["dropped"] == 60
    assert main(["prune", "-t", paths[1], "--used-in", str(text), "-o", paths[4]]) == 0
    assert bbpe.load(paths[4]) == bbpe.prune(bbpe.load(paths[1]), used_in=text)[0]
    assert main(["prune", "-t", paths[1], "-o", paths[4]]) == 2
    assert main(["extend", "-t", paths[0], "-o", paths[1]]) == 2


@pytest.mark.full
@pytest.mark.parametrize("name", ["cl100k_base", "llama3"])
def test_published_vocabularies(real, corpus, tmp_path, name):
    tok = real(name)
    texts = [corpus("ja", 2_000_000)]
    counts = counts_of(texts, tok.spec.pattern.steps)
    more = bbpe.extend(tok, counts, 500)
    # llama3 has tokens that only whole pretokens are: a new merge may make one of these
    assert len(tok) + 495 <= len(more) <= len(tok) + 500
    assert more.count_tokens(texts[0]) < tok.count_tokens(texts[0])
    assert more.special_tokens == tok.special_tokens
    ranks = more.ranks
    assert all(ranks[token] == rank for token, rank in tok.ranks.items())
    less, new_ids = bbpe.prune(tok, used_in=counts)
    assert less.encode(texts[0]) == new_ids[tok.encode_to_numpy(texts[0])].tolist()
    for made in (more, less):
        tiktoken = pytest.importorskip("tiktoken")
        view = made.as_tiktoken()
        peer = tiktoken.Encoding(
            "x", pat_str=view._pat_str, mergeable_ranks=view._mergeable_ranks, special_tokens=view._special_tokens
        )
        text = corpus("multi", 300_000)
        assert peer.encode_ordinary(text) == made.encode(text)


def test_extending_on_the_command_line_with_another_pattern(tmp_path: Path) -> None:
    """The second stage of SuperBPE; a rank file without a pattern gets the same one for both stages."""
    text, source, ranks, made = (tmp_path / name for name in ("a.txt", "tok.json", "ranks.tiktoken", "more.json"))
    text.write_text("see my dogs and see my eyes " * 40, "utf-8")
    tok = bbpe.train_from_iterator(["see my dogs"], 260)
    tok.save(source)
    tok.save(ranks)
    whole = r"[^\n]+|\n"
    expected = bbpe.extend(tok, text, 20, pattern=whole)
    for name in (source, ranks):
        command = ["extend", str(text), "-t", str(name), "--pattern", whole, "--add", "20", "-o", str(made), "--quiet"]
        assert main(command) == 0
        assert bbpe.load(made).spec.vocab == expected.spec.vocab
        assert bbpe.load(made).pattern == whole
    assert any(token.strip().count(b" ") for token in expected.spec.vocab.values())
