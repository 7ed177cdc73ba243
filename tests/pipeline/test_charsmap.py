"""SentencePiece's normaliser in C against its definition, and against SentencePiece."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import pytest
from characters import POINTS
from charsmap_tables import compiled_table

from bbpe.core.charsmap import SentencePieceNormalizer
from bbpe.errors import VocabularyError
from bbpe.pipeline.compiled_normalizers import charsmap_of, check_charsmap, mapped_parts, sentencepiece_normalizer
from bbpe.reference.charsmap import read_charsmap
from bbpe.reference.normalizers import normalizer
from bbpe.spec.rules import SPACE_MARK, Charsmap, Normalizer, Prepend, Replace, SqueezeBlanks

LAST = Replace(" ", False, SPACE_MARK)
TAILS: list[list[Normalizer]] = [[], [Prepend(SPACE_MARK)], [SqueezeBlanks()], [SqueezeBlanks(), Prepend(SPACE_MARK)]]




def replaced(text: str, table: Mapping[str, str], kept: Sequence[str], longest: int) -> str:
    """The definition: at each place the longest kept string stays, or else the longest key becomes its value."""
    parts, at = [], 0
    while at < len(text):
        starts = [text[at : at + size] for size in range(min(longest, len(text) - at), 0, -1)]
        key = next((start for start in starts if start in kept), None)
        value = key
        if key is None:
            key = next((start for start in starts if start in table), text[at])
            value = table.get(key, key)
        parts.append(value)
        at += len(key)
    return "".join(filter(None, parts))


def expected_of(rules: Sequence[Normalizer]) -> Callable[[str], bytes]:
    first, *tail = rules
    assert isinstance(first, Charsmap)
    table, rest = read_charsmap(first.data) if first.data else {}, normalizer(tail, marks_blanks=True)
    longest = max(map(len, (*table, *first.kept)), default=0)
    assert rest is not None

    def expected(text: str) -> bytes:
        text = first.prefix + replaced(text, table, first.kept, longest) if text else text
        return rest(text).encode("utf-8", "surrogateescape")

    return expected


@cache
def published(name: str) -> bytes:
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(sentencepiece.SentencePieceNormalizer(rule_name=name).serialized_model_proto())
    data: bytes = model.normalizer_spec.precompiled_charsmap
    return data


def slow_parts(table: Mapping[str, str], text: str, *, is_whole: bool) -> list[tuple[str, str]]:
    """What `mapped_parts` yields, by its definition."""
    found, at = [], 0
    while at < len(text):
        if not is_whole and any(key.startswith(text[at:]) and key != text[at:] for key in table):
            break
        key = next((text[at:end] for end in range(len(text), at, -1) if text[at:end] in table), text[at])
        found.append((key, table.get(key, key)))
        at += len(key)
    return found


def test_parts_of_a_text_and_what_each_becomes() -> None:
    rng = random.Random(9)
    letters = [*"ab ", "é", "か", "\U0001f600", "\x01", "\x7f"]
    for _ in range(25):
        keys = sorted({"".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 9))})
        table = {key: "".join(rng.choices(letters, k=rng.randint(0, 3))) for key in keys}
        data = compiled_table(table)
        check_charsmap(data)
        for _ in range(20):
            text = "".join(rng.choices([*letters, *keys], k=rng.randint(0, 8)))
            for is_whole in (True, False):
                assert list(mapped_parts(data, text, is_whole=is_whole)) == slow_parts(table, text, is_whole=is_whole)
    assert list(mapped_parts(data, "\ud800c")) == [("\ud800", "\ud800"), ("c", "c")]
    table_of = charsmap_of(data)
    assert (table_of.longest(b"a", 1), table_of.goes_on(b"a", 1)) == (None, True)
    for ask in (table_of.longest, table_of.goes_on):
        with pytest.raises(ValueError, match="place 2 is not within 1 bytes"):
            ask(b"a", 2)


NAMES = ["nmt_nfkc", *(pytest.param(name, marks=pytest.mark.full) for name in ("nfkc", "nmt_nfkc_cf", "nfkc_cf"))]


@pytest.mark.parametrize("share", [9, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", NAMES)
def test_every_character(name: str, share: int) -> None:
    """Alone, and between letters and marks that it may join; by default one in nine."""
    data = published(name)
    rules = [Charsmap(data), SqueezeBlanks(), Prepend(SPACE_MARK), LAST]
    expected, ours = expected_of(rules), sentencepiece_normalizer(rules)
    assert ours is not None
    table = read_charsmap(data)
    longest = {key[0] for key in table if len(key) > 1}
    points = [char for char in POINTS if char in table or char in longest or ord(char) % 64 == 0][::share]
    for before, behind in (("", ""), ("a", "\u0301b"), ("\u304b", "\u3099"), (" ", " c")):
        texts = [before + char + behind for char in points]
        assert ours.apply_all(texts) == list(map(expected, texts))
    untouched = "中".join(char for char in POINTS if char not in table and char not in SPACE_MARK + " ")
    assert ours.apply(untouched) == f" {untouched}".encode()


@pytest.mark.parametrize("name", NAMES)
def test_published_tables_on_random_texts(name: str) -> None:
    data, rng = published(name), random.Random(3)
    keys = sorted(read_charsmap(data))
    longer = [key for key in keys if len(key) > 1]
    assert longer
    for tail in TAILS:
        rules = [Charsmap(data), *tail, LAST]
        expected, ours = expected_of(rules), sentencepiece_normalizer(rules)
        assert ours is not None
        texts = []
        for _ in range(400):
            letters = [*"ab  ", SPACE_MARK, "\u3099", "\u0301", "か", "中", rng.choice(POINTS), *rng.sample(keys, 2)]
            texts.append("".join(rng.choices([*letters, *rng.sample(longer, 3)], k=rng.randint(0, 14))))
        assert ours.apply_all(texts) == list(map(expected, texts))
        apply = normalizer(rules, marks_blanks=True)  # the way of texts with special tokens
        assert apply is not None
        assert [apply(text).encode() for text in texts] == list(map(expected, texts))


def random_rules(rng: random.Random) -> tuple[list[Normalizer], list[str]]:
    """Rules over a small alphabet, and the alphabet."""
    letters = rng.sample([*"abé ", "\u0301", "か", "\u3099", "中", "\U0001f600", SPACE_MARK, "\x01", "à"], k=6)

    def make(most: int) -> str:
        return "".join(rng.choices(letters, k=rng.randint(1, most)))

    table = {make(4): rng.choice(["", " ", "  ", make(3), make(2)]) for _ in range(rng.randint(0, 8))}
    kept = tuple(dict.fromkeys(make(3) for _ in range(rng.choice((0, 0, 1, 4)))))
    prefix = rng.choice(("", SPACE_MARK))
    return [Charsmap(compiled_table(table), kept, prefix), *rng.choice(TAILS), LAST], [*letters, " ", SPACE_MARK]


@pytest.mark.parametrize("seed", range(4))
def test_random_tables(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(12):
        rules, letters = random_rules(rng)
        ours, expected = sentencepiece_normalizer(rules), expected_of(rules)
        assert ours is not None
        for _ in range(12):
            text = "".join(rng.choices(letters, k=rng.randint(0, 10)))
            assert ours.apply(text) == expected(text), (rules, ascii(text))
            data = bytearray(text.encode() * 2)
            for _ in range(rng.randint(0, 3) if data else 0):  # no UTF-8 any more
                data[rng.randrange(len(data))] = rng.choice((0x80, 0xE3, 0xFF, 0xC3, 0x61, 0))
            given = bytes(data)
            wanted = expected(given.decode("utf-8", "surrogateescape"))
            assert ours.apply(given) == wanted, (rules, given)
            assert ours.apply(memoryview(given)) == wanted


@pytest.mark.parametrize("longer", [{}, {"\n\nx": "y"}, {"\n\n": "b"}, {" a": "z"}, {"\n ": "c"}, {"  b": "d"}])
@pytest.mark.parametrize("kept", [(), ("\n\n",), ("\n\nb",)])
def test_runs_that_become_blanks(longer: dict[str, str], kept: tuple[str, ...]) -> None:
    """Of newlines and of blanks, which are passed over where no longer key and no kept string may begin among them."""
    rng = random.Random(7)
    for tail in TAILS:
        rules = [Charsmap(compiled_table({"\n": " ", "\t": " ", "é": "e", **longer}), kept), *tail, LAST]
        ours, expected = sentencepiece_normalizer(rules), expected_of(rules)
        assert ours is not None
        for _ in range(150):
            parts = ["\n", " ", "\t", "a", "b", "x", SPACE_MARK]
            text = "".join(rng.choice(parts) * rng.randint(1, 5) for _ in range(6))
            assert ours.apply(text) == expected(text), ascii(text)


def test_surrogates_are_mended() -> None:
    ours = sentencepiece_normalizer([SqueezeBlanks(), LAST])
    assert ours is not None
    assert ours.apply("  a\ud83d\ude00 \ud800  ") == "a\U0001f600 \ufffd".encode()


def test_a_table_that_is_read_is_what_was_compiled() -> None:
    table = {"a": "b", "ab": "", "か\u3099": "が", "\U0001f600": "x"}
    assert read_charsmap(compiled_table(table)) == table


def test_tables_that_are_broken_read_nothing_else() -> None:
    """The definition refuses them; what is in C and takes any table must stay within it."""
    data, rng = compiled_table({"a": "bc", "ab": "d", "é": "e", "か\u3099": "が"}), random.Random(4)
    for _ in range(300):
        broken = bytearray(data[: rng.randrange(len(data)) if rng.random() < 0.3 else len(data)])
        for _ in range(rng.randint(1, 60)):
            at = rng.choice((rng.randrange(4, 8), *(i for i in (rng.randrange(len(data)),) if data[i])))
            if at < len(broken):
                broken[at] = rng.randrange(256)
        size = int.from_bytes(broken[:4], "little")
        if size % 4 or len(broken) < 4 + size:
            with pytest.raises(VocabularyError, match="cut off"):
                SentencePieceNormalizer(bytes(broken), "ab", (), unmarks=True)
            with pytest.raises(VocabularyError, match="cut off"):
                SentencePieceNormalizer(bytes(broken), None, (), unmarks=True)
            continue
        ours = SentencePieceNormalizer(bytes(broken), "ab\u3099é", (), unmarks=True, squeezes=True)
        assert isinstance(ours.apply("ab é か\u3099 ab" * 3), bytes)


def test_keys_that_go_on_by_the_same_nodes() -> None:
    """Tables of SentencePiece share nodes, which are looked at once: the second characters of all keys are marked."""
    data = bytearray(compiled_table({"ab1": "x", "ac22": "y", "cb": "z"}))
    place, base_of_ab = 2 * 256 ^ ord("c"), 3 * 256
    data[4 + 4 * place : 8 + 4 * place] = ((base_of_ab ^ place) << 10 | ord("c")).to_bytes(4, "little")
    assert read_charsmap(bytes(data)) == {"ab1": "x", "ac1": "x", "cb": "z"}
    ours = SentencePieceNormalizer(bytes(data), None, (), unmarks=False)
    assert ours.apply("ac1, ab1, ac22, cb") == b"x, x, ac22, z"


def test_tables_are_refused_where_they_are_not_read() -> None:
    """In C, key by key as by the definition: keys and values that are no UTF-8, values elsewhere, cycles."""
    data, rng = compiled_table({"a": "bé", "ab": "", "é": "e", "か\u3099": "が", "\U0001f600": "x"}), random.Random(5)
    used = [i for i, byte in enumerate(data) if byte and i >= 4]
    refused = 0
    for _ in range(600):
        broken = bytearray(data)
        for _ in range(rng.randint(0, 2)):
            broken[rng.choice(used)] = rng.randrange(256)
        try:
            read_charsmap(bytes(broken))
        except VocabularyError as problem:
            refused += 1
            with pytest.raises(VocabularyError, match=str(problem)):
                check_charsmap(bytes(broken))
        else:
            check_charsmap(bytes(broken))
    assert 100 < refused < 500
    cycle = bytearray(compiled_table({"aa": "b"}))
    cycle[4 + 4 * (512 ^ 97) : 8 + 4 * (512 ^ 97)] = (97 ^ 0).to_bytes(4, "little")  # to where it stands itself
    assert len(read_charsmap(bytes(cycle))) == 0
    check_charsmap(bytes(cycle))


def test_other_rules_have_none() -> None:
    assert sentencepiece_normalizer([Prepend(">"), LAST]) is None
    assert sentencepiece_normalizer([SqueezeBlanks()]) is None
    assert sentencepiece_normalizer([Charsmap(b"", (), ">"), LAST]) is None
    assert sentencepiece_normalizer([LAST]) is not None


@pytest.mark.parametrize("squeezes", [True, False])
def test_as_sentencepiece(squeezes: bool) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    judge = sentencepiece.SentencePieceNormalizer(
        rule_name="nmt_nfkc", add_dummy_prefix=True, escape_whitespaces=False, remove_extra_whitespaces=squeezes
    )
    data, rng = published("nmt_nfkc"), random.Random(5)
    tail: list[Normalizer] = [SqueezeBlanks(), Prepend(SPACE_MARK)] if squeezes else []
    ours = sentencepiece_normalizer([Charsmap(data, (), "" if squeezes else SPACE_MARK), *tail, LAST])
    assert ours is not None
    letters = [*POINTS[0x20:0x500], *POINTS[0x3000:0x3100], *POINTS[0xFF00:0xFFF0], *" " * 300, *"\u0301\u3099ﬃ" * 60]
    for _ in range(3_000):
        text = "".join(rng.choices(letters, k=rng.randint(0, 12)))
        assert ours.apply(text).decode() == judge.normalize(text).replace(SPACE_MARK, " "), ascii(text)
