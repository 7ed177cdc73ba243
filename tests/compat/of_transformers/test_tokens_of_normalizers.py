"""Texts that a normalizer turns into special and added tokens: the ids of `tokenizers`, or left alone.

Small random files of all models; `tokenizers` itself is the judge.
"""

from __future__ import annotations

import pickle
import random
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from compared import compared
from seeds import full_then_long

import bbpe
from bbpe.compat.transformers.backend import Backend
from bbpe.records import replace

hf = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers  # noqa: E402

WORDS = ["see", "my", "dogs", "first", "eyes", "a", "tag", "url"]
LETTERS = sorted(set("".join(WORDS)) | set("[]</>#TAGURLsep ") | {"\u2581"})
TOKENS = ["[TAG]", "[URL]", "</s>", "[sep]", "tag"]
_WIDE = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
NORMALIZERS = {
    "none": lambda: None,
    "NFKC": normalizers.NFKC,
    "Lowercase": normalizers.Lowercase,
    "words": lambda: normalizers.Replace(Regex(r"#\w+"), "[TAG]"),
    "addresses": lambda: normalizers.Sequence([normalizers.Replace(Regex(r"https?://\S+"), " [URL] ")]),
    "inside words": lambda: normalizers.Replace("@", "[URL]"),
    "two": lambda: normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]),
    "to </s>": lambda: normalizers.Replace("\n", "</s>"),
}
PRE_TOKENIZERS = {
    "WhitespaceSplit": pre_tokenizers.WhitespaceSplit,
    "Whitespace": pre_tokenizers.Whitespace,
    "Metaspace": pre_tokenizers.Metaspace,
    "ByteLevel": lambda: pre_tokenizers.ByteLevel(add_prefix_space=False),
}


def _model(kind: str, chooser: random.Random, inside: list[str]) -> Any:
    specials = ["[UNK]", *inside]
    if kind == "Unigram":
        words = [*LETTERS, *WORDS, *("\u2581" + word for word in WORDS)]
        pieces = dict.fromkeys([*specials, *words])
        rows = [(word, 0.0 if word in specials else -1.0 - chooser.randrange(64) / 8) for word in pieces]
        return models.Unigram(rows, unk_id=0)
    if kind == "BPE of bytes":
        vocab = dict.fromkeys([*specials, *sorted(pre_tokenizers.ByteLevel.alphabet()), "se", "see"])
        numbered = {token: token_id for token_id, token in enumerate(vocab)}
        return models.BPE(numbered, [("s", "e"), ("se", "e")], ignore_merges=chooser.random() < 0.5)
    words = [*specials, *WORDS, *LETTERS]
    if kind == "WordPiece":
        words += ["##" + letter for letter in LETTERS]
    vocab = {word: word_id for word_id, word in enumerate(dict.fromkeys(words))}
    if chooser.random() < 0.3:  # special tokens that come last
        order = [word for word in vocab if word not in inside] + inside
        vocab = {word: word_id for word_id, word in enumerate(dict.fromkeys(order))}
    if kind == "WordLevel":
        return models.WordLevel(vocab, unk_token="[UNK]")
    if kind == "WordPiece":
        return models.WordPiece(vocab, unk_token="[UNK]")
    vocab |= {"se": len(vocab)}
    return models.BPE(
        vocab, [("s", "e"), ("se", "e")], unk_token="[UNK]", fuse_unk=chooser.random() < 0.5,
        ignore_merges=chooser.random() < 0.3,
    )  # fmt: skip


KINDS = ("WordLevel", "WordPiece", "Unigram", "BPE of characters", "BPE of bytes")


def _tokenizer(kind: str, chooser: random.Random) -> tuple[Any, str]:
    tokens = chooser.sample(TOKENS, chooser.randrange(1, 4))
    inside = [token for token in tokens if chooser.random() < 0.8]
    made = hf.Tokenizer(_model(kind, chooser, inside))
    name = chooser.choice(list(NORMALIZERS))
    normalizer, split = NORMALIZERS[name](), chooser.choice(list(PRE_TOKENIZERS))
    split = "ByteLevel" if kind == "BPE of bytes" else split
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = PRE_TOKENIZERS[split]()
    if kind == "BPE of bytes":
        made.decoder = decoders.ByteLevel()
    if chooser.random() < 0.7:
        made.add_special_tokens(["[UNK]"])
    for token in tokens:
        flags = {flag: chooser.random() < 0.2 for flag in ("lstrip", "rstrip", "single_word")}
        added = AddedToken(token, normalized=chooser.random() < 0.3, special=chooser.random() < 0.7, **flags)
        (made.add_special_tokens if added.special else made.add_tokens)([added])
    return made, f"{kind}, {name}, {split}, {tokens}"


def _texts(chooser: random.Random) -> list[str]:
    parts = [*WORDS, *TOKENS, "#tag", "https://x.y", "@", "[UNK]", "\n", " ", " ", "  "]
    found = []
    for _ in range(12):
        text = "".join(chooser.choice(parts) + chooser.choice(["", " "]) for _ in range(chooser.randrange(1, 7)))
        found.append(chooser.choice([str, str.upper, str.title, lambda text: text.translate(_WIDE)])(text))
    return found


