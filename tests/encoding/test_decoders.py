"""Every decoder of a tokenizer.json with every model: as `tokenizers` decodes, and the same in all ways to decode."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import full_then_long

import bbpe
from bbpe.compat.tokenizers import DecodeStream
from bbpe.core.ids import TokenBytes
from bbpe.core.stream import Forms, FormStream
from bbpe.encoding.forms import TokenKeys, forms_of
from bbpe.encoding.stream import MachineStream, StreamDecoder
from bbpe.spec.decoders import CTC, Blanks, ByteFallback, ByteLevel, Strip
from bbpe.spec.rules import BYTE_KEYS, Characters, Replace

MARK = "\u2581"
SPECIALS = ["[UNK]", "<x>", "[SEP]"]
CHARACTERS = [
    "a", "b", "s", ".", "'", "n't", "do", "|", "<pad>", "see", "\u00e9", "\u4e1c", " ", "not", ",", "<", "</w>",
    "_", "_see",
]  # fmt: skip
#: The keys of the tokens of each model, without special tokens.
KEYS: dict[str, list[str]] = {
    "bytes": ["see", "\u0120my", "\u0120", "\u00e4\u00bd\u0142", "\u00e4\u00bd", "\u0142", "\u0120\u00e9", "."],
    "pieces": [*BYTE_KEYS, *CHARACTERS, MARK, f"{MARK}see", f"{MARK}a", f"{MARK}."],
    "marked": [*CHARACTERS, MARK, f"{MARK}see", f"{MARK}a", f"{MARK}.", "<0x41>", "<0xe4>", "<0xBD>", "<0xa0>"],
    "words": [*CHARACTERS, "a</w>", "see</w>", ".</w>", "s</w>"],
    "wordpiece": [*CHARACTERS, "##s", "##ing", "##.", "##", "#", "##n't"],
    "unigram": [*CHARACTERS, MARK, f"{MARK}see", f"{MARK}a", f"{MARK}."],
}


def named(kind: str, **options: Any) -> dict[str, Any]:
    return {"type": kind, **options}


def model_of(kind: str, vocab: dict[str, int]) -> dict[str, Any]:
    if kind == "wordpiece":
        shared = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
        return named("WordPiece", unk_token="[UNK]", vocab=vocab, **shared)
    if kind == "unigram":
        return named("Unigram", unk_id=0, vocab=[[key, -float(number)] for key, number in vocab.items()])
    return named(
        "BPE", dropout=None, unk_token=None if kind == "bytes" else "[UNK]", continuing_subword_prefix=None,
        end_of_word_suffix="</w>" if kind == "words" else None, fuse_unk=False, byte_fallback=kind == "pieces",
        vocab=vocab, merges=[],
    )  # fmt: skip


def document(kind: str, decoder: dict[str, Any] | None) -> dict[str, Any]:
    keys = KEYS[kind]
    if kind == "bytes":
        alphabet = bbpe.train_from_iterator(["a"], 256).get_vocab()
        keys = [*alphabet, *(key for key in keys if key not in alphabet)]
    vocab = {key: number for number, key in enumerate([*SPECIALS, *keys])}
    split = {
        "bytes": named("ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False),
        "words": named("WhitespaceSplit"), "wordpiece": named("WhitespaceSplit"),
        "unigram": None, "pieces": None, "marked": None,
    }  # fmt: skip
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [{"id": number, "content": text, "special": True, **flags} for number, text in enumerate(SPECIALS)]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": split[kind], "post_processor": None, "decoder": decoder, "model": model_of(kind, vocab),
    }  # fmt: skip


#: Decoders that take tokens; `Fuse` and `ByteLevel` make one token of all.
STEPS = [
    named("Fuse"), named("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
    named("Metaspace", replacement=MARK, prepend_scheme="always", split=True),
    named("Metaspace", replacement=MARK, prepend_scheme="never", split=True),
    named("Metaspace", replacement="_", prepend_scheme="first", split=True),
    named("WordPiece", prefix="##", cleanup=True), named("WordPiece", prefix="##", cleanup=False),
    named("WordPiece", prefix="", cleanup=True), named("BPEDecoder", suffix="</w>"), named("BPEDecoder", suffix="|"),
    named("ByteFallback"), named("ByteFallback"), named("Strip", content=" ", start=1, stop=0),
    named("Strip", content="s", start=2, stop=0), named("Strip", content=" ", start=0, stop=1),
    named("Strip", content="\u00e9", start=1, stop=0),
    named("Replace", pattern={"String": MARK}, content=" "), named("Replace", pattern={"String": "ee"}, content="x"),
    named("Replace", pattern={"String": "s"}, content=""),
    named("Replace", pattern={"Regex": "[abs]+|\u4e1c"}, content="-"),
    named("CTC", pad_token="<pad>", word_delimiter_token="|", cleanup=True),
    named("CTC", pad_token="a", word_delimiter_token="|", cleanup=False),
]  # fmt: skip
USUAL: list[dict[str, Any] | None] = [
    None, named("Sequence", decoders=[]), *STEPS,
    named("Sequence", decoders=[STEPS[16], named("ByteFallback"), named("Fuse"), STEPS[12]]),
    named("Sequence", decoders=[named("ByteFallback"), STEPS[2]]),
    named("Sequence", decoders=[named("Fuse"), STEPS[17], STEPS[14]]),
]  # fmt: skip


def composed(rng: random.Random) -> dict[str, Any]:
    """Return a random composition without what HF does in its own way.

    HF removes all marks of a first token, so tokens must have only one; and all suffixes of a last token, which matters
    once all tokens are one.
    """
    while True:
        steps = rng.choices(STEPS, k=rng.randint(1, 4))
        kinds = [step["type"] for step in steps]
        joins = next((number for number, kind in enumerate(kinds) if kind in ("Fuse", "ByteLevel")), 9)
        if "Metaspace" not in kinds[1:] and "BPEDecoder" not in kinds[joins:]:
            return named("Sequence", decoders=steps)


def rows_of(tok: bbpe.Tokenizer, rng: random.Random, count: int) -> Iterator[list[int]]:
    known = sorted({*tok.spec.vocab, *tok.special_tokens.values(), *(tok.spec.characters or NOTHING).byte_ids})
    texts = ("\u4e1c", "\u00e9", "a", " ") if "<0x00>" in tok.get_vocab() else ()
    characters = [[tok.token_to_id(f"<0x{byte:02X}>") for byte in text.encode()] for text in texts]
    yield []
    for _ in range(count):
        row = rng.choices(known, k=rng.randint(1, 7))
        if characters:
            row = [token_id for token_id in row if token_id not in tok.spec.characters.byte_ids]  # type: ignore[union-attr]
            for _ in range(rng.randint(0, 2)):
                place = rng.randint(0, len(row))
                row[place:place] = rng.choice(characters)
        yield row


NOTHING = Characters()


def loaded(path: Path, kind: str, decoder: dict[str, Any] | None) -> bbpe.Tokenizer:
    path.write_text(json.dumps(document(kind, decoder)), "utf-8")
    return bbpe.load(path)


def judged(judge: Any, row: list[int]) -> str | None:
    """Return what HF decodes; `None` where it breaks down or counts invalid bytes in its own way."""
    try:
        text: str = judge.decode(row, skip_special_tokens=False)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None
    return None if "\ufffd" in text else text


def compare(kind: str, path: Path, rng: random.Random, decoders: list[dict[str, Any] | None], count: int) -> int:
    """Compare what random ids decode to; return how many were compared."""
    tokenizers = pytest.importorskip("tokenizers")
    compared = 0
    for decoder in decoders:
        tok = loaded(path, kind, decoder)
        judge = tokenizers.Tokenizer.from_file(str(path))
        for row in rows_of(tok, rng, count):
            expected = judged(judge, row)
            if expected is not None:
                assert tok.decode(row) == expected, (decoder, [judge.id_to_token(token_id) for token_id in row])
                compared += 1
    return compared


@pytest.mark.parametrize("kind", KEYS)
def test_as_tokenizers_decodes(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(kind)
    assert compare(kind, tmp_path / "t.json", rng, [*USUAL, *(composed(rng) for _ in range(12))], 6) > 100
    capfd.readouterr()  # what a panic of HF prints


@pytest.mark.parametrize("seed", full_then_long(range(1), range(1, 5)))
@pytest.mark.parametrize("kind", KEYS)
def test_many_decoders(kind: str, seed: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(f"{kind} {seed}")
    assert compare(kind, tmp_path / "t.json", rng, [composed(rng) for _ in range(300)], 12) > 2000
    capfd.readouterr()


def garbage_of(tok: bbpe.Tokenizer, rng: random.Random, count: int) -> list[list[int]]:
    """Return random ids, which need not be UTF-8."""
    known = sorted({*tok.spec.vocab, *tok.special_tokens.values(), *(tok.spec.characters or NOTHING).byte_ids})
    return [rng.choices(known, k=rng.randint(0, 8)) for _ in range(count)]


@pytest.mark.parametrize("kind", KEYS)
def test_all_ways_agree(kind: str, tmp_path: Path) -> None:
    """The machine of the steps is the slow twin of the tables."""
    rng, with_tables = random.Random(f"{kind} twins"), 0
    for decoder in [*USUAL, *(composed(rng) for _ in range(5))]:
        tok = loaded(tmp_path / "t.json", kind, decoder)
        tokens, keys = tok._parts.vocabulary.tokens, TokenKeys(tok.spec)
        with_tables += forms_of(tok.spec, keys, tokens) is not None
        rows = garbage_of(tok, rng, 4)
        for errors in ("replace", "ignore"):
            texts = [tok.decode(row, errors=errors) for row in rows]
            assert tok.decode_batch(rows, errors=errors) == texts
            ragged = bbpe.Ragged.from_rows(np.array(row, np.uint32) for row in rows)
            assert tok.decode_batch(ragged, errors=errors) == texts
            stream = tok.stream_decoder(errors=errors)
            slow = StreamDecoder(MachineStream(tok.spec.decoder, keys, tokens, errors))
            for row, text in zip(rows, texts, strict=True):
                assert "".join(map(stream.push, row)) + stream.finish() == text, (decoder, row)
                assert "".join(slow.stream(row)) == text, (decoder, row)
                assert tok.decode_bytes(row).decode("utf-8", errors) == text
        for row in rows:
            check_offsets(tok, row)
        for row in rows[:2]:
            check_prompts(tok, row)
    assert 10 < with_tables < len(USUAL) + 5


def check_offsets(tok: bbpe.Tokenizer, row: list[int]) -> None:
    try:
        text, places = tok.decode_with_offsets(row)
    except UnicodeDecodeError:
        assert "\ufffd" in tok.decode(row)
        return
    assert text == tok.decode(row)
    assert len(places) == len(row)
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


def check_prompts(tok: bbpe.Tokenizer, row: list[int]) -> None:
    """What comes after a prompt continues its text, also in a copy and in the next stream."""
    for size in range(len(row) + 1):
        plain = tok.stream_decoder()
        begun = "".join(map(plain.push, row[:size]))
        decoder = tok.stream_decoder(prompt=row[:size])
        for each in (decoder, decoder, decoder.copy()):
            assert begun + "".join(each.stream(row[size:])) == tok.decode(row)
        other = plain.copy()
        rest = "".join(map(plain.push, row[size:])) + plain.finish()
        assert begun + rest == tok.decode(row)
        assert "".join(other.stream(row[size:])) == rest


@pytest.mark.parametrize("before", [[], [named("CTC", pad_token="<pad>", word_delimiter_token="|", cleanup=False)]])
@pytest.mark.parametrize("errors", ["replace", "ignore"])
def test_a_copy_goes_on_within_a_character(before: list[dict[str, Any]], errors: str, tmp_path: Path) -> None:
    """Each of both completes it, or ends within it; neither does so for the other."""
    level = named("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True)
    tok = loaded(tmp_path / "t.json", "bytes", named("Sequence", decoders=[*before, level]))
    first, second = (tok.token_to_id(bytes((byte,))) for byte in "\u00e9".encode())
    stream = tok.stream_decoder(errors=errors)
    assert stream.push(first) == ""
    other, third, lost = stream.copy(), stream.copy(), "\ufffd" * (errors == "replace")
    assert (other.push(second), other.finish()) == ("\u00e9", "")
    assert (stream.push(second), stream.push(first), stream.finish()) == ("\u00e9", "", lost)
    assert third.finish() == lost


@pytest.mark.parametrize("kind", KEYS)
def test_saved_decoders(kind: str, tmp_path: Path) -> None:
    rng = random.Random(f"{kind} saved")
    for decoder in USUAL:
        tok = loaded(tmp_path / "t.json", kind, decoder)
        tok.save(tmp_path / "again.json")
        again = bbpe.load(tmp_path / "again.json")
        assert again == tok
        assert again.spec.decoder == tok.spec.decoder
        rows = garbage_of(tok, rng, 4)
        assert again.decode_batch(rows) == tok.decode_batch(rows)


def test_options_of_streams(tmp_path: Path) -> None:
    for decoder in USUAL:
        tok = loaded(tmp_path / "t.json", "wordpiece", decoder)
        special, last = tok.special_tokens["<x>"], tok.vocab_size
        row = [special, *tok.get_vocab().values(), special, 5, 6]
        kept = [token_id for token_id in row if token_id not in tok.special_tokens.values()]
        stream = tok.stream_decoder(skip_special_tokens=True)
        assert "".join(stream.stream(row)) == tok.decode(kept) == tok.decode(row, skip_special_tokens=True)
        for given in (row[:5], [last, *row[:5]], [3, last, 4], [3, 4, last], [-1], [np.int64(3), np.uint8(4)]):
            known = [token_id for token_id in given if 0 <= token_id < last]
            assert "".join(tok.stream_decoder(unknown_ids="skip").stream(given)) == tok.decode(known)
            marked = "".join(tok.stream_decoder(unknown_ids="mark").stream(given))
            assert marked == tok.decode(given, unknown_ids="mark")
            assert marked.count("\ufffd") == len(given) - len(known)
            strict = tok.stream_decoder()
            pieces = ""
            for token_id in given:
                if 0 <= token_id < last:
                    pieces += strict.push(token_id)
                else:  # the state does not change
                    with pytest.raises(bbpe.TokenIdError):
                        strict.push(token_id)
            assert pieces + strict.finish() == tok.decode(known)
        with pytest.raises(bbpe.TokenIdError):
            tok.stream_decoder(prompt=[last])
        for wrong in ("3", 3.0, None, True):
            with pytest.raises(TypeError):
                tok.stream_decoder().push(wrong)  # type: ignore[arg-type]
            with pytest.raises(TypeError):
                tok.stream_decoder(prompt=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KEYS)
def test_several_ids_at_once_in_the_stream_of_tokenizers(kind: str, tmp_path: Path) -> None:
    rng = random.Random(17)
    for decoder in (*USUAL, *(composed(rng) for _ in range(4))):
        tok = loaded(tmp_path / "t.json", kind, decoder)
        view = tok.as_tokenizers()
        for row in rows_of(tok, rng, 5):
            streams, each = [DecodeStream(), DecodeStream()], tok.stream_decoder()
            for part in (row[:3], row[3:4], row[4:], []):
                text = "".join(map(each.push, part))
                steps = [streams[1].step(view, token_id) for token_id in part]
                assert (streams[0].step(view, part) or "", "".join(step or "" for step in steps)) == (text, text)
                assert "" not in steps


def test_text_is_returned_as_soon_as_it_is_known() -> None:
    tok = bbpe.train_from_iterator(["a"], 256)
    steps = (ByteLevel(), Replace("abc", False, "x"), Strip(" ", 1, 2))
    tok = bbpe.Tokenizer(replace(tok.spec, decoder=steps))
    text = "  ababc ab   "
    decoder = tok.stream_decoder()
    pieces = [decoder.push(token_id) for token_id in tok.encode(text)]
    assert (pieces, decoder.finish()) == (["", "", "", "", " ab", "", "x", "", "", "", " ab", "", " "], "")
    assert tok.decode(tok.encode(text)) == " abx ab "


def test_a_token_that_repeats(tmp_path: Path) -> None:
    """CTC compares the keys of neighbours, also where no token remains of them."""
    tok = loaded(tmp_path / "t.json", "marked", named("CTC", pad_token="<pad>", word_delimiter_token="|", cleanup=True))
    assert tok.spec.decoder == (CTC(),)
    ids = [tok.token_to_id(key) for key in ("s", "s", "<pad>", "s", "|", "|", "a", "<pad>", "<pad>", "b")]
    assert tok.decode(ids) == "ss ab"


def test_bytes_before_steps_that_take_tokens(tmp_path: Path) -> None:
    tok = loaded(tmp_path / "t.json", "pieces", named("Sequence", decoders=[named("ByteFallback"), STEPS[14]]))
    assert tok.spec.decoder == (ByteFallback(), Strip(" ", 0, 1))
    ids = [tok.token_to_id(key) for key in ("<0x41>", "<0x20>", "see", "<0xE4>", "<0xB8>", "<0x9C>", "<0x20>")]
    assert tok.decode(ids) == "Asee\u4e1c"


LLAMA = named("Sequence", decoders=[STEPS[16], named("ByteFallback"), named("Fuse"), STEPS[12]])


def test_usual_decoders_share_the_table_of_the_vocabulary(tmp_path: Path) -> None:
    for kind, decoder, is_shared in (
        ("pieces", LLAMA, True), ("unigram", STEPS[2], True), ("unigram", STEPS[16], True), ("pieces", STEPS[2], False),
        ("bytes", STEPS[1], True), ("bytes", None, False), ("wordpiece", STEPS[5], False), ("marked", LLAMA, False),
    ):  # fmt: skip
        value = document(kind, decoder)
        value["normalizer"] = named("Replace", pattern={"String": " "}, content=MARK)
        vocab = value["model"]["vocab"]
        if kind == "unigram":
            value["model"]["vocab"] = [[key.replace(" ", "blank"), score] for key, score in vocab]
        elif kind in ("pieces", "marked"):  # whose tokens have marks for all blanks
            value["model"]["vocab"] = {key.replace(" ", "blank"): number for key, number in vocab.items()}
        path = tmp_path / "t.json"
        path.write_text(json.dumps(value), "utf-8")
        tok = bbpe.load(path)
        assert (tok._parts.decoder.token_bytes is tok._parts.vocabulary.tokens) == is_shared, (kind, decoder)


def test_a_format_without_the_decoder_is_refused(tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["see my dogs"] * 3, 260)
    spelled = bbpe.Tokenizer(replace(tok.spec, decoder=(Blanks(),)))
    assert spelled.encode("see") == tok.encode("see")
    assert spelled != tok
    with pytest.raises(bbpe.VocabularyError, match="the decoder"):
        spelled.save(tmp_path / "a.tiktoken")
    with pytest.raises(bbpe.VocabularyError, match="puts blanks between tokens only where there is no other decoder"):
        bbpe.Tokenizer(replace(tok.spec, decoder=(Blanks(), Strip(" ", 1, 0)))).save(tmp_path / "a.json")
    words = bbpe.train_from_iterator(["see my dogs"] * 3, 40, model="wordpiece")
    with pytest.raises(bbpe.VocabularyError, match="the decoder"):
        bbpe.Tokenizer(replace(words.spec, decoder=(Blanks(),))).save(tmp_path / "vocab.txt")


def test_flags_for_too_few_ids() -> None:
    with pytest.raises(ValueError, match="skipped has 1 bytes; expected one for each id"):
        FormStream(Forms(TokenBytes({0: b"a", 1: b"b"}), lambda *_: b""), skipped=b"\x00")


def test_a_token_that_is_found_as_normalized_is_decoded_so(tmp_path: Path) -> None:
    """The token takes the blank with it that its normal form begins with."""
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {"<unk>": 0, "\u2581": 1, "a": 2, "b": 3}
    hf = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [], unk_token="<unk>"))
    norms, decoders = tokenizers.normalizers, tokenizers.decoders
    hf.normalizer = norms.Sequence([norms.Prepend("\u2581"), norms.Replace(" ", "\u2581")])
    hf.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    hf.add_tokens([tokenizers.AddedToken("<x>", normalized=True), tokenizers.AddedToken("<y>", normalized=False)])
    hf.save(str(tmp_path / "tokenizer.json"))
    tok = bbpe.load(tmp_path / "tokenizer.json")
    for text in ("a <x> b", "<x>a<x>", "a <y> b", " <x> <x>"):
        ids = hf.encode(text, add_special_tokens=False).ids
        assert tok.encode(text) == ids
        assert tok.decode(ids) == hf.decode(ids, skip_special_tokens=False)
        assert "".join(tok.stream_decoder().stream(ids)) == tok.decode(ids)
