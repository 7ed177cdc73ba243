"""The regex dialect of tokenizer.json: what is followed, what is spelled otherwise, what is refused."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from strings import ALPHABET, adversarial_strings
from vocabularies import byte_level, document, sequence, small_spec, split, write_json

import bbpe
from bbpe import formats
from bbpe.core.split import Splitter
from bbpe.errors import PatternError
from bbpe.formats.huggingface.oniguruma import from_oniguruma, to_oniguruma
from bbpe.splitting.patterns import PATTERNS, get_pattern


@pytest.mark.parametrize("name", [name for name in PATTERNS if name != "none"])
def test_oniguruma_splits_alike(name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    pattern = PATTERNS[name]
    behavior = ("removed", True) if pattern.drops_gaps else ("isolated", False)
    peer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(step), *behavior)
            for step in to_oniguruma(pattern.steps)
        ]
    )
    extra = ["<|startoftext|>", "<|ENDOFTEXT|>", "<|ﬆartoftext|>", "'LL", "'ſx", "12345678", "a\n  ", "𝔄", "ﬀ"]
    rng = random.Random(6)
    for text in [*extra, *("".join(rng.choices([*ALPHABET, *extra], k=rng.randint(1, 12))) for _ in range(1500))]:
        assert [piece for piece, _ in peer.pre_tokenize_str(text)] == list(pattern.split(text)), text


@pytest.mark.parametrize(
    ("regex", "named"),
    [
        (r"a{2}?", r"\{2\}"),
        (r"a{1,2}?", r"\{1,2\}"),
        (r"\w+", r"'\\\\w'"),
        (r"\bx", r"'\\\\b'"),
        (r"[a[bc]]", r"'\[a\[bc\]'"),
        (r"[\p{L}&&[^a]]", "&&"),
        (r"(?i)ab", r"'\(\?i\)'"),
        (r"a(?i:ss)", r"'\(\?i:ss'"),
        (r"(?i:\p{Lu})", r"'\(\?i:'"),
        (r"(?m:.)", r"'\(\?m:'"),
        (r"\x{41}", "x"),
        (r"(?P<name>a)", "name"),
    ],
)
def test_dialects_that_differ(tmp_path: Path, regex: str, named: str) -> None:
    with pytest.raises(PatternError, match=named):
        from_oniguruma(regex, path="tokenizer.json", place="pre_tokenizer")
    value = document(pre_tokenizer=sequence(split(regex), byte_level(use_regex=False)))
    path = write_json(tmp_path / "tokenizer.json", value)
    with pytest.raises(PatternError, match=r"tokenizer\.json: pre_tokenizer\.pretokenizers\[0\]: .*at character \d"):
        formats.load(path)
    assert formats.load(path, pattern="cl100k").pattern.name == "cl100k"


@pytest.mark.parametrize(
    "regex",
    ["(?=a)|ab", "^|b", "$|\n", "a*|bb", "a|b??", "(?:|a)", "(?:(?=b)|a|b)", "(?:a?|b)1*", "(?:ab)*|bb1", "(|a)"],
)
def test_empty_matches_that_come_first(regex: str) -> None:
    with pytest.raises(PatternError, match="may match the empty string"):
        read(regex)
    if not set(regex) & set("^$"):
        with pytest.raises(PatternError, match="may match the empty string"):
            to_oniguruma([regex])


def read(source: str) -> str:
    return from_oniguruma(source, path="tokenizer.json", place="pre_tokenizer")


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (r"\p{N}{1,3}+", r"(?:\p{N}{1,3})+"),
        (r"a\p{N}{2}+|[ab]{2,}+c{1}*", r"a(?:\p{N}{2})+|(?:[ab]{2,})+(?:c{1})*"),
        (r"(?:a|(?:b ){1,2}+){2}++x", r"(?:(?:a|(?:(?:b ){1,2})+){2})++x"),
        (r"(?i:'s|'t){1,2}+", r"(?:(?i:'s|'t){1,2})+"),
        (r"\s+$", r"\s+(?![^\n])"),
        (r"\s++$", r"\s++$"),
        (r"^ +|a$|\$|[$^]", None),
        ("^", None),
        (r"^\s+|\n+$|b", None),
        (r"b|a?1*", None),
        (r"bb|\s*(?=a)", None),
        (r"(?=(?:a|b)+1)", None),
        (r"(?:a+b*)+?|\s?", None),
        (r"(?:^|x) ", None),
    ],
)
def test_what_has_another_spelling_here(there: str, here: str | None) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    spelled = read(there)
    assert here is None or spelled == here
    assert to_oniguruma([spelled]) == [spelled]
    assert read(spelled) == spelled
    peer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(there), "isolated")
    pattern = get_pattern((spelled,))
    rng = random.Random(8)
    for _ in range(3000):
        text = "".join(rng.choices("ab c1234'st\n\r\t x", k=rng.randint(1, 14)))
        assert [piece for piece, _ in peer.pre_tokenize_str(text)] == list(pattern.split(text)), text


def test_spelling_of_cl100k_in_tokenizer_json(tmp_path: Path) -> None:
    """tiktoken's regex in a tokenizer.json is another one: numbers are not cut."""
    tokenizers = pytest.importorskip("tokenizers")
    tiktokens = (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s"
    )
    value = document(pre_tokenizer=sequence(split(tiktokens), byte_level(use_regex=False)))
    pattern = formats.load(write_json(tmp_path / "tokenizer.json", value)).pattern
    assert pattern.scheme == replace(get_pattern("cl100k").scheme, number_max=0)
    assert (pattern.name, pattern.open_tail) == (None, 2)
    peer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(tiktokens), "isolated")
    compiled = Splitter(pattern.scheme)
    for text in ["12345678", "a\n  ", "a \n b\n\n", *adversarial_strings(2000, seed=9)]:
        pieces = [piece for piece, _ in peer.pre_tokenize_str(text)]
        assert pieces == list(pattern.split(text)), text
        ends = np.cumsum([len(piece.encode()) for piece in pieces])
        assert compiled.spans(text.encode())[1:].tolist() == ends.tolist()


