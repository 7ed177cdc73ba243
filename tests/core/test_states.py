"""What calls remember never changes an id."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from caches import ROOM, fresh, lines_ids, words
from seeds import full_then_long
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe.reference import SlowTokenizer
from bbpe.splitting.patterns import PATTERNS


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "llama3", "deepseek_v3", "whitespace"])
def test_order_and_state_change_nothing(
    pattern: str, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]
) -> None:
    tok, rng = fresh(tok_of(pattern)), random.Random(71)
    texts: list[str | bytes] = [*adversarial_strings(250, seed=72, surrogates=True), *byte_soups(100, seed=73)]
    expected = [fresh(tok).encode(text) for text in texts[:20]]
    expected += [tok.encode(text) for text in texts[20:]]
    order = list(range(len(texts)))
    for room in (ROOM, 0, 30 << 20, ROOM):
        limit(room)
        tok.clear_cache()
        for _ in range(2):
            for at in order:
                assert tok.encode(texts[at]) == expected[at], texts[at]
            rng.shuffle(order)


@pytest.mark.parametrize("by_rank", [False, True])
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "whitespace", "none"])
def test_first_texts_have_the_ids_of_later_ones(
    pattern: str, by_rank: bool, tok_of: Callable[[str], bbpe.Tokenizer]
) -> None:
    """An encoder has all its tables once so much text has come that they are worth making."""
    tok, rng = tok_of("gpt2"), random.Random(74)
    tokens = list(tok.spec.vocab.values())
    if by_rank:
        tok = bbpe.Tokenizer.from_ranks({token: at for at, token in tok.spec.vocab.items()}, pattern=pattern)
    else:
        tok = bbpe.Tokenizer(replace(tok.spec, pattern=PATTERNS[pattern]))
    tok.warm_up()
    texts: list[str | bytes] = [*adversarial_strings(100, seed=75, surrogates=True), *byte_soups(40, seed=76)]
    texts += ["".join(rng.choices("ab\u0e01\u4e2d\u4e2d\u6587", k=rng.randint(20, 900))) for _ in range(25)]
    texts += [b"".join(rng.choices(tokens, k=rng.randint(5, 90))) for _ in range(25)]
    first, size = fresh(tok), 0
    for text in texts:
        size += 3 * len(text)
        if size > 2_500:  # of which each call below is one more time
            first, size = fresh(tok), 3 * len(text)
        ids = tok.encode(text)
        assert first.encode(text) == first.encode_to_numpy(text).tolist() == ids, text
        assert first.encode_batch([text, text]) == [ids, ids]
        assert first.count_tokens(text) == len(ids)


@pytest.mark.parametrize("room", [0, ROOM])
@pytest.mark.parametrize("count", [20_000, *full_then_long([500_000], [2_000_000])])
def test_more_pretokens_than_a_cache_holds(
    count: int, room: int, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]
) -> None:
    limit(room)
    tok, rng = fresh(tok_of("gpt2")), random.Random(74)
    model = tok._parts.encoder.encoder.model
    lines = words(rng, count, longest=8)
    expected = np.array(lines_ids(model, lines), np.uint32)
    for _ in range(3):
        assert np.array_equal(tok.encode_to_numpy(b"\n".join([*lines, b""]), threads=1), expected)
    often = rng.choices(lines[:300], k=count // 10) + words(rng, count // 10)
    rng.shuffle(often)
    assert tok.encode(b"\n".join([*often, b""])) == lines_ids(model, often)


@pytest.mark.parametrize("room", [0, ROOM])
def test_entries_stay_while_a_block_waits(
    room: int, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]
) -> None:
    """A long word, cut into pieces that are learned at once, between words whose entries are known already."""
    limit(room)
    rng, tok = random.Random(78), fresh(tok_of("gpt2"))
    model = tok._parts.encoder.encoder.model
    short = words(rng, 4_000, longest=9)
    for _ in range(3):
        long = ["".join(rng.choices("\u0430\u0431\u044f\u3042\u4e2d\u00e9", k=24)).encode() for _ in range(2_000)]
        lines = rng.choices(short, k=20_000) + rng.choices(long, k=2_500) + words(rng, 500, longest=40)
        rng.shuffle(lines)
        assert tok.encode(b"\n".join([*lines, b""])) == lines_ids(model, lines)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 24, 127, 128, 129, 255, 256, 257, 700])
def test_new_pieces_wait_for_each_other(count: int, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """Nothing but new words, alone and again and again, and longer ones between them that are written at once."""
    tok, rng = tok_of("gpt2"), random.Random(count)
    kinds = ("etaoinshrdlu", "\u0430\u0431\u043e\u0442\u044f", "\u3042\u4e2d\u65e5e", "\0\x80\xff~ab")
    for longest, kind in itertools.product((3, 8, 15, 24, 31), kinds):
        new = [line[:longest] for line in words(rng, count, kind, longest)]
        lines = [*new, *rng.choices(new, k=rng.randint(1, 3 * count)), *words(rng, 2, "\u0430\u0431\u3042e", 40)]
        rng.shuffle(lines)
        text, expected = b"\n".join([*lines, b""]), lines_ids(tok._parts.encoder.encoder.model, lines)
        for one in (fresh(tok), tok):
            assert (one.encode(text), one.count_tokens(text)) == (expected, len(expected)), (longest, kind)


@pytest.mark.parametrize("size", [1, 7, 8, 14, 15, 16, 17, 23, 24, 31, 32, 33, 46, 47, 48, 64, 300, 1023, 1024, 1025])
def test_pieces_of_every_size(size: int, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]) -> None:
    """Words, and runs of bytes that are no characters, one token each or nearly so."""
    tok, rng = fresh(tok_of("gpt2")), random.Random(size)
    model = tok._parts.encoder.encoder.model
    kinds = [b"etaoinshr", b"ABCDEFGHIJKLMNOPQ", b"0123456789", bytes(range(0x80, 0xC0)), b"\xfe\xff\x80\xf8"]
    for room in (0, ROOM):
        limit(room)
        for alphabet in kinds:
            lines = [bytes(rng.choices(alphabet, k=size)) for _ in range(40)]
            # neighbours in a cache: the same bytes but for the last ones, and zeros behind
            lines += [line[:-1] + bytes(rng.choices(alphabet)) for line in lines[:20]]
            lines += [line[: rng.randint(1, size)] for line in lines[:20]]
            for again in range(3):
                some = rng.choices(lines, k=min(800, 128_000 // size) if again else 100)
                assert tok.encode(b"\n".join([*some, b""])) == lines_ids(model, some), alphabet


def test_zeros_are_bytes_too(tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]) -> None:
    tok, rng = fresh(tok_of("gpt2")), random.Random(75)
    model = tok._parts.encoder.encoder.model
    lines = [bytes(rng.choices(b"\0\x01!", k=rng.randint(1, 34))) for _ in range(400)]
    for _ in range(3):
        assert tok.encode(b"\n".join([*lines, b""])) == lines_ids(model, lines)


@pytest.mark.parametrize("largest", [300, (1 << 17) - 1, 1 << 17, (1 << 20) - 1, 1 << 20, (1 << 21) + 5])
@pytest.mark.parametrize("count", range(1, 21))
def test_pieces_of_every_number_of_ids(count: int, largest: int, limit: Callable[[int], None]) -> None:
    """`count` tokens of one or two letters, of a vocabulary in which nothing else merges."""
    rng = random.Random(76)
    tokens = [bytes((byte,)) for byte in range(256)] + [bytes(pair) for pair in itertools.product(b"abc", b"xyz")]
    # the ends of what an id can be; how many fit where pieces are remembered depends on the largest one
    ids = [largest, 0, *range(1, len(tokens) - 2), max(len(tokens), largest - 1 - count)]
    tok = bbpe.Tokenizer.from_ranks(dict(zip(reversed(tokens), ids, strict=True)), pattern="gpt2")
    model = tok._parts.encoder.encoder.model
    for room in (0, ROOM):
        limit(room)
        lines = [b"".join(rng.choices([b"a", b"b", b"c", *tokens[256:]], k=count)) for _ in range(150)]
        for _ in range(4):
            some = rng.choices(lines, k=500)
            assert tok.encode(b"\n".join([*some, b""])) == lines_ids(model, some)


REPEATS = (2, 3, 4, 6, 9)


def joined(letters: str, repeats: int) -> str:
    """Pairs of the first two letters with the third one between."""
    return letters[2].join([letters[:2]] * repeats)


def whole_and_part_tokens(letters: str) -> dict[bytes, int]:
    """Tokens; the joined ones are whole pretokens only: pairs go before what joins them to the third letter."""
    tokens = [bytes((byte,)) for byte in range(256)]
    for char in (*letters, "あ"):
        tokens += [char.encode()[:2], char.encode()]
    one, two, three = letters
    tokens += [text.encode() for text in (one + two, two + three, three + one)]
    tokens += [joined(letters, repeats).encode() for repeats in REPEATS]
    return {token: token_id for token_id, token in enumerate(dict.fromkeys(tokens))}


@pytest.mark.parametrize("wholes_first", [False, True])
@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("letters", ["éюя", "中文語"])
def test_a_part_and_a_whole_of_the_same_bytes(
    letters: str, repeats: int, wholes_first: bool, limit: Callable[[int], None]
) -> None:
    """From 10 to 78 bytes: each kind of cache, and none."""
    whole = joined(letters, repeats)
    ranks = whole_and_part_tokens(letters)
    merged = [ranks[part.encode()] for part in whole.replace(letters[2], f" {letters[2]} ").split()]
    tok = bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2")
    assert tok._parts.encoder.encoder.model.encode_pretoken(whole.encode(), "long") == merged
    kana, end = ranks["あ".encode()], ranks[b"\n"]
    alone, inside = ([ranks[whole.encode()], end], [kana, *merged, kana, end])
    for room in (0, ROOM):
        limit(room)
        tok = fresh(tok)
        for count in (1, 2, 2_000):
            for is_whole in (wholes_first, not wholes_first):
                text = f"{whole}\n" if is_whole else f"あ{whole}あ\n"
                assert tok.encode(text * count) == (alone if is_whole else inside) * count
        assert tok.encode(f"{whole}\nあ{whole}あ\n" * 1_000) == (alone + inside) * 1_000


@pytest.mark.parametrize("whole", [False, True])
def test_tokens_that_no_text_has_had(whole: bool, limit: Callable[[int], None]) -> None:
    """A text most of whose pieces are tokens brings others into the cache: there too, those that merging does not make
    are ids of whole pretokens only, and only by ranks."""
    limit(ROOM)
    rng = random.Random(63)
    words = ["".join(rng.choices("aeinrstlé", k=rng.randint(1, 8))) for _ in range(1_500)]
    tok = bbpe.train_from_iterator([" ".join(words)] * 2, 3_500, pattern="gpt2")
    unmade = [f" {word}{word[::-1]}".encode() for word in words if len(word) > 3]
    vocab = dict(enumerate(dict.fromkeys([*tok.spec.vocab.values(), *unmade])))
    if whole:
        tok = bbpe.Tokenizer.from_ranks({token: rank for rank, token in vocab.items()}, pattern="gpt2")
    else:
        tok = bbpe.Tokenizer(replace(tok.spec, vocab=vocab))
    encoder, slow = tok._parts.encoder.encoder, SlowTokenizer(tok.spec)
    assert len(encoder.model.live_merges()[1]) > 500
    tok.encode_to_numpy((" ".join(words[:1_000]) + "\n") * 80)
    tokens = list(vocab.values())
    pretokens = [*tokens, *(rng.choice(tokens) + rng.choice(tokens) for _ in range(2_000))]
    ends = np.cumsum([len(pretoken) for pretoken in pretokens], dtype=np.int64)
    expected = [ids for pretoken in pretokens for ids in slow.encode_pretoken(pretoken)]
    assert encoder.encode_given(b"".join(pretokens), ends).tolist() == expected
    # what stands between two places where nothing merges is no whole pretoken
    inside = "".join(f"中{word}中\n" for word in words)
    assert tok.encode(inside) == slow.encode(inside)


@pytest.mark.parametrize("room", [0, 64 << 20])
@pytest.mark.parametrize("threads", [1, 2])
def test_pieces_of_any_number_of_ids(room: int, threads: int, limit: Callable[[int], None]) -> None:
    """A byte is an id: pieces of 1 to 60 ids, remembered in an entry, in a slot, in the ring or not at all."""
    limit(room)
    tok = bbpe.train_from_iterator(["a"], vocab_size=256)
    ids = np.array([tok.encode_bytes(bytes([byte]))[0] for byte in range(128)], np.uint32)
    rng = random.Random(9)
    words = ["".join(rng.choices("abcdefgh", k=1 + i % 60)) for i in range(1_200)]
    texts = [" ".join(rng.choices(words, k=40)) for _ in range(250)]
    for _ in range(2):
        for text, row in zip(texts, tok.encode_batch(texts, threads=threads), strict=True):
            assert row == ids[list(text.encode())].tolist()
        text = "\n".join(texts)
        assert np.array_equal(tok.encode_to_numpy(text, threads=threads), ids[list(text.encode())])


@pytest.mark.parametrize("seed", range(3))
def test_pieces_of_many_ids_beside_pieces_of_few(seed: int, limit: Callable[[int], None]) -> None:
    """In tables of 64 entries, many of which have their last ids in a neighbour's place and lose them to others."""
    limit(0)
    rng = random.Random(seed)
    tok = bbpe.train_from_iterator(["a"], vocab_size=256)
    ids = np.array([tok.encode_bytes(bytes([byte]))[0] for byte in range(128)], np.uint32)
    words = [" " + "".join(rng.choices("abcdefgh", k=rng.choice([1, 2, 3, *range(6, 15)]))) for _ in range(500)]
    for _ in range(120):
        tok.clear_cache()
        text = "".join(rng.choices(rng.sample(words, rng.randint(20, 90)), k=800))
        assert np.array_equal(tok.encode_to_numpy(text), ids[list(text.encode())])
