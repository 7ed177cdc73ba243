"""Evaluation and comparison: figures equal those of a plain loop, over this package and over HF's `tokenizers`."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex

import bbpe
from bbpe.cli import main
from bbpe.report.curves import Curve, CurvePoint
from bbpe.report.measures import count_ids

TEXTS = ["see my eyes first, see my dogs\n", "low lower lowest slow\n", "世界 hello é\n", "", "newest 123 dogs"] * 4
SMALL = bbpe.train_from_iterator(TEXTS, 270)
LARGE = bbpe.train_from_iterator(TEXTS, 300)
BYTES = bbpe.train_from_iterator(TEXTS, 256)
WORDS = bbpe.train_from_iterator(TEXTS, 60, model="wordpiece")
UNIGRAM = bbpe.train_from_iterator(TEXTS, 320, model="unigram")


@pytest.mark.parametrize("size", [0, 1, (1 << 17) - 1, 1 << 17, (1 << 17) + 1, 300_000])
def test_ids_are_counted_in_parts(size: int) -> None:
    ids = np.random.default_rng(size).integers(0, 1000, size, np.uint32)
    counts = np.full(1001, 5, np.int64)
    count_ids(ids, counts)
    found = Counter(ids.tolist())
    assert counts.tolist() == [5 + found[token_id] for token_id in range(1001)]


@pytest.mark.parametrize("tok", [SMALL, LARGE, WORDS, UNIGRAM], ids=["small", "large", "wordpiece", "unigram"])
def test_the_figures_of_a_plain_loop(tok: bbpe.Tokenizer) -> None:
    rows = [tok.encode(text) for text in TEXTS]
    counts = Counter(token_id for row in rows for token_id in row)
    total = sum(counts.values())
    spans = [tok.encode_with_offsets(text)[1] for text in TEXTS]
    words = split = 0
    for text, places in zip(TEXTS, spans, strict=True):
        for word in regex.finditer(r"[\p{L}\p{M}]+", text):
            words += 1
            split += any(word.start() < start < word.end() for start in places[:, 0].tolist()) or any(
                start == other and word.start() <= start < word.end()
                for start, other in zip(places[1:, 0].tolist(), places[:-1, 0].tolist(), strict=True)
            )
    row = bbpe.evaluate(tok, texts=TEXTS).rows[0]
    assert (row.text.documents, row.text.bytes) == (len(TEXTS), sum(len(text.encode()) for text in TEXTS))
    assert (row.text.characters, row.text.words) == (sum(map(len, TEXTS)), words)
    assert (row.tokens, row.used) == (total, len(counts))
    assert row.split_words == split
    shares = [count / total for count in counts.values()]
    entropy = math.log(sum(share**2.5 for share in shares)) / (1 - 2.5)
    assert row.renyi_efficiency == pytest.approx(entropy / math.log(len(tok)))
    if tok is WORDS:
        assert row.unknown == counts[tok.unk_token_id]
    low, high = row.bytes_per_token_interval or (0, 0)
    assert low <= (row.bytes_per_token or 0) <= high


def test_the_figures_of_a_loop_over_tokenizers(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    LARGE.save(tmp_path / "t.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    assert bbpe.evaluate(LARGE, texts=TEXTS).rows[0].tokens == sum(len(peer.encode(text).ids) for text in TEXTS)


def test_single_bytes_cost_parity_and_changes() -> None:
    result = bbpe.evaluate({"a": SMALL, "b": LARGE}, texts={"en": TEXTS[:2], "zh": [TEXTS[2]]}, parity="en")
    assert result.row("a", "zh").single_bytes == sum(
        len(SMALL.id_to_token(token_id)) == 1 and SMALL.id_to_token(token_id) >= b"\x80"
        for token_id in SMALL.encode(TEXTS[2])
    )
    assert result.row("b", "en").cost_ratio == result.row("b", "en").tokens / result.row("a", "en").tokens
    assert result.row("b", "zh").parity == result.row("b", "zh").tokens / result.row("b", "en").tokens
    assert (result.row("a", "en").changed, result.row("b", "en").changed) == (0, 2)
    assert result.row("b", "zh").bytes_per_token_interval is None
    assert bbpe.evaluate([SMALL, SMALL], texts=TEXTS).rows[1].changed == 0


def test_documents_of_equal_length_may_have_changed() -> None:
    """Also where others differ in length, and where none does."""
    known = [bytes([byte]) for byte in range(256)] + [b"ab", b"cd"]
    first = bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate(known)}, pattern="gpt2")
    known[256:] = [b"cd", b"ef"]
    other = bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate(known)}, pattern="gpt2")
    texts = {"ab": "longer", "cd": "other id", "xy": "equal", "": "equal", "ef": "shorter", "cd x": "other id"}
    assert [len(first.encode(text)) - len(other.encode(text)) for text in texts] == [-1, 0, 0, 0, 1, 0]
    for chosen in (list(texts), ["ab", "cd", "xy"], ["xy", "cd", "", "cd x"], ["cd"], ["xy"]):
        expected = sum(texts[text] != "equal" for text in chosen)
        assert bbpe.evaluate([first, other], texts=chosen).rows[1].changed == expected, chosen


def test_intervals_are_those_of_a_plain_loop() -> None:
    """95 % of the samples, of the ratio of this tokenizer to the first one."""
    rng = random.Random(4)
    texts = [" ".join(rng.choices("see my eyes first low lower newest 世界 123".split(), k=rng.randint(1, 30)))
             for _ in range(60)]  # fmt: skip
    rows = bbpe.evaluate({"small": SMALL, "bytes": BYTES}, texts=texts, seed=7).rows
    sizes = np.array([[len(text.encode()), len(SMALL.encode(text)), len(BYTES.encode(text))] for text in texts])
    drawn = np.random.default_rng(7).integers(0, len(texts), (1000, len(texts)), np.int32)
    sums = np.array([sizes[chosen].sum(axis=0) for chosen in drawn], np.float64)
    for row, place in zip(rows, (1, 2), strict=True):
        ratios = sorted((sums[:, 0] / sums[:, place]).tolist())
        assert row.bytes_per_token_interval == pytest.approx((np.quantile(ratios, 0.025), np.quantile(ratios, 0.975)))
    costs = sums[:, 2] / sums[:, 1]
    assert rows[0].cost_ratio_interval is None
    assert rows[1].cost_ratio_interval == pytest.approx((np.quantile(costs, 0.025), np.quantile(costs, 0.975)))
    low, high = rows[1].cost_ratio_interval or (0, 0)
    assert 1 < low < (rows[1].cost_ratio or 0) < high


def test_lines_are_documents_and_files_are_corpora(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("see\r my\n\neyes")
    assert bbpe.evaluate(SMALL, tmp_path / "a.txt").rows[0].text.documents == 1
    row = bbpe.evaluate(SMALL, [tmp_path / "a.txt"], document="line").rows[0]
    assert row.text.documents == 3
    assert row.tokens == sum(len(SMALL.encode(line)) for line in ("see\r my\n", "\n", "eyes"))


def test_many_documents_are_resampled_in_groups() -> None:
    texts = [random.Random(number).choice(TEXTS) for number in range(3000)]
    low, high = bbpe.evaluate(SMALL, texts=texts).rows[0].bytes_per_token_interval or (0.0, 0.0)
    assert 0 < high - low < 0.3
    assert bbpe.evaluate(SMALL, texts=texts, seed=0).rows == bbpe.evaluate(SMALL, texts=texts, seed=0).rows


def test_tables() -> None:
    result = bbpe.evaluate({"<a>": SMALL, "b|c": LARGE}, texts={"x": TEXTS})
    assert result.table(wide=True).text().startswith("corpus  tokenizer  documents  bytes")
    assert "b\\|c" in result.to_markdown()
    assert "unknown" not in str(result)
    for page in (result.to_html(), result._repr_html_()):
        assert "&lt;a&gt;" in page
        assert "<a>" not in page
    assert json.loads(json.dumps(result.as_dict()))["rows"][0]["tokens"] == result.rows[0].tokens


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="parity is 'z'; expected the name of a corpus: 'x'"):
        bbpe.evaluate(SMALL, texts={"x": TEXTS}, parity="z")
    with pytest.raises(ValueError, match="tokenizers is empty; expected a tokenizer or several"):
        bbpe.evaluate([], texts=TEXTS)
    with pytest.raises(TypeError, match=r"^tokenizers\[0\] is 'gpt2', a str; expected a Tokenizer"):
        bbpe.evaluate(["gpt2"], texts=TEXTS)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="at most 300 tokens"):
        bbpe.learning_curve(LARGE, [301], texts=TEXTS)
    with pytest.raises(ValueError, match="shares is"):
        bbpe.corpus_curve(TEXTS, 300, held_out_texts=TEXTS, shares=[2])


def test_a_prefix_of_the_merges_is_a_smaller_training() -> None:
    curve = bbpe.learning_curve(LARGE, [270, 280, 300], texts={"x": TEXTS})
    for point in curve:
        smaller = bbpe.train_from_iterator(TEXTS, point.size)
        assert point.tokens == sum(len(smaller.encode(text)) for text in TEXTS)
    points = curve.points
    assert points[0].gain is None
    assert points[1].gain == pytest.approx((points[1].bytes_per_token - points[0].bytes_per_token) * 100)
    assert curve.knee("x") is None  # it bends upwards


@pytest.mark.parametrize(("heights", "knee"), [
    ((10, 20, 30, 34, 36, 38, 39, 40), 40), ((10, 11, 12, 13, 15, 20, 30, 40), None), ((20,) * 8, None), ((5,), None),
    ((10, 20, 30, 34, 36, 38, 39), None),  # seven points are too few
])  # fmt: skip
def test_a_knee_is_where_a_curve_bends_down(heights: tuple[int, ...], knee: int | None) -> None:
    points = (CurvePoint(10 << place, "x", height, 10) for place, height in enumerate(heights))
    curve = Curve("vocabulary size", tuple(points))
    assert curve.knee("x") == knee
    assert curve.as_dict()["knees"] == {"x": knee}


def test_a_growing_corpus() -> None:
    curve = bbpe.corpus_curve(TEXTS, 290, held_out_texts={"x": ["see my lowest dogs"]})
    assert [point.size for point in curve] == sorted(point.size for point in curve)
    assert curve.points[0].changed is None
    assert all(0 <= (point.changed or 0) <= 1 for point in curve)


@pytest.mark.parametrize("seed", range(5))
def test_comparison_finds_an_exchanged_merge(seed: int) -> None:
    rng = random.Random(seed)
    merges = LARGE.merges
    place = rng.randrange(len(merges) - 1)
    merges[place], merges[place + 1] = merges[place + 1], merges[place]
    try:
        other = bbpe.Tokenizer.from_merges(LARGE.spec.vocab, merges, pattern="gpt2")
    except bbpe.VocabularyError:
        return
    result = bbpe.compare(LARGE, other, texts=TEXTS)
    differing = {text for text in TEXTS if LARGE.encode(text) != other.encode(text)}
    assert (result.first is None) == (not differing)
    for pair in result.pairs:
        text = pair.pretoken
        assert [list(pair.left), list(pair.right)] == [
            [tok.id_to_token(token_id) for token_id in tok.encode(text)] for tok in (LARGE, other)
        ]
    assert "merges" in result.differences


def test_comparison_of_a_corpus() -> None:
    result = bbpe.compare(SMALL, LARGE, texts=TEXTS, names=("small", "large"))
    assert (result.shared, result.same_ids, result.only) == (270, 270, (0, 30))
    assert result.tokens == tuple(sum(len(tok.encode(text)) for text in TEXTS) for tok in (SMALL, LARGE))
    more = [abs(pair.more) for pair in result.pairs]
    assert more == sorted(more, reverse=True)
    assert result.differences == ("tokens or their ids", "merges")
    assert "30 only in large" in " ".join(str(result).split())
    json.dumps(result.as_dict())
    assert "<table>" in result._repr_html_()
    same = bbpe.compare(SMALL, SMALL)
    assert same.first is None
    assert same.equal == same.texts > 100


def test_comparison_counts_equal_boundaries_whatever_the_ids() -> None:
    """Of a vocabulary with all ids moved, of another one, of words with marks, and of one that changes texts."""
    vocab = {(token_id + 7) % len(SMALL): token for token_id, token in SMALL.spec.vocab.items()}
    moved = bbpe.Tokenizer.from_merges(vocab, SMALL.merges, pattern="gpt2")
    result = bbpe.compare(SMALL, moved, texts=TEXTS, names=("a", "b"))
    assert (result.equal, result.equal_ids, result.pairs) == (result.texts, 0, ())
    assert f"both cut {result.texts} of {result.texts} different pretokens" in str(result)
    assert "the same ids" not in str(result)
    assert result.first is not None
    pretokens = set(bbpe.split("\0".join(TEXTS), pattern="gpt2"))
    for left, right in ((SMALL, LARGE), (LARGE, SMALL), (LARGE, moved), (WORDS, UNIGRAM), (LARGE, WORDS)):
        result = bbpe.compare(left, right, texts=TEXTS, most=10_000)
        differing = {pair.pretoken for pair in result.pairs}
        assert result.equal == result.texts - len(differing)
        for text in differing if WORDS not in (left, right) else ():  # which has no tokens for white space
            starts = [tok.encode_with_offsets(text, "byte")[1][1:, 0].tolist() for tok in (left, right)]
            assert starts[0] != starts[1]
        if left is SMALL:
            same = [text for text in pretokens if "\0" not in text and text.encode() not in differing]
            assert all(
                [len(left.id_to_token(each)) for each in left.encode(text)]
                == [len(right.id_to_token(each)) for each in right.encode(text)]
                for text in same
            )


def test_comparison_says_who_needs_more_tokens() -> None:
    result = bbpe.compare(SMALL, LARGE, texts=TEXTS, names=("small", "large"))
    small, large = result.tokens or (0, 0)
    fewer, more = (f"{100 * (small - large) / base:.0f} %" for base in (small, large))
    assert f"large needs {fewer} fewer tokens than small: {large}, not {small}" in str(result)
    assert result.table().header[-1] == "large needs"
    assert {row[-1].split()[1] for row in result.table().rows if row[-1] != "as many"} == {"fewer"}
    back = bbpe.compare(LARGE, SMALL, texts=TEXTS, names=("large", "small"))
    assert f"small needs {more} more tokens than large: {small}, not {large}" in str(back)
    assert [pair.more for pair in back.pairs] == [-pair.more for pair in result.pairs]
    assert str(bbpe.compare(SMALL, SMALL, texts=TEXTS)).startswith("left and right are identical: ")


def test_comparison_of_tokens_without_places(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise bbpe.VocabularyError("a rule has no offsets")

    monkeypatch.setattr(bbpe.Tokenizer, "encode_with_offsets", refuse)
    result = bbpe.compare(SMALL, SMALL, texts=TEXTS)
    assert (result.equal, result.equal_ids, result.first) == (None, result.texts, None)
    assert "the same places" not in str(result)
    assert f"the same ids for {result.texts} different pretokens of the corpus" in str(result)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SMALL.save(tmp_path / "a.json")
    LARGE.save(tmp_path / "b.json")
    (tmp_path / "x.txt").write_text("".join(TEXTS))
    a, b, x, page = (str(tmp_path / name) for name in ("a.json", "b.json", "x.txt", "out.html"))
    assert main(["eval", x, "-t", a, "-t", b, "--html", page]) == 0
    assert re.search(r"^x.txt +1\.647 +4\.000\*$", capsys.readouterr().out, re.M)
    assert "default-src 'none'" in Path(page).read_text()
    assert main(["eval", x, "-t", b, "--sizes", "270,300", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["points"][1]["size"] == 300
    assert main(["compare", a, b, x, "--markdown"]) == 0
    assert "| pretoken | a | b |" in capsys.readouterr().out
    assert main(["compare", a, b, x, "--html", x]) == 1
    assert "would replace an input" in capsys.readouterr().err


def test_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []
    figure = pytest.importorskip("matplotlib.figure").Figure
    saved = figure.savefig
    monkeypatch.setattr(figure, "savefig", lambda self, *args, **how: figures.append(self) or saved(self, *args, **how))
    drawn = {"e": bbpe.evaluate([SMALL, LARGE], texts=TEXTS), "c": bbpe.learning_curve(LARGE, [270, 300], texts=TEXTS)}
    for name, found in drawn.items():
        for suffix in ("svg", "png"):
            found.plot(tmp_path / f"{name}.{suffix}")
            assert (tmp_path / f"{name}.{suffix}").stat().st_size > 5000
        with pytest.raises(ValueError, match=r"the figure cannot have the suffix '\.gif'; expected \.svg or"):
            found.plot(tmp_path / "a.gif")
    assert "bytes per token" in (tmp_path / "e.svg").read_text()
    for axes in (each.axes[0] for each in figures):
        assert not axes.spines["top"].get_visible()
        assert not axes.get_legend().get_frame_on()
