"""Where ids lie in a text: in bytes, characters and UTF-16 units."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from frames import frames
from strings import adversarial_strings, byte_soups
from vocabularies import added, byte_level, document, sequence, split, write_json

import bbpe
from bbpe.core.places import map_places

PATTERNS = ["gpt2", "cl100k", "whitespace", r"\w+$|\w|(?<=a)b+"]


def characters(text):
    """Each character's bytes and how many characters and UTF-16 units it counts as."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
        return [
            (1, 1, 1) if "\udc80" <= char <= "\udcff" else (len(char.encode()), 1, 1 + (char > "\uffff"))
            for char in text
        ]
    rows, at = [], 0
    while at < len(text):
        is_pair = "\ud800" <= text[at] < "\udc00" and "\udc00" <= text[at + 1 : at + 2] <= "\udfff"
        char = text[at : at + 1 + is_pair]
        if is_pair:
            rows.append((4, 2, 2))
        else:
            rows.append((3 if "\ud800" <= char <= "\udfff" else len(char.encode()), 1, 1 + (char > "\uffff")))
        at += len(char)
    return rows


def mapped(text, spans, unit):
    """The same by a table of every byte."""
    starts, ends, at = [], [], 0
    for size, chars, units in characters(text):
        width = chars if unit == "char" else units
        starts += [at] * size
        at += width
        ends += [at] * size
    starts.append(at)
    return [[starts[start], ends[end - 1] if end > start else starts[start]] for start, end in spans]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_offsets(tok_of, pattern):
    tok = tok_of(pattern)
    texts = [*adversarial_strings(80, seed=41, surrogates=True), *byte_soups(25, seed=42), ""]
    for text in texts:
        data = bytes(bbpe.text.text_bytes(text))
        ids, spans = tok.encode_with_offsets(text, "byte")
        assert ids == tok.encode(text)
        assert spans.dtype == np.int64
        assert spans.shape == (len(ids), 2)
        token = tok._parts.decoder.token_bytes.token
        assert [data[start:end] for start, end in spans] == [token(token_id) for token_id in ids]
        assert all(before[1] <= after[0] for before, after in pairwise(spans.tolist()))
        if not tok.spec.pattern.drops_gaps:
            assert b"".join(data[start:end] for start, end in spans) == data
        for unit in ("char", "utf16"):
            assert tok.encode_with_offsets(text, unit)[1].tolist() == mapped(text, spans.tolist(), unit)


def test_widths_of_strings(tok_of):
    tok = tok_of("gpt2")
    for text in ("abc", "aéb", "a漢b", "a😀b", "\ud83d\ude00a\ud800", "😀\ud83d\ude00\ude00", "é" * 300):
        spans = tok.encode_with_offsets(text, "byte")[1].tolist()
        for unit in ("char", "utf16"):
            assert tok.encode_with_offsets(text, unit)[1].tolist() == mapped(text, spans, unit)
        assert tok.encode_with_offsets(text)[1].max() == len(text)
    for text in ("é漢" * 70, "a😀" * 70):  # without surrogates characters are counted, not walked over
        for at in (0, 1, 63, 64, 127, 130):
            for odd in ("", "\ud83d", "\ud83d\ude00"):
                whole = text[:at] + odd + text[at:]
                spans = tok.encode_with_offsets(whole, "byte")[1].tolist()
                assert tok.encode_with_offsets(whole)[1].tolist() == mapped(whole, spans, "char")


def test_special_tokens_have_offsets(tok_of):
    for pattern in ("gpt2", "whitespace"):
        tok = tok_of(pattern)
        text = "é<s> a <|end|>漢"
        ids, spans = tok.encode_with_offsets(text, allowed_special="all")
        assert ids == tok.encode(text, allowed_special="all")
        places = dict(zip(ids, spans.tolist(), strict=True))
        assert places[tok.special_tokens["<|end|>"]] == [7, 14]
    with pytest.raises(ValueError, match="unit"):
        tok.encode_with_offsets("a", "line")


def long_tokens():
    """Bytes, the halves of é, and rows of it of up to 300 bytes; the longest are looked up otherwise."""
    vocab = {byte: bytes([byte]) for byte in range(256)}
    rows = ["é" * count for count in (1, 2, 31, 63, 64, 65, 127, 150)]
    vocab |= {256 + at: row.encode() for at, row in enumerate(rows)}
    return bbpe.Tokenizer.from_ranks(
        {token: token_id for token_id, token in vocab.items()}, pattern="none", special_tokens={"<é>": 300, "<s>": 301}
    )


