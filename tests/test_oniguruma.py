"""The regex dialect of tokenizer.json: what is followed, what is spelled otherwise, what is refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from strings import ALPHABET
from vocabularies import byte_level, document, sequence, small_spec, split, write_json

from bbpe import formats
from bbpe.errors import PatternError
from bbpe.formats.oniguruma import from_oniguruma, to_oniguruma
from bbpe.patterns import PATTERNS


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
        (r"\p{N}{1,3}+", r"'\{1,3\}\+'; write \(\?>"),
        (r"a{2}?", r"\{2\}"),
        (r"^a|b", r"'\^'"),
        (r"a$", r"'\$'"),
        (r"\s+$", r"'\$'"),
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


def test_pattern_that_tokenizer_json_cannot_hold(tmp_path: Path) -> None:
    spec = small_spec(pattern=r"\p{N}{1,3}+|\w+")
    with pytest.raises(PatternError, match=r"tokenizer\.json cannot hold this pattern"):
        formats.dump(spec, tmp_path / "tokenizer.json")
    assert not list(tmp_path.iterdir())
