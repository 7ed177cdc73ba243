"""The regex dialect of tokenizer.json: what is followed, what is spelled otherwise, what is refused."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import regex
from framed_regexes import CHARACTERS, random_pattern
from strings import ALPHABET, adversarial_strings
from vocabularies import byte_level, document, sequence, small_spec, split, write_json

import bbpe
from bbpe import formats
from bbpe.core.split import Splitter
from bbpe.errors import PatternError
from bbpe.formats.huggingface.normalizers import from_oniguruma, to_oniguruma
from bbpe.splitting.patterns import PATTERNS, get_pattern, recognise


def test_cl100k_is_written_as_all_readers_read_it(tmp_path: Path) -> None:
    r"""Without `\s++$`, of which the package of Hugging Face for JavaScript makes another regex."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    bbpe.Tokenizer.from_ranks(ranks, pattern="cl100k").save(tmp_path / "tokenizer.json")
    steps = json.loads((tmp_path / "tokenizer.json").read_text())["pre_tokenizer"]["pretokenizers"]
    saved = steps[0]["pattern"]["Regex"]
    assert "$" not in saved
    assert bbpe.load(tmp_path / "tokenizer.json").pattern == "cl100k"
    rng = random.Random(3)
    blanks = [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "a", "1234", "'s", "!"]
    for text in ("".join(rng.choices(blanks, k=rng.randint(1, 9))) for _ in range(400)):
        assert bbpe.split(text, [saved, r"[\s\S]+"]) == bbpe.split(text, "cl100k"), text


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
    for text in [*extra, *("".join(rng.choices([*ALPHABET, *extra], k=rng.randint(1, 12))) for _ in range(150))]:
        assert [piece for piece, _ in peer.pre_tokenize_str(text)] == list(pattern.split(text)), text