def test_long_tokens_and_special_ones_between_them():
    tok = long_tokens()
    for text in adversarial_strings(50, seed=45):
        for row in ("é", "é" * 64, "é" * 301, "漢"):
            whole = f"<s>{row}{text}<é>{row}<s><s>a{row}"
            ids, spans = tok.encode_with_offsets(whole, "byte", allowed_special="all")
            assert ids == tok.encode(whole, allowed_special="all")
            for unit in ("char", "utf16"):
                found = tok.encode_with_offsets(whole, unit, allowed_special="all")
                assert (found[0], found[1].tolist()) == (ids, mapped(whole, spans.tolist(), unit))


def test_calls_with_offsets_run_no_code_of_python(tok_of):
    tok = tok_of("gpt2")
    for options in ({}, {"allowed_special": "all"}, {"unit": "byte"}, {"disallowed_special": {"<|end|>"}}):
        assert frames(lambda options=options: tok.encode_with_offsets("lower é", **options)) == 0
    with pytest.raises(TypeError, match="add_special_tokens"):
        tok.encode_with_offsets("low", add_special_tokens=True)
    with pytest.raises(bbpe.SpecialTokenError):
        tok.encode_with_offsets("a<s>", disallowed_special="all")


def test_texts_of_ids_have_offsets(tok_of):
    tok = tok_of("gpt2")
    for text in adversarial_strings(100, seed=43):
        ids = tok.encode(text)
        decoded, starts = tok.decode_with_offsets(ids)
        assert decoded == text
        assert starts == tok.encode_with_offsets(text)[1][:, 0].tolist()
        assert tok.decode_with_offsets(np.array(ids)) == (decoded, starts)
    with pytest.raises(UnicodeDecodeError):
        tok.decode_with_offsets(tok.encode(b"\xff"))
    with pytest.raises(bbpe.TokenIdError):
        tok.decode_with_offsets([10_000])


FILES = ["gpt2.tokenizer.json", "deepseek_v3.tokenizer.json"]


def same_as_hf(tok, peer, text):
    theirs = peer.encode(text, add_special_tokens=False)
    ids, spans = tok.encode_with_offsets(text, allowed_special="all")
    assert ids == theirs.ids
    assert spans.tolist() == [list(pair) for pair in theirs.offsets]


@pytest.fixture(scope="module")
def both(vocab_path):
    tokenizers = pytest.importorskip("tokenizers")
    return lambda name: (bbpe.load(vocab_path(name)), tokenizers.Tokenizer.from_file(str(vocab_path(name))))


@pytest.mark.parametrize("name", FILES)
def test_hf_has_the_same_offsets(both, corpus, name):
    tok, peer = both(name)
    specials = "a<|endoftext|>é<｜end▁of▁sentence｜>"
    for text in ["", specials, *adversarial_strings(40, seed=44), corpus("multi", 8_000)]:
        same_as_hf(tok, peer, text)


@pytest.mark.long
@pytest.mark.parametrize("language", ["en", "code", "ja", "zh", "multi"])
@pytest.mark.parametrize("name", FILES)
def test_hf_has_the_same_offsets_in_all_corpora(both, corpus, name, language):
    tok, peer = both(name)
    text = corpus(language)
    for at in range(0, len(text), 1 << 18):
        same_as_hf(tok, peer, text[at : at + (1 << 18)])


def ruled(normalizer=None, pre=None, **changes):
    """A small tokenizer.json with a normalizer and a pre-tokenizer."""
    pre = byte_level() if pre is None else pre
    return document(normalizer=normalizer, pre_tokenizer=pre, **changes)


def sequenced(*parts):
    return {"type": "Sequence", "normalizers": list(parts)}


