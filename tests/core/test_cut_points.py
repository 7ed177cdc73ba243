"""Cutting pretokens where the vocabulary proves that nothing merges never changes an id.

The truth is the merging of each whole pretoken by the scan for the minimum, or by the heap when it is long.  The
encoder gets the ends of the pretokens, so that any bytes can be one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from published import RANK_FILES
from seeds import full_then_long
from strings import BROKEN, adversarial_strings, byte_soups

import bbpe
from bbpe.core.bpe import CompiledBPE
from bbpe.core.encoder import Encoder

NAMES = [*RANK_FILES, "deepseek_v3.tokenizer.json", "qwen_gpt2_files"]
# first and last code points of what is written without blanks, and of what is beyond two bytes
RANGES = [(0x4E00, 0x9FFF), (0x3041, 0x30FF), (0xAC00, 0xD7A3), (0xE01, 0xE5B), (0x1F300, 0x1F64F), (0x20000, 0x20040)]
RANGES += [(0x900, 0x97F), (0x3000, 0x303F), (0xFF01, 0xFF9D), (0x400, 0x4FF), (0xC0, 0x17F), (0x20, 0x7E)]
LETTERS = ["a", "é", "中", "文", "あ", "😀"]


def merged(model: CompiledBPE, pretoken: bytes, wholes: dict[bytes, int]) -> list[int]:
    if pretoken in wholes:
        return [wholes[pretoken]]
    return model.encode_pretoken(pretoken, "short" if len(pretoken) <= 32 else "long")


def check(encoder: Encoder, wholes: dict[bytes, int], pretokens: Iterable[bytes]) -> int:
    """Encode all pretokens side by side, and each alone on a difference; returns how many there were."""
    given = [pretoken for pretoken in pretokens if pretoken]
    expected = [merged(encoder.model, pretoken, wholes) for pretoken in given]
    ends = np.cumsum([len(pretoken) for pretoken in given], dtype=np.int64)
    ids = encoder.encode_given(b"".join(given), ends).tolist()
    if ids != list(itertools.chain.from_iterable(expected)):
        for pretoken, truth in zip(given, expected, strict=True):
            end = np.array([len(pretoken)], np.int64)
            assert encoder.encode_given(pretoken, end).tolist() == truth, pretoken
        pytest.fail("ids of pretokens side by side differ, those of each alone do not")
    return len(given)


def wholes_of(tok: bbpe.Tokenizer) -> dict[bytes, int]:
    return tok.ranks if tok.spec.whole_pretokens else {}


def pretokens_of(tok: bbpe.Tokenizer, text: str) -> Iterator[bytes]:
    """The distinct pretokens of a text that are long or beyond ASCII."""
    data = text.encode()
    spans = bbpe.split_spans(data, tok.spec.pattern.name or tok.spec.pattern.steps).tolist()
    for pretoken in dict.fromkeys(data[start:end] for start, end in pairwise(spans)):
        if len(pretoken) > 15 or not pretoken.isascii():
            yield pretoken


def borders(token: bytes) -> list[int]:
    """Places between two characters, or at the bytes of a broken one."""
    return [at for at in range(1, len(token)) if token[at] & 0xC0 != 0x80]


def pieces_of_tokens(rng: random.Random, tokens: Sequence[bytes], n: int) -> Iterator[bytes]:
    """Two to four tokens, halves of tokens, and characters, joined."""
    for _ in range(n):
        parts = rng.choices(tokens, k=rng.randint(2, 4))
        for i, part in enumerate(parts):
            if rng.random() < 0.5 and (places := borders(part)):
                at = rng.choice(places)
                parts[i] = rng.choice((part[:at], part[at:]))
        yield b"".join(parts)


def scripts(rng: random.Random, n: int) -> Iterator[bytes]:
    for _ in range(n):
        chars = []
        for _ in range(rng.randint(1, 4)):
            first, last = rng.choice(RANGES)
            chars += [chr(rng.randint(first, last)) for _ in range(rng.randint(1, 12))]
        yield "".join(chars).encode()


def broken(rng: random.Random, tokens: Sequence[bytes], n: int) -> Iterator[bytes]:
    """Tokens and characters with bytes between and left out."""
    for pretoken in itertools.chain(pieces_of_tokens(rng, tokens, n // 2), scripts(rng, n // 2)):
        data = bytearray(pretoken)
        for _ in range(rng.randint(1, 3)):
            at = rng.randint(0, len(data))
            data[at:at] = rng.choice([*BROKEN, b"", bytes((rng.randrange(128, 256),))])
            del data[at : at + rng.randint(0, 2)]
        yield bytes(data)


def adversarial(tok: bbpe.Tokenizer, n: int, seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    tokens = [token for token in tok.spec.vocab.values() if len(token) > 1]
    wide = [token for token in tokens if not token.isascii()]
    yield from pieces_of_tokens(rng, wide, n)
    yield from pieces_of_tokens(rng, tokens, n // 2)
    yield from scripts(rng, n)
    yield from broken(rng, wide, n)
    yield from byte_soups(n // 10, seed + 1)
    yield from (text.encode() for text in adversarial_strings(n // 10, seed + 2, tokens=wide))
    # long enough for the linear way to be made and used
    yield from (b"".join(pieces_of_tokens(rng, wide, 100)) for _ in range(n // 40))


@pytest.mark.parametrize(
    ("size", "count", "least"),
    [
        (8_000, 80, 25),
        # the first megabyte in many languages is in Latin letters, with few long pretokens
        pytest.param(1_000_000, 15_000, 2_000, marks=pytest.mark.full),
        pytest.param(3_000_000, 40_000, 10_000, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_published_vocabularies(
    name: str, size: int, count: int, least: int, real: Callable[[str], bbpe.Tokenizer], corpus: Callable[..., str]
) -> None:
    tok = real(name)
    model, wholes = tok._parts.encoder.encoder.model, wholes_of(tok)
    encoder = Encoder(model)
    for source in ("ja", "zh", "multi"):
        text = corpus(source, size)
        assert check(encoder, wholes, pretokens_of(tok, text)) > least * min(1, (len(text.encode()) + 3) / size)
    assert check(encoder, wholes, adversarial(tok, count, seed=51)) > 3 * count


def random_tokens(rng: random.Random, letters: Sequence[str]) -> list[bytes]:
    """Stretches of bytes of random characters, most of them of whole characters, some the join of two."""
    tokens: dict[bytes, None] = {}
    for _ in range(rng.randint(1, 40)):
        text = "".join(rng.choices(letters, k=rng.randint(1, 4))).encode()
        places = [0, *borders(text), len(text)] if rng.random() < 0.5 else range(len(text) + 1)
        start, end = sorted(rng.choices(places, k=2))
        tokens[text[start:end]] = None
        if rng.random() < 0.6:
            # so that merging gets there
            tokens.update(dict.fromkeys(text[start:to] for to in range(start + 2, end + 1)))
        if rng.random() < 0.4:
            tokens[b"".join(rng.choices(list(tokens), k=2))] = None
    return [bytes((byte,)) for byte in range(256)] + [token for token in tokens if 1 < len(token) < 40]


def random_encoder(rng: random.Random, letters: Sequence[str]) -> tuple[Encoder, dict[bytes, int]]:
    """A vocabulary by rank, the whole pretokens going first or not, or by a list of merges."""
    tokens = random_tokens(rng, letters)
    if rng.random() < 0.5:
        rng.shuffle(tokens)
    vocab = dict(enumerate(tokens))
    ids = {token: token_id for token_id, token in vocab.items()}
    kind = rng.choice(("ranks", "wholes", "merges"))
    if kind != "merges":
        return Encoder(CompiledBPE(vocab, None, whole_pretokens=kind == "wholes")), ids if kind == "wholes" else {}
    merges = [
        (ids[token[:at]], ids[token[at:]], token_id)
        for token_id, token in vocab.items()
        for at in range(1, len(token))
        if token[:at] in ids and token[at:] in ids and rng.random() < 0.7
    ]
    rng.shuffle(merges)
    return Encoder(CompiledBPE(vocab, merges)), {}


@pytest.mark.parametrize("rounds", [120, *full_then_long([1_200], [4_000])])
def test_every_short_string_of_small_vocabularies(rounds: int) -> None:
    rng = random.Random(52)
    for _ in range(rounds):
        letters = rng.sample(LETTERS, k=4)
        encoder, wholes = random_encoder(rng, letters)
        texts = ("".join(chars).encode() for n in range(1, 5) for chars in itertools.product(letters, repeat=n))
        check(encoder, wholes, texts)
        check(encoder, wholes, ("".join(rng.choices(letters, k=rng.randint(5, 60))).encode() for _ in range(60)))


@pytest.mark.parametrize("rounds", [60, *full_then_long([600], [2_000])])
def test_every_short_string_of_bytes(rounds: int) -> None:
    """Most of them are not UTF-8: tokens and texts begin and end anywhere in a character."""
    rng = random.Random(53)
    for _ in range(rounds):
        letters = rng.sample(LETTERS, k=2)
        encoder, wholes = random_encoder(rng, letters)
        alphabet = rng.sample(sorted({*"".join(letters).encode(), *b"a\xe4\xc3\x80"}), k=5)
        check(encoder, wholes, (bytes(text) for n in range(1, 5) for text in itertools.product(alphabet, repeat=n)))
        check(encoder, wholes, (bytes(rng.choices(alphabet, k=rng.randint(5, 60))) for _ in range(100)))


@pytest.mark.parametrize("rounds", [150, pytest.param(5_000, marks=pytest.mark.full)])
def test_pretokens_that_end_within_characters(rounds: int) -> None:
    """In text of characters of three bytes, where some pretokens are tokens that merging does not make."""
    rng = random.Random(rounds)
    for _ in range(rounds):
        data = "".join(rng.choices("中文字あ", k=200)).encode()
        ends = sorted({0, len(data), *rng.choices(range(1, len(data)), k=rng.choice((0, 20, 120)))})
        slices = [data[start:end] for start, end in pairwise(ends)]
        starts = [rng.randrange(len(data)) for _ in range(20)]
        made = [data[start : start + n] for start in starts for n in range(2, rng.randint(3, 8))]
        unmade = [piece for piece in slices if 3 < len(piece) < 40 and rng.random() < 0.5]
        single = [bytes((byte,)) for byte in range(256)]
        tokens = dict.fromkeys(single + [token for token in made + unmade if len(token) > 1])
        ids = {token: token_id for token_id, token in enumerate(tokens)}
        encoder = Encoder(CompiledBPE(dict(enumerate(tokens)), None, whole_pretokens=True))
        assert check(encoder, ids, slices) == len(slices)