@pytest.mark.parametrize(
    ("regex", "named"),
    [
        (r"(?P<name>a)", "name"),
        (r"a\X", r"\\\\X"),
        (r"a\Kb", r"\\\\K"),
        (r"(?<x>a)\1", r"\\\\1"),
        (r"\1(a)", r"\\\\1"),
        (r"(?i)(a)\1", r"\\\\1"),
        (r"(?x) a b", r"\(\?x\)"),
        (r"(?i)[\p{L}x]", r"in a class that ignores case"),
        (r"(?i)[a-z&&[^b]]", "an intersection of classes that ignores case"),
        (r"(?i)\u00df", "'ß' that ignores case"),
        (r"(?i)a[à-ö]", "in a class that ignores case"),
        (r"(?i)s(?:s)", "'ss' that ignores case in two groups"),
        (r"(?i)[a[^b]]", "a negated class within a class that ignores case"),
        (r"[f-[x]b]", "a range that ends with a class"),
        (r"[[:any:]]", r"'\[:any:\]' is not known"),
        (r"[a&&]", "a class is empty"),
        (r"[\R]", "in a class is not known"),
        (r"(?<=\R)a", r"\\\\R"),
        (r"(?<!x(?:\R))a", r"\\\\R"),
        (r"(?i)[\P{L}x]", r"in a class that ignores case"),
        (r"[\x{110000}]", "is no character"),
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
    [
        "(?=a)|ab", "^|b", "$|\n", "a*|bb", "a|b??", "(?:|a)", "(?:(?=b)|a|b)", "(?:a?|b)1*", "(?:ab)*|bb1", "(|a)",
        "(?:a+){0,2}?", "(?:aa){0,3}?", "b|(?:a{2}){0,}?", r"\s*+$|a", r"\s*+$|\s", r"(?:\s*+$|a)+",
    ],
)
def test_empty_matches_that_come_first(regex: str) -> None:
    with pytest.raises(PatternError, match="may match the empty string"):
        read(regex)
    if not set(regex) & set("^$"):
        with pytest.raises(PatternError, match="may match the empty string"):
            to_oniguruma([regex])


@pytest.mark.parametrize("letters", ["ss", "x|ff", "'fI|y", "aFLb", "[ab]st|c", "Fi"])
@pytest.mark.parametrize(("before", "at"), [("", 0), (r"a|\s+", 5)])
def test_letters_that_oniguruma_joins_are_not_written_where_case_is_ignored(
    letters: str, before: str, at: int
) -> None:
    """It matches them as one character, such as U+FB00, which the `regex` package does not."""
    with pytest.raises(PatternError, match=rf"cannot hold this pattern: .* at character {at} ignores case and has let"):
        to_oniguruma([f"{before}(?i:{letters})"])
    # apart from each other, or with their case, they are written
    split = "|".join(filter(str.isalpha, letters))
    for same in (f"{before}(?i:{split})", f"{before}{letters}"):
        assert to_oniguruma([same]) == [same]


def read(source: str) -> str:
    return from_oniguruma(source, path="tokenizer.json", place="pre_tokenizer")


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (r"\p{N}{1,3}+", r"(?:\p{N}{1,3})+"),
        (r"a\p{N}{2}+|[ab]{2,}+c{1}*", r"a(?:\p{N}{2})+|(?:[ab]{2,})+(?:c{1})*"),
        (r"(?:a|(?:b ){1,2}+){2}++x", r"(?:(?:a|(?:(?:b ){1,2})+){2})++x"),
        (r"(?i:'s|'t){1,2}+", r"(?:(?i:'s|'t){1,2})+"),
        (r"(?i:'1)\.", r"(?:'1)\."),
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
    pattern = recognise((spelled,))
    rng = random.Random(8)
    for _ in range(3000):
        text = "".join(rng.choices("ab c1234'st\n\r\t x", k=rng.randint(1, 14)))
        assert [piece for piece, _ in peer.pre_tokenize_str(text)] == list(pattern.split(text)), text


TRANSLATED = [
    r"(==|a|,?)", r"(?:(?:th|\s)|e?)",
    r"[^\n&&é]+", r"[^b\W&&[^a]]", r"(?i)sst", r"(?i)ffia", r"[a-&&[-b]]+",
    r"\w+|[^\w\s]+", r"\W+", r"[\W_]+", r"[^\W\d_]+", r"[\w.-]+", r"\h+", r"[\H]", r"\R", r"\R+|\s", r"\N+", r"\O",
    r"[[:space:]]+", r"[^[:space:]]+", r"[[:alpha:]]+|[[:digit:]]", r"[[:^alpha:]]+", r"[[:punct:]]",
    r"[[:^punct:]]+", r"[[:upper:][:lower:]]+", r"[[:alnum:]_]+", r"[[:xdigit:]]+", r"[[:graph:]]+", r"[[:print:]]+",
    r"[T[^a-m]]+", r"[e[^a-z][^n-z]]+", r"[^T[^a-m]]+",
    r"[[:blank:]]+", r"[[:cntrl:]]", r"[[:ascii:]]+", r"[[:word:]]+", r"\p{Alpha}+", r"\P{Alnum}+", r"\p{^Space}+",
    r"\p{Punct}", r"\p{Word}+", r"\bthe\b", r"\b", r"\B.", r"\w+\b|x", r"\Athe|e\z|2\Z", r"\d+", r"\S+", r"[^\w\s]",
    r"\d{3}|\D+?", r"[a-c[x-z]]+", r"[a-z&&[^aeiou]]+", r"[^a-z&&[^e]]+", r"[\p{L}&&[^\p{Lu}]]+", r"[^[^ab]]",
    r"[a[^\p{L}]]+", r"[]a-]", r"[^]]", r"[a||b~~]+", r"[\u0061\x{62}\x20\e\v\b]", r"\x{e9}|\u00e9", r"\07|\t",
    r"[\d&&[^1-2]]", r"[ab&&bc&&[b]]", r"(?i)the", r"(?i)ST|ff", r"(?i)ffi+", r"(?i)ss", r"(?i:ss)x?", r"(?i)s+t",
    r"(?i)k[a-s]", r"(?i)[^s\p{L}]+", r"(?i)\p{Lu}", r"x(?i)t|he", r"(?:x(?i)t|he)x", r"(?i:a(?-i:b))", r"(?i)é",
    r"(?i)[é]+", r"(?i)\w", r"(?i)[[:digit:]f]+", r"(?i)σ", r"(?m:e.)+", r"(?m).+", r"(?<name>t)h", r"t(?#comment)h",
    r"(\[[^\]]+]|Br?|C|t|e|\(|\)|=|\+|\\|\/|%[0-9]{2}|[0-9])", r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])",
    r"a]|b}|{x|x{|t{,}|x{a}", r"(.)\1+", r"([a-z])([a-z])?\2|\s", r"(?=e)|(?<=\s)",
    r"a{,2}b", r"(?:ab){2}?c", r"a{1,2}?", r"(?i)'(?:s|t|re)", r"(?i:[sdmt]|ll)x",
]  # fmt: skip
# runs of a set and runs of all others are the same pieces
TRANSLATED += [each[:-1] for each in TRANSLATED if each.endswith("+") and "|" not in each]