def of_characters(prefix):
    """A vocabulary of characters, as SentencePiece's: byte fallback, U+2581 for blanks."""
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁theinga中é", "th", "▁th", "▁the", "in", "ing"]
    merges = [["t", "h"], ["▁", "th"], ["▁th", "e"], ["i", "n"], ["in", "g"]]
    parts = [{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    decoders = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]  # fmt: skip
    if prefix:
        parts.insert(0, {"type": "Prepend", "prepend": "▁"})
    return document(
        normalizer=sequenced(*parts), pre_tokenizer=None,
        decoder={"type": "Sequence", "decoders": decoders if prefix else decoders[:-1]},
        model__vocab={token: number for number, token in enumerate(tokens)}, model__merges=merges,
        model__byte_fallback=True, model__unk_token="<unk>", model__fuse_unk=True,
    )  # fmt: skip


DOCUMENTS = {
    "NFC": ruled({"type": "NFC"}),
    "NFKC": ruled({"type": "NFKC"}),
    "NFD": ruled({"type": "NFD"}),
    "lower": ruled({"type": "Lowercase"}),
    "lower without accents": ruled(sequenced({"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"})),
    "strip": ruled({"type": "Strip", "strip_left": True, "strip_right": True}),
    "replace": ruled({"type": "Replace", "pattern": {"String": "the"}, "content": "x"}),
    "replace by more": ruled({"type": "Replace", "pattern": {"Regex": "[a-c]+"}, "content": "xyz"}),
    "prepend": ruled({"type": "Prepend", "prepend": "__"}),
    "prefix": ruled(None, byte_level(add_prefix_space=True)),
    "splits": ruled(None, sequence(split(r"\d"), {"type": "Digits", "individual_digits": True}, byte_level())),
    "characters": of_characters(False),
    "characters after a blank": of_characters(True),
    "added": ruled(
        {"type": "Lowercase"}, added_tokens=[added("<A>", 267, normalized=True), added("<b>", 268, lstrip=True)]
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_places_through_rules(tmp_path, name):
    tokenizers = pytest.importorskip("tokenizers")
    path = write_json(tmp_path / "tokenizer.json", DOCUMENTS[name])
    tok, peer = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    texts = ["", "the", " the THE  é e\u0301x中", "a  <a> <A>  <b>the", *adversarial_strings(25, seed=45)]
    for text in texts:
        theirs = peer.encode(text, add_special_tokens=False)
        ids, spans = tok.encode_with_offsets(text, allowed_special="all")
        assert ids == tok.encode(text, allowed_special="all") == theirs.ids
        assert spans.tolist() == [list(pair) for pair in theirs.offsets], text
        data = text.encode()
        starts = [len(text[:at].encode()) for at in range(len(text) + 1)]
        places = tok.encode_with_offsets(text, "byte", allowed_special="all")[1]
        whole = [[starts[start], starts[end]] for start, end in spans]
        pieces = [tok._parts.decoder.token_bytes.token(token_id) for token_id in ids]
        assert places.tolist() == whole or [data[a:b] for a, b in places] == pieces
        assert tok.encode_with_offsets(data, allowed_special="all")[1].tolist() == spans.tolist()


@pytest.mark.parametrize(
    "pre_tokenizer",
    [
        sequence({"type": "WhitespaceSplit"}, byte_level()),
        sequence({"type": "Whitespace"}, byte_level()),
        sequence({"type": "Digits", "individual_digits": True}, byte_level(add_prefix_space=True)),
        sequence({"type": "Punctuation", "behavior": "Contiguous"}, {"type": "WhitespaceSplit"}, byte_level()),
    ],
    ids=["whitespace split", "whitespace", "digits and a prefix", "punctuation"],
)
def test_offsets_after_pre_tokenizers(pre_tokenizer, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    path = write_json(tmp_path / "tokenizer.json", ruled(None, pre_tokenizer))
    tok, peer = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in ["the the", " the  in, the", "é ̂ 12 a", *adversarial_strings(60, seed=47)]:
        same_as_hf(tok, peer, text)


def test_a_sentencepiece_model_has_the_places_of_its_tokenizer_json(vocab_path, corpus, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip("sentencepiece")
    tok = bbpe.load(vocab_path("mistral_v1.model"))
    tok.save(tmp_path / "tokenizer.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*adversarial_strings(60, seed=46), corpus("multi", 20_000)]:
        same_as_hf(tok, peer, text)


def trimming(kind="ByteLevel", *, keeps=True, **changes):
    ends = {} if kind == "ByteLevel" else {"cls": ["<s>", 267], "sep": ["<s>", 267]}
    return {"type": kind, "add_prefix_space": keeps, "trim_offsets": True, **ends, **changes}


BLANKS = [" a", "  the   the ", "\n\n the", "\u3000\xa0the\u2028", " ", "   ", "the <b> in", "a\t<b>", " <s> the"]
TRIMS = {
    "blanks": trimming(keeps=False),
    "the first keeps its own": trimming(),
    "Roberta": trimming("RobertaProcessing", keeps=False),
    "twice": {"type": "Sequence", "processors": [trimming(), trimming("RobertaProcessing")]},
    "not at all": trimming(trim_offsets=False),
}


TRIMMED = ["NFKC", "prefix", "splits", "characters after a blank", "added", "replace by blanks", "look-behind"]


def test_several_blanks_are_trimmed_at_the_beginning_too(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = document()["model"]["vocab"]
    value = ruled(post_processor=trimming(), model__vocab={**vocabulary, "ĠĠ": 267}, model__merges=[["Ġ", "Ġ"]])
    path = write_json(tmp_path / "tokenizer.json", value)
    tok, peer = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in (" ", "  ", "   ", " a", "  a", "\n  a"):
        same_as_hf(tok, peer, text)


@pytest.mark.parametrize("rules", TRIMMED)
@pytest.mark.parametrize("trims", TRIMS)
def test_trimmed_offsets_as_hf(tmp_path, rules, trims):
    tokenizers = pytest.importorskip("tokenizers")
    blanks = {
        "replace by blanks": ruled({"type": "Replace", "pattern": {"Regex": "[ac]|中"}, "content": "  x "}),
        "look-behind": ruled({"type": "Replace", "pattern": {"Regex": r"(?<=a)c|(?<=th)e"}, "content": "b "}),
    }
    value = {**{**DOCUMENTS, **blanks}[rules], "post_processor": TRIMS[trims]}
    marked = [added("<s>", 267), added("<b>", 268, lstrip=True, rstrip=True)]
    value["added_tokens"] = value["added_tokens"] or (marked if len(value["model"]["vocab"]) == 267 else [])
    path = write_json(tmp_path / "tokenizer.json", value)
    tok, peer = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in ["", "the", *BLANKS, "中a 中", *adversarial_strings(15, seed=48)]:
        same_as_hf(tok, peer, text)
        starts = [len(text[:at].encode()) for at in range(len(text) + 1)]
        chars, places, units = (
            tok.encode_with_offsets(text, unit, allowed_special="all")[1].tolist() for unit in ("char", "byte", "utf16")
        )
        pairs = zip(chars, places, strict=True)
        assert all(starts[a] <= c <= d <= starts[b] for (a, b), (c, d) in pairs)
        assert units == mapped(text, places, "utf16")
    tok.save(tmp_path / "again.json")
    again = bbpe.load(tmp_path / "again.json")
    assert again == tok
    assert again.spec.trims == tok.spec.trims
    same_as_hf(again, tokenizers.Tokenizer.from_file(str(tmp_path / "again.json")), " the \xa0in ")


def test_trims_are_compared_and_do_not_truncate(tmp_path):
    path = write_json(tmp_path / "tokenizer.json", ruled(post_processor=trimming(keeps=False)))
    tok, plain = bbpe.load(path), bbpe.load(write_json(tmp_path / "plain.json", ruled()))
    assert tok != plain
    assert tok.fingerprint == plain.fingerprint
    assert tok.encode_with_offsets(" the the")[1].tolist() == [[1, 4], [5, 8]]
    assert tok.truncate(" the the", 1) == plain.truncate(" the the", 1) == " the"


@pytest.mark.parametrize("fuses", [False, True])
@pytest.mark.parametrize("marks", [("", ""), ("##", ""), ("", "</w>"), ("##", "</w>")], ids=str)
def test_offsets_of_unknown_characters_beside_known_ones(tmp_path, marks, fuses):
    """Some characters have no token, others have one only at another place in a word."""
    tokenizers = pytest.importorskip("tokenizers")
    prefix, end = marks
    symbols = ["a", "b", *(f"{prefix}{char}{end}" for char in "abc"), f"{prefix}b", f"a{end}"]
    merges = [["a", f"{prefix}b{end}"]]
    vocabulary = dict.fromkeys(["<unk>", *symbols, f"ab{end}"])
    value = document(
        model__vocab={key: number for number, key in enumerate(vocabulary)}, model__merges=merges,
        model__unk_token="<unk>", model__fuse_unk=fuses, pre_tokenizer={"type": "WhitespaceSplit"}, decoder=None,
        model__continuing_subword_prefix=prefix or None, model__end_of_word_suffix=end or None,
    )  # fmt: skip
    path = write_json(tmp_path / "tokenizer.json", value)
    tok, peer = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    assert tok.encode_with_offsets("éé")[1].tolist() == ([[0, 2]] if fuses else [[0, 1], [1, 2]])
    rng = random.Random(49)
    for text in ["ab", "éab", "aéb éé", "中éab c", *("".join(rng.choices("abc é中", k=9)) for _ in range(60))]:
        same_as_hf(tok, peer, text)


def unigram(*, unknown, **changes):
    """A tokenizer.json of pieces; the unknown token is an ordinary one with a score."""
    rows = [["<unk>", unknown], *([key, -1.0 - len(key) / 9] for key in (*"ab<unk> ", "ab"))]
    model = {"type": "Unigram", "unk_id": 0, "vocab": rows, "byte_fallback": False}
    return document(**{"model": model, "pre_tokenizer": None, "decoder": None, **changes})


@pytest.mark.parametrize(
    ("unknown", "text", "places"),
    [
        (-1.0, "é<unk>a", [(0, 6), (6, 7)]), (-1.0, "a<unk>é", [(0, 1), (1, 7)]), (-1.0, "<unk><unk>", [(0, 10)]),
        (-1.0, "éé<unk>éab", [(0, 8), (8, 10)]), (-1.0, "<unk>", [(0, 5)]), (-1.0, "éaé", [(0, 1), (1, 2), (2, 3)]),
        (-9.0, "é<unk>", [(at, at + 1) for at in range(6)]),
    ],
)  # fmt: skip
def test_the_unknown_token_in_a_text_joins_the_unknown_characters_beside_it(tmp_path, unknown, text, places):
    tokenizers = pytest.importorskip("tokenizers")
    path = write_json(tmp_path / "tokenizer.json", unigram(unknown=unknown))
    tok = bbpe.load(path)
    assert [tuple(place) for place in tok.encode_with_offsets(text)[1].tolist()] == places
    same_as_hf(tok, tokenizers.Tokenizer.from_file(str(path)), text)


@pytest.mark.parametrize("is_found", [True, False])
@pytest.mark.parametrize("trims", TRIMS)
def test_trimmed_offsets_of_runs_of_unknown_characters(tmp_path, trims, is_found):
    """The text of such a run or of an added token, not its token, says which blanks are trimmed."""
    tokenizers = pytest.importorskip("tokenizers")
    marked = [added("<s>", 267), added("<b>", 268, lstrip=True, rstrip=True), added("[ c ]", 269), added(" d ", 270)]
    marked += [] if is_found else [added("<unk>", 0)]
    value = unigram(unknown=-1.0, added_tokens=marked, post_processor=TRIMS[trims])
    value["model"]["vocab"] += [[f"{number:09b}".replace("0", "a").replace("1", "b"), -1.0] for number in range(257)]
    path = write_json(tmp_path / "tokenizer.json", value)
    tok, peer = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in [*BLANKS, "é <b>  a", "<b> é", "  <b>", "a d b", " d é", "[ c ] é", "\u3000<b>\xa0é", "é<unk>  <b>"]:
        same_as_hf(tok, peer, text)


@pytest.mark.parametrize("unit", ["char", "utf16"])
def test_spans_that_overlap(unit):
    rng = random.Random(7)
    texts = ["aé\x80b" * 9, "a中é" * 12, "\U0001f600a\ud83d\ude00é" * 8, "\udc00\ud800a" * 5]
    for text in [*texts, b"a\xff\xe4\xb8\xad\xe4" * 6] * 40:
        begins = np.cumsum([0, *(size for size, _, _ in characters(text))])
        starts = sorted(rng.choices(begins[:-1].tolist(), k=rng.randint(1, 12)))
        spans = np.array([(start, rng.randint(start + 1, begins[-1])) for start in starts], np.int64)
        expected = mapped(text, spans.copy(), unit)
        map_places(text, spans, unit)
        assert spans.tolist() == expected, (text, starts)