def test_pattern_that_tokenizer_json_cannot_hold(tmp_path: Path) -> None:
    spec = small_spec(pattern=r"\p{N}{1,3}+|\w+")
    with pytest.raises(PatternError, match=r"tokenizer\.json cannot hold this pattern"):
        formats.dump(spec, tmp_path / "tokenizer.json")
    assert not list(tmp_path.iterdir())


ATOMS = "a b [ab] 1 \\s \\n ^ $ (?=a) (?!b) (?<=a) (?:a|b) (?:ab|1) (?:a|) (?:^|b) [^a] (?:a+b?)".split()
BARE = {"^", "$", "(?=a)", "(?!b)", "(?<=a)", "(?:^|b)"}  # Oniguruma repeats none of these
QUANTIFIERS = ["", "", "", *"? * + ?? *? +? ++ *+ ?+ {1,2} {0,2} {1,2}+ {2}+ {2}*".split()]


def test_random_regexes() -> None:
    """Whatever is not refused splits as HF splits it."""
    tokenizers = pytest.importorskip("tokenizers")
    rng = random.Random(2)
    accepted = 0
    for _ in range(1500):
        clauses = []
        for _ in range(rng.randint(1, 3)):
            atoms = rng.choices(ATOMS, k=rng.randint(1, 3))
            clauses.append("".join(atom if atom in BARE else atom + rng.choice(QUANTIFIERS) for atom in atoms))
        source = "|".join(clauses)
        try:
            pattern = get_pattern((read(source),))
        except PatternError:
            continue
        peer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(source), "isolated")
        accepted += 1
        for _ in range(40):
            text = "".join(rng.choices("ab1\n ", k=rng.randint(1, 8)))
            assert [piece for piece, _ in peer.pre_tokenize_str(text)] == list(pattern.split(text)), (source, text)
    assert accepted > 400


def test_tokenizer_json_records_the_unicode_version(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    for pattern in ("gpt2", "cl100k", "deepseek_v3"):
        path = tmp_path / f"{pattern}.json"
        tok = bbpe.train_from_iterator(["low lower lowest"], 260, pattern=pattern)
        tok.save(path)
        assert '"unicode_version": "16.0.0"' in path.read_text("utf-8").replace('":"', '": "')
        assert bbpe.load(path) == tok
        assert tokenizers.Tokenizer.from_file(str(path)).encode("lowest 12").ids == tok.encode("lowest 12")