@pytest.mark.parametrize("there", TRANSLATED)
def test_constructs_that_mean_something_else(there: str) -> None:
    """The pieces of `tokenizers`, on text of characters that were in Unicode long ago; the spelling is read again."""
    tokenizers = pytest.importorskip("tokenizers")
    spelled = read(there)
    assert to_oniguruma([spelled]) == [spelled]
    assert read(spelled) == spelled
    peer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(there), "isolated")
    same = tokenizers.pre_tokenizers.Split(tokenizers.Regex(spelled), "isolated")
    pattern, rng = recognise((spelled,)), random.Random(there)
    words = ["the", "THE", "ss", "ffi", "fl", "st", "abc", "12", "xyz", "\r\n", "'s", "'RE", "a]b"]
    chars = "teh xaA1_-.,'\"\n\r\t\x0b\x07\x1b\x08é²½½àÉßẞſKﬁﬀﬆİıσςΣ中٣\u0301\u0345\u00a0\u2028\u200d\u0085ͅ$+<ⅷⅨ\x00𝔄"
    for _ in range(50):
        text = "".join(rng.choices([*chars, *words], k=rng.randint(1, 9)))
        pieces = [piece for piece, _ in peer.pre_tokenize_str(text)]
        assert pieces == list(pattern.split(text)), (text, spelled)
        assert pieces == [piece for piece, _ in same.pre_tokenize_str(text)], (text, spelled)


def test_a_pattern_with_nested_classes_is_recognised(tmp_path: Path) -> None:
    """BLOOM's files have a class within a class."""
    step = read(r" ?[^(\s|[.,!?…。，、।۔،])]+")
    assert get_pattern((step,)) == PATTERNS["bloom"]


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
    for _ in range(250):
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
        for _ in range(20):
            text = "".join(rng.choices("ab1\n ", k=rng.randint(1, 8)))
            assert [piece for piece, _ in peer.pre_tokenize_str(text)] == list(pattern.split(text)), (source, text)
    assert accepted > 58


@pytest.mark.parametrize(("patterns", "count"), [(60, 60), pytest.param(300, 2000, marks=pytest.mark.full)])
def test_framed_regexes(patterns: int, count: int) -> None:
    """What Oniguruma takes and bbpe does not refuse splits as HF splits it, in every script and at every line end."""
    tokenizers = pytest.importorskip("tokenizers")
    rng = random.Random(count)
    texts = ["".join(rng.choices(CHARACTERS, k=rng.randint(1, 12))) for _ in range(count)]
    accepted = 0
    for _ in range(patterns):
        source = random_pattern(rng)
        try:
            peer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(source), "isolated")
            pattern = get_pattern((read(source),))
        except Exception:  # `tokenizers` raises no narrower class
            continue
        accepted += 1
        for text in texts:
            assert [piece for piece, _ in peer.pre_tokenize_str(text)] == list(pattern.split(text)), (source, text)
    assert accepted > patterns / 2


def test_tokenizer_json_records_the_unicode_version(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    for pattern in ("gpt2", "cl100k", "deepseek_v3"):
        path = tmp_path / f"{pattern}.json"
        tok = bbpe.train_from_iterator(["low lower lowest"], 260, pattern=pattern)
        tok.save(path)
        assert '"unicode_version": "16.0.0"' in path.read_text("utf-8").replace('":"', '": "')
        assert bbpe.load(path) == tok
        assert tokenizers.Tokenizer.from_file(str(path)).encode("lowest 12").ids == tok.encode("lowest 12")


NAMED = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()
#: Characters of which each is in some named set and not in one like it.
BORDERS = (
    "Aaf G9_\u2167\u2177\u24b6\u24d0\u00aa\u00b2\u00bd\u0661\u203f\u200c\u0345\u0301\u20dd\u00ad\u20ac+!^$ \t\n"
    "\x0b\x07\x85\u00a0\u2028\u2029\u3000\u4e2d\u3007\u01c5\u02b0\uff21\uff11\u0378\ue000\U0001f600"
)


@pytest.mark.parametrize("name", NAMED)
def test_named_sets(name: str) -> None:
    tokenizers, of_text = pytest.importorskip("tokenizers"), name.capitalize()
    classes = [f"[[:{name}:]]", f"[[:^{name}:]]", rf"[\p{{{of_text}}}]"]
    for source in (*classes, rf"\p{{{of_text}}}", rf"\P{{{of_text}}}", rf"\p{{^{of_text}}}"):
        judge = tokenizers.pre_tokenizers.Split(tokenizers.Regex(source), "removed")
        ours = regex.compile(from_oniguruma(source, path="x", place="y"))
        theirs = [char for char in BORDERS if not judge.pre_tokenize_str(char)]
        assert [char for char in BORDERS if ours.fullmatch(char)] == theirs, source
