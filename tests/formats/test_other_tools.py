"""Files of other tools: fastBPE's codes, minbpe's models, RWKV's vocabularies, YouTokenToMe's models."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from word_tools import YTTM, yttm_file

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError

TEXTS = ["see my eyes first", "see my dogs", "naïve café 12 中文 \U0001f600"]


@pytest.fixture(scope="module")
def corpus_tokenizer() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(TEXTS * 5, 300, special_tokens=["<|end|>"])


def test_words_of_codes_end_at_blanks_and_line_ends(tmp_path: Path) -> None:
    """As for subword-nmt other white space is a part of a word, and a given pattern drops what is between words."""
    path = tmp_path / "a.codes"
    path.write_text("#version: 0.2\nn \u00a0\nn\u00a0 c\na \u3000\na\u3000 b</w>\nm e</w>\n", encoding="utf-8")
    tok = bbpe.load(path)
    assert str(tok.pattern) == "subword_nmt"
    others = [bbpe.load(path, pattern=pattern) for pattern in (r"[^ \r\n]+", r"[^ \n]+")]
    for text in ("iron\u00a0cement", "a\u3000b me", "n\u00a0c\nme  me", " me ", "a\tb", "\u2028me"):
        assert [other.encode(text) for other in others] == [tok.encode(text)] * 2, ascii(text)
    ids = [tok.token_to_id("a\u3000b</w>"), tok.token_to_id("me</w>")]
    assert tok.encode("a\u3000b me\r\n") == tok.encode("a\u3000b me") == ids
    assert bbpe.load(path, pattern=r"\w+").encode("me, me!") == tok.encode("me me")
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path / "tokenizer.json") == tok


def test_codes_with_counts(tmp_path: Path) -> None:
    old, new = tmp_path / "old.codes", tmp_path / "fastbpe"
    old.write_text("#version: 0.2\ne n</w>\nt h\nth e</w>\n中 1\nm y</w>\n", "utf-8")
    new.write_text("e n</w> 1423\nt h 900\nth e</w> 800\n中 1 5\nm y</w> 12\n", "utf-8")
    assert bbpe.load(old) == bbpe.load(new)
    new.write_text("e n</w> 1423\nt h\n", "utf-8")
    with pytest.raises(VocabularyError, match=r"line 2: found 't h'; expected two symbols and a count"):
        bbpe.load(new)


def minbpe_ids(data: bytes, merges: Mapping[tuple[int, int], int]) -> list[int]:
    """The ids of one pretoken as minbpe defines them: the earliest merge first, all its pairs at once."""
    ids = list(data)
    while True:
        pairs = [pair for pair in pairwise(ids) if pair in merges]
        if not pairs:
            return ids
        best, found = min(pairs, key=lambda pair: merges[pair]), []
        while ids:
            size = 2 if tuple(ids[:2]) == best else 1
            found.append(merges[best] if size == 2 else ids[0])
            ids = ids[size:]
        ids = found


@pytest.mark.parametrize("regex", ["", r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+"])
def test_minbpe(tmp_path: Path, regex: str) -> None:
    rng, path = random.Random(regex), tmp_path / "tok.model"
    merges: dict[tuple[int, int], int] = {}
    while len(merges) < 30:
        pair = rng.choice([*b"abc ", *merges.values()]), rng.choice([*b"abc ", *merges.values()])
        merges.setdefault(pair, 256 + len(merges))
    lines = ["minbpe v1", regex, "1", "<|x|> 500", *(f"{left} {right}" for left, right in merges)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    tok = bbpe.load(path)
    pattern = tok.spec.pattern
    for _ in range(200):
        text = "".join(rng.choices("abc ", k=rng.randint(1, 12)))
        expected = [token_id for part in pattern.split(text) for token_id in minbpe_ids(part.encode(), merges)]
        assert tok.encode(text) == expected, text
        assert tok.decode(expected) == text
    assert tok.encode("a<|x|>", allowed_special="all") == [97, 500]
    tok.save(tmp_path / "again.model", format="minbpe")
    assert (tmp_path / "again.model").read_text("utf-8") == path.read_text("utf-8")


@pytest.mark.parametrize("regex", ["", r"[a-z]+|[^a-z]+"])
def test_arguments_replace_what_a_minbpe_model_has(tmp_path: Path, regex: str) -> None:
    path = tmp_path / "tok.model"
    path.write_text(f"minbpe v1\n{regex}\n1\n<|x|> 500\n97 32\n32 97\n", "utf-8")
    assert bbpe.load(path).pattern == (regex or "none")
    assert bbpe.load(path).encode("a a") == ([256, 97] if not regex else [97, 32, 97])
    for pattern in ("o200k", r"\w+|\W+"):
        tok = bbpe.load(path, pattern=pattern)
        assert tok.pattern == pattern
        assert tok.encode("a a") == ([97, 257] if pattern == "o200k" else [97, 32, 97])
        assert dict(tok.special_tokens) == {"<|x|>": 500}
    tok = bbpe.load(path, special_tokens={"<y>": 600}, name="mine")
    assert (dict(tok.special_tokens), tok.name) == ({"<y>": 600}, "mine")
    assert bbpe.load(path, special_tokens={}).special_tokens == {}


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["minbpe v1", ""], "line 3: found ''; expected the number of special tokens"),
        (["minbpe v1", "", "1", "<x>"], "line 4: found '<x>'; expected a special token"),
        (["minbpe v1", "", "0", "97"], "line 4: found '97'; expected the two ids"),
        (["minbpe v1", "", "0", "97 98", "99 257"], "line 5: merge of 99 and 257: expected ids below 257"),
    ],
)
def test_broken_minbpe(tmp_path: Path, lines: list[str], problem: str) -> None:
    path = tmp_path / "x.model"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(path)
    assert problem in str(caught.value)


def test_minbpe_cannot_hold(tmp_path: Path, corpus_tokenizer: bbpe.Tokenizer) -> None:
    with pytest.raises(VocabularyError, match="results of merges in order"):
        corpus_tokenizer.save(tmp_path / "x.model", format="minbpe")


def rwkv_lines(tokens: Mapping[int, bytes]) -> str:
    def literal(token: bytes) -> str:
        try:
            return repr(token.decode())
        except UnicodeDecodeError:
            return repr(token)

    return "".join(f"{token_id} {literal(token)} {len(token)}\n" for token_id, token in tokens.items())


def test_rwkv(tmp_path: Path) -> None:
    rng, path = random.Random(3), tmp_path / "rwkv_vocab_v20230424.txt"
    more = [b"ab", b"abc", b" the", "東".encode(), "東".encode()[:2], b"\n\n", b"'\"", "é".encode(), b"b\\", b"aaaa"]
    tokens = dict(enumerate([*(bytes([byte]) for byte in range(256)), *more], 1))
    path.write_text(rwkv_lines(tokens), "utf-8")
    ids = {token: token_id for token_id, token in tokens.items()}
    tok = bbpe.load(path)
    for _ in range(300):
        data = b"".join(rng.choices([*more, b"a", b"b", b"c", b" ", b"\xff", b"t"], k=rng.randint(0, 12)))
        expected, at = [], 0
        while at < len(data):
            size = next(size for size in range(8, 0, -1) if data[at : at + size] in ids)
            expected.append(ids[data[at : at + size]])
            at += len(data[at : at + size])
        assert tok.encode(data) == expected, data
        assert tok.encode_batch([data, data]) == [expected, expected]
        assert tok.decode_bytes(expected) == data
    assert tok.encode("ab" * 100_000) == [ids[b"ab"]] * 100_000
    assert tok.token_to_id(b"abc") == ids[b"abc"]
    tok.save(tmp_path / "again.txt", format="rwkv")
    assert (tmp_path / "again.txt").read_text("utf-8") == path.read_text("utf-8")
    assert formats.sniff(tmp_path / "again.txt") == "rwkv"
    with pytest.raises(VocabularyError, match="holds no LongestMatchModel"):
        tok.save(tmp_path / "t.json")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("300 'ab' 3", "line 257: found \"300 'ab' 3\"; expected an id, a Python literal"),
        ("300 ab 2", "line 257: found"),
        ("300 1+1 2", "line 257: found"),
        ("x 'ab' 2", "line 257: found"),
        ("1 'ab' 2", "line 257: id 1 already has a token"),
    ],
)
def test_broken_rwkv(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "rwkv_vocab_v20230424.txt"
    path.write_text(rwkv_lines(dict(enumerate((bytes([byte]) for byte in range(256)), 1))) + line + "\n", "utf-8")
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(path)
    assert problem in str(caught.value)


def test_rwkv_needs_all_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rwkv_vocab_v20230424.txt"
    path.write_text("1 'a' 1\n", "utf-8")
    with pytest.raises(VocabularyError, match="255 single bytes have no token"):
        bbpe.load(path)


YTTM_CASES = [
    ("see my eyes first", [26, 33, 39, 31], "see my eyes first"),
    ("  seesee\tmy\u2581dogs ", [26, 6, 5, 5, 33, 47], "seesee my dogs"),
    ("naïve café 中文", [49, 48, 18, 5, 43, 35], "naïve café 中文"),
    ("xyz my xy", [4, 1, 7, 1, 33, 4, 1, 7], "<UNK>y<UNK> my <UNK>y"),
    ("", [], ""),
    ("\u2581 \u2581", [], ""),
    ("see\xa0my\x85first\x0bsee", [26, 1, 32, 1, 8, 14, 12, 6, 11, 26], "see<UNK>my<UNK>first see"),
    ("<UNK> see", [4, 1, 26], "<UNK> see"),
]


@pytest.mark.parametrize("name", ["model", "bpe.yttm", "x.model"])
def test_you_token_to_me(tmp_path: Path, name: str) -> None:
    tok = bbpe.load(yttm_file(tmp_path / name))
    for text, ids, decoded in YTTM_CASES:
        assert tok.encode(text) == ids, text
        assert tok.decode(ids) == decoded, text
    assert tok.encode_batch([text for text, _, _ in YTTM_CASES]) == [ids for _, ids, _ in YTTM_CASES]
    assert tok.special_tokens == {"<PAD>": 0, "<UNK>": 1, "<BOS>": 2, "<EOS>": 3}
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path / "tokenizer.json") == tok
    tok.save(tmp_path / "again.yttm", format="youtokentome")
    assert (tmp_path / "again.yttm").read_text("utf-8").split("\n")[21:-1] == YTTM[21:]
    assert bbpe.load(tmp_path / "again.yttm") == tok


def test_you_token_to_me_against_its_rule(tmp_path: Path) -> None:
    """Each word begins with U+2581; the first of the listed merges that is possible comes first, then the leftmost."""
    tok = bbpe.load(yttm_file(tmp_path / "model"))
    rows = [list(map(int, row.split())) for row in YTTM]
    known = {chr(point): token_id for point, token_id in rows[1:21]}
    rank = {(left, right): (number, made) for number, (left, right, made) in enumerate(rows[21:-1])}

    def expected(word: str) -> list[int]:
        ids: list[int] = []
        for char in f"\u2581{word}":
            if char in known or ids[-1:] != [1]:
                ids.append(known.get(char, 1))
        while found := [(rank[pair], at) for at, pair in enumerate(pairwise(ids)) if pair in rank]:
            (_, made), at = min(found)
            ids[at : at + 2] = [made]
        return ids

    rng = random.Random(5)
    for _ in range(400):
        text = "".join(rng.choices([*"seymdogfirtaïvn中文xé \t\u2581", "see", "my", "中文"], k=rng.randint(0, 12)))
        words = text.replace("\u2581", " ").split()
        assert tok.encode(text) == [token_id for word in words for token_id in expected(word)], text


def test_you_token_to_me_leaves_out_the_first_blank_alone(tmp_path: Path) -> None:
    tok = bbpe.load(yttm_file(tmp_path / "model"))
    assert [tok.decode(ids) for ids in ([4], [4, 4], [4, 26], [4, 4, 26, 26])] == ["", " ", " see", "  see see"]


@pytest.mark.parametrize("point", [0, 0xD7FF, 0xE000, 0xFFFF, 0x10FFFF])
def test_you_token_to_me_has_any_character(tmp_path: Path, point: int) -> None:
    tok = bbpe.load(yttm_file(tmp_path / "x.yttm", ["2 0", "9601 4", f"{point} 5", "1 0 2 3"]))
    assert (tok.encode(chr(point)), tok.decode([4, 5])) == ([4, 5], chr(point))


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["2 1", "97 4", "98 5", "4 5 6"], "found 4 lines; expected 5, for 2 characters and 1 merges"),
        (["2 1", "97 4", "98 5", "4 5 6", "1 0 2"], "line 5: found '1 0 2'; expected 4 numbers"),
        (["2 1", "97 4", "98 4", "4 5 6", "1 0 2 3"], "line 3: token 'b' has id 4"),
        (["2 1", "97 4", "98 5", "4 7 6", "1 0 2 3"], "line 4: found a merge of 4 and 7"),
        *(
            (["2 1", "97 4", f"{point} 5", "4 5 6", "1 0 2 3"], f"line 3: found {point}; expected a code point")
            for point in (0xD800, 0xDFFF, 0x110000)
        ),
        (["2 1", "97 4", "98 5", "4 5 4294967296", "1 0 2 3"], "line 4: found '4 5 4294967296'; expected 3 numbers"),
    ],
)
def test_broken_you_token_to_me(tmp_path: Path, rows: list[str], problem: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(yttm_file(tmp_path / "x.yttm", rows))
    assert problem in str(caught.value)


def test_what_you_token_to_me_does_not_hold(tmp_path: Path, corpus_tokenizer: bbpe.Tokenizer) -> None:
    marked = bbpe.train_from_iterator(TEXTS, 60, model=bbpe.BPE(alphabet="chars", word_start="\u2581"))
    for tok in (corpus_tokenizer, marked):
        with pytest.raises(VocabularyError, match="YouTokenToMe"):
            tok.save(tmp_path / "x.yttm", format="youtokentome")