def _check_backend(judge: Any, texts: list[str], about: str) -> None:
    """Compare an accelerated tokenizer, if ours takes it, where special tokens are found and where they are not."""
    try:
        backend = Backend(hf.Tokenizer.from_str(judge.to_str()))
    except bbpe.AccelerationError:
        return
    for is_plain in (False, True):
        backend.encode_special_tokens = judge.encode_special_tokens = is_plain
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bbpe.AccelerationWarning)
            found = backend.encode_batch(texts)
        for text, ours in zip(texts, found, strict=True):
            assert ours.ids == judge.encode(text).ids, f"{about}, {is_plain}: {text!r}"
    judge.encode_special_tokens = False


def _check(kind: str, seed: int, folder: Path) -> int:
    """Compare a random tokenizer with its judge; returns for how many texts the judge has ids, 0 if it is refused."""
    chooser = random.Random(f"{kind} {seed}")
    judge, about = _tokenizer(kind, chooser)
    path = folder / "tokenizer.json"
    judge.save(str(path))
    texts = _texts(chooser)
    try:
        tokenizer = bbpe.load(path, cache=False)
    except bbpe.VocabularyError:
        return 0
    count = 0
    view, options = tokenizer.as_tokenizers(), tokenizer.spec.token_options
    for text in texts:
        try:
            judged = judge.encode(text, add_special_tokens=False)
        except Exception:  # `tokenizers` refuses words without a token where there is no unknown one
            continue
        count += 1
        expected = judged.ids
        where = f"seed {seed}: {about}: {text!r}"
        assert tokenizer.encode(text, allowed_special="all") == expected, where
        assert tokenizer.encode_batch([text, text], allowed_special="all") == [expected] * 2, where
        assert tokenizer.count_tokens(text, allowed_special="all") == len(expected), where
        assert view.encode(text).ids == expected, where
        if not options:
            # a normalizer that writes the unknown token itself leaves no offsets to know, which is said
            with suppress(bbpe.VocabularyError):
                assert view.encode(text).offsets == judged.offsets, where
        plain = set(tokenizer.encode(text)) & set(tokenizer.special_tokens.values())
        if kind in ("WordLevel", "Unigram"):
            assert plain <= {tokenizer.special_tokens.get("[UNK]")}, where
    _check_backend(judge, texts, about)
    tokenizer.save(folder / "saved.json")
    saved = bbpe.load(folder / "saved.json", cache=False)
    assert saved == tokenizer, about
    assert [saved.encode(text, allowed_special="all") for text in texts] == [
        tokenizer.encode(text, allowed_special="all") for text in texts
    ]
    return count


def test_only_the_tokens_that_a_call_allows_are_made(tmp_path: Path) -> None:
    vocab = {word: number for number, word in enumerate(["[UNK]", "[TAG]", "[URL]", "see"])}
    made = hf.Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    rules = [normalizers.Replace(Regex(r"#\w+"), "[TAG]"), normalizers.Replace("@", "[URL]")]
    made.normalizer, made.pre_tokenizer = normalizers.Sequence(rules), pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(["[UNK]", "[TAG]", "[URL]"])
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer, text = bbpe.load(tmp_path / "tokenizer.json"), "see #tag @ [TAG]"
    for allowed, expected in ((), [3, 0, 0, 0]), ({"[TAG]"}, [3, 1, 0, 1]), ("all", [3, 1, 2, 1]):
        assert tokenizer.encode(text, allowed_special=allowed) == expected
        assert tokenizer.encode_with_offsets(text, allowed_special=allowed)[0] == expected
        assert tokenizer.encode_aligned(text, allowed_special=allowed).ids == expected
        assert tokenizer.truncate(text, 3, allowed_special=allowed).split() == ["see", "#tag", "@"]
        assert list(tokenizer.encode_iterable([text], allowed_special=allowed)) == expected
        assert tokenizer.encode_padded([text], allowed_special=allowed, pad_id=0).ids.tolist() == [expected]
        assert tokenizer.encode_to_numpy(text, allowed_special=allowed).tolist() == expected
    assert tokenizer.as_tokenizers().encode(text).tokens == ["see", "[TAG]", "[URL]", "[TAG]"]
    assert pickle.loads(pickle.dumps(tokenizer)).encode(text, allowed_special="all") == expected
    assert tokenizer != bbpe.Tokenizer(replace(tokenizer.spec, modelled=()))


@pytest.mark.parametrize("kind", KINDS)
def test_allowed_tokens_that_a_normalizer_makes(kind: str, tmp_path: Path) -> None:
    with compared(at_least=50) as more:
        for seed in range(6):
            more(_check(kind, seed, tmp_path))


@pytest.mark.parametrize("seeds", full_then_long([range(40, 140)], [range(140, 340)]), ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_many_allowed_tokens_that_a_normalizer_makes(kind: str, seeds: range, tmp_path: Path) -> None:
    assert sum(_check(kind, seed, tmp_path) > 0 for seed in seeds) > len(seeds) / 2
