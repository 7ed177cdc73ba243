"""What decoding does at both ends of a text is the same for `decode`, batches, offsets and streams."""

from __future__ import annotations

import array
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.compat.tokenizers import DecodeStream
from bbpe.encoding.stream import MachineStream
from bbpe.pipeline.decoders import DecoderMachine, Token
from bbpe.spec.decoders import WordPiece

TEXTS = ["see my eyes first", "see my dogs!", "I have 12 dogs, na\u00efve caf\u00e9"] * 10


def hf_file(path: Path, model: dict[str, Any], decoder: dict[str, Any]) -> bbpe.Tokenizer:
    document = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": decoder, "model": model,
    }  # fmt: skip
    path.write_text(json.dumps(document), "utf-8")
    return bbpe.load(path)


def word_piece(path: Path, *, cleanup: bool = True) -> bbpe.Tokenizer:
    words = ["[UNK]", "see", "ing", "##ing", "##s", "##", "#", "face", ".", ",", "'", "n't", "do", "not", "##.", " "]
    vocab = {word: number for number, word in enumerate(words)}
    model = {
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
        "vocab": vocab,
    }  # fmt: skip
    return hf_file(path, model, {"type": "WordPiece", "prefix": "##", "cleanup": cleanup})


def marked_words(path: Path) -> bbpe.Tokenizer:
    vocab = {"<unk>": 0, "s": 1, "##e": 2, "##s": 3, "##ee": 4, "see": 5}
    model = {
        "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": "##", "fuse_unk": False,
        "end_of_word_suffix": None, "byte_fallback": False, "vocab": vocab,
        "merges": ["##e ##e", "s ##ee"],
    }  # fmt: skip
    vocab |= {"##" + char: len(vocab) + number for number, char in enumerate("x")}
    return hf_file(path, model, {"type": "WordPiece", "prefix": "##", "cleanup": False})


def model_file(path: Path, **options: Any) -> bbpe.Tokenizer:
    sentencepiece = pytest.importorskip("sentencepiece")
    with path.open("wb") as writer:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS), model_writer=writer, minloglevel=2, hard_vocab_limit=False,
            **{"vocab_size": 100, "model_type": "bpe", **options},
        )  # fmt: skip
    return bbpe.load(path)


KINDS = [
    "bytes", "wordpiece", "trained wordpiece", "trained wordpiece without cleanup", "marked words", "</w>", "unigram",
    "bpe model", "unigram model", "model without a prefix", "model that keeps blanks",
]  # fmt: skip


@pytest.fixture(params=KINDS)
def tok(request: pytest.FixtureRequest, tmp_path: Path) -> bbpe.Tokenizer:
    path = tmp_path / "x.model"
    match request.param:
        case "bytes":
            return bbpe.train_from_iterator(TEXTS, 280, special_tokens=["<s>"])
        case "wordpiece":
            return word_piece(tmp_path / "t.json")
        case "trained wordpiece":
            return bbpe.train_from_iterator(TEXTS, 60, model="wordpiece", special_tokens=["[PAD]", "[UNK]"])
        case "trained wordpiece without cleanup":
            return word_piece(tmp_path / "t.json", cleanup=False)
        case "marked words":
            return marked_words(tmp_path / "t.json")
        case "</w>":
            return bbpe.train_from_iterator(
                TEXTS, 60, model=bbpe.BPE(alphabet="chars", end_of_word="</w>"), special_tokens=["<s>"]
            )
        case "unigram":
            return bbpe.train_from_iterator(TEXTS, 340, model="unigram", special_tokens=["<s>"])
        case "bpe model":
            return model_file(path)
        case "unigram model":
            return model_file(path, model_type="unigram", vocab_size=60)
        case "model without a prefix":
            return model_file(path, add_dummy_prefix=False, unk_surface="?")
        case _:
            return model_file(path, remove_extra_whitespaces=False, byte_fallback=True, vocab_size=400)


def test_all_ways_agree(tok: bbpe.Tokenizer) -> None:
    rng = random.Random(5)
    known = sorted({*tok.spec.vocab, *tok.special_tokens.values(), *tok.added_tokens.values()})
    texts = [*TEXTS[:3], "", " ", "  see", "see  ", "dogs dogs", "see my, dogs!", "x\u6771y"]
    rows = [tok.encode(text) for text in texts]
    rows += [[token_id] for token_id in known] + [rng.choices(known, k=rng.randint(2, 9)) for _ in range(50)]
    for skip in (False, True):
        expected = [tok.decode(row, skip_special_tokens=skip) for row in rows]
        assert tok.decode_batch(rows, skip_special_tokens=skip) == expected
        ragged = bbpe.Ragged.from_rows(np.array(row, np.uint32) for row in rows)
        assert tok.decode_batch(ragged, skip_special_tokens=skip) == expected
        decoder = tok.stream_decoder(skip_special_tokens=skip)
        for row, text in zip(rows, expected, strict=True):
            assert "".join(map(decoder.push, row)) + decoder.finish() == text, row
            assert "".join(decoder.stream(row)) == text
            assert tok.decode(np.array(row, np.int64), skip_special_tokens=skip) == text
    for row in rows:
        data = tok.decode_bytes(row)
        assert data.decode("utf-8", "replace") == tok.decode(row)
        try:
            text, places = tok.decode_with_offsets(row)
        except UnicodeDecodeError:
            assert "\ufffd" in tok.decode(row)
            continue
        assert text == tok.decode(row)
        assert len(places) == len(row)
        assert places == sorted(places)
        assert all(0 <= place <= len(text) for place in places)
        # a token within the text begins where its place says
        for number in range(1, len(row)):
            begun = tok._parts.decoder.token_bytes.token(row[number]).decode("utf-8", "replace").rstrip(" ")
            if text[places[number] :].strip(" ") and "\ufffd" not in begun and places[number] > 0:
                assert text.startswith(begun, places[number]), (row, number)


def test_a_continuation_that_is_first_keeps_its_prefix(tmp_path: Path) -> None:
    tok = word_piece(tmp_path / "t.json")
    ids = tok.get_vocab()
    for tokens, text in (
        (["##ing"], "##ing"), (["##s", "##s"], "##ss"), (["##", "see"], "## see"), (["see", "##"], "see"),
        (["see", "##ing", "."], "seeing."), ([".", "see"], ". see"), (["do", "n't"], "don't"), (["#", "##s"], "#s"),
    ):  # fmt: skip
        assert tok.decode([ids[token] for token in tokens]) == text


def test_as_tokenizers_decodes(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    rng = random.Random(6)
    for make in (word_piece, marked_words, lambda path: word_piece(path, cleanup=False)):
        tok, judge = make(tmp_path / "t.json"), tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
        for _ in range(400):
            ids = rng.choices(list(tok.spec.vocab), k=rng.randint(1, 6))
            assert tok.decode(ids) == judge.decode(ids, skip_special_tokens=False), ids


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model_type": "unigram", "vocab_size": 60},
        {"unk_surface": "?"},
        {"unk_surface": " "},
        {"add_dummy_prefix": False},
        {"remove_extra_whitespaces": False, "normalization_rule_name": "identity"},
        {"remove_extra_whitespaces": False, "normalization_rule_name": "identity", "add_dummy_prefix": False},
    ],
)
def test_as_sentencepiece_decodes(options: dict[str, Any], tmp_path: Path) -> None:
    tok = model_file(tmp_path / "x.model", **options)
    judge = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    mark, rng = judge.piece_to_id("\u2581"), random.Random(7)
    plain = [number for number in range(judge.vocab_size()) if not judge.is_control(number)]
    rows = [[mark] * count + judge.encode("see") for count in range(4)]
    rows += [[mark] * 3, [0], [mark, 0], [0, mark, 0], [mark, 0, mark, *judge.encode("see {my}")]]
    rows += [rng.choices([*plain, mark, mark, 0], k=rng.randint(1, 6)) for _ in range(300)]
    for row in rows:
        assert tok.decode(row) == judge.decode(row), [judge.id_to_piece(number) for number in row]
        assert "".join(tok.stream_decoder().stream(row)) == judge.decode(row)
    # tokenizer.json has no squeezing of blanks
    for name in ("again.model", "again.json")[: 1 + ("remove_extra_whitespaces" in options)]:
        tok.save(tmp_path / name)
        again = bbpe.load(tmp_path / name)
        assert again == tok
        assert [again.decode(row) for row in rows] == [judge.decode(row) for row in rows]


# -- ids that are none ---------------------------------------------------------------------------------------


def test_ids_beyond_the_vocabulary(tok: bbpe.Tokenizer) -> None:
    ids = tok.encode("see my dogs")
    size = tok.vocab_size
    holes = [size, size + 3, 2**31, -1]
    for given in ([*ids[:2], size + 3, *ids[2:]], [size, *ids], [*ids, -1], holes):
        for form in (list, np.array):
            rows: Any = form(given)
            with pytest.raises(bbpe.TokenIdError):
                tok.decode(rows)
            kept = [token_id for token_id in given if token_id not in holes]
            assert tok.decode(rows, unknown_ids="skip") == tok.decode(kept)
            assert tok.decode_batch([rows], unknown_ids="skip") == [tok.decode(kept)]
        for choice in ("skip", "mark"):
            decoder = tok.stream_decoder(unknown_ids=choice)
            assert "".join(decoder.stream(given)) == tok.decode(given, unknown_ids=choice)
        marked = tok.decode(given, unknown_ids="mark")
        assert marked.count("\ufffd") == sum(token_id in holes for token_id in given)
        assert tok.decode_batch([given, []], unknown_ids="mark") == [marked, ""]
        with pytest.raises(bbpe.TokenIdError):
            list(tok.stream_decoder().stream(given))
    calls: list[Any] = [tok.decode, lambda ids, **options: tok.decode_batch([ids], **options)]
    for call in (*calls, lambda _, **options: tok.stream_decoder(**options)):
        with pytest.raises(ValueError, match="unknown_ids is 'drop'; expected 'raise', 'skip' or 'mark'"):
            call(ids, unknown_ids="drop")


def test_a_hole_is_no_token() -> None:
    vocab = {**{byte: bytes([byte]) for byte in range(256)}, 300: b"ab"}
    tok = bbpe.Tokenizer.from_merges(vocab, [(b"a", b"b")], pattern="gpt2")
    assert tok.decode([97, 280, 300], unknown_ids="skip") == "aab"
    assert tok.decode([97, 280, 300], unknown_ids="mark") == "a\ufffdab"


OPTIONS: list[dict[str, Any]] = [{}, {"skip_special_tokens": True}, {"unknown_ids": "skip"}, {"unknown_ids": "mark"}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_are_no_ids(options: dict[str, Any]) -> None:
    """One rule for all, with and without options."""
    tok = bbpe.train_from_iterator(TEXTS, 262, special_tokens=["<s>"])
    wrong: list[tuple[Any, str]] = [
        (None, "NoneType"), (5, "int"), ("ab", "str"), (b"ab", "bytes"), ({64}, "set"), ({64: 1}, "dict"),
        ((token_id for token_id in (64,)), "generator"), (np.array([[64, 65]]), "2 dimensions"),
        (np.array([1.5]), "float64"), (np.array(5), "0 dimensions"), (np.array(["a"]), "<U1"),
    ]  # fmt: skip
    for ids, named in wrong:
        for call in (tok.decode, lambda ids, **options: tok.decode_batch([[64], ids], **options)):
            with pytest.raises(TypeError, match="ids must be a sequence of int or an integer array of one") as caught:
                call(ids, **options)
            assert named in str(caught.value)
    with pytest.raises(TypeError, match="row 1: ids must be"):
        tok.decode_batch([[64], {65}], **options)
    batches: list[tuple[Any, str]] = [(5, "int"), ("ab", "str"), (np.array([64]), "1 dimensions")]
    for batch, named in (*batches, (None, "NoneType")):
        with pytest.raises(TypeError, match="a batch must be an iterable of rows of ids") as caught:
            tok.decode_batch(batch, **options)
        assert named in str(caught.value)
    with pytest.raises(TypeError, match="a set, which has no order; expected a list"):
        tok.decode_batch({(64,)}, **options)
    for ids in ([1.5], ["a"], [None], [True]):
        with pytest.raises(TypeError, match="an id is an int, not"):
            tok.decode(ids, **options)
    good: list[Any] = [[64, 65], (64, 65), range(64, 66), array.array("I", [64, 65]), np.array([64, 65], np.uint16)]
    for ids in good:
        assert tok.decode(ids, **options) == "ab"
        assert tok.decode_batch([ids], **options) == ["ab"]
    assert tok.decode_batch(iter(good), **options) == ["ab"] * 5
    assert tok.decode_batch(np.array([[64, 65], [65, 64]]), **options) == ["ab", "ba"]


def test_tokens_by_every_name() -> None:
    for tok in (
        bbpe.train_from_iterator(TEXTS, 300, special_tokens=["<s>", "\n\n"]),
        bbpe.train_from_iterator(TEXTS, 340, model="unigram", special_tokens=["<s>"]),
        bbpe.train_from_iterator(TEXTS, 60, model="wordpiece", special_tokens=["[PAD]"]),
        bbpe.train_from_iterator(TEXTS, 60, model=bbpe.BPE(alphabet="chars", end_of_word="</w>")),
    ):
        for key, token_id in tok.get_vocab().items():
            assert tok.token_to_id(key) == token_id
        for text in TEXTS[:3]:
            assert [tok.token_to_id(token) for token in tok.tokenize(text)] == tok.encode(text)
            if tok.spec.characters is None:  # else files mark blanks
                assert [tok.get_vocab()[token] for token in tok.tokenize(text)] == tok.encode(text)
        for token_id, token in tok.spec.vocab.items():
            assert tok.id_to_token(tok.token_to_id(token)) == token, token_id
        for wrong in ("zzz", b"zzz", "\u6771\u6771"):
            for error in (KeyError, ValueError, bbpe.TokenIdError, bbpe.TokenNotFoundError):
                with pytest.raises(error) as caught:
                    tok.token_to_id(wrong)
                assert str(caught.value).startswith(f"no token is {wrong!r}; expected a key of get_vocab()")
        for wrong in (None, 5, ["a"]):
            with pytest.raises(TypeError, match="a token is str or bytes, not"):
                tok.token_to_id(wrong)  # type: ignore[arg-type]


# -- every form of a batch by every option ---------------------------------------------------------------------


def by_definition(tok: bbpe.Tokenizer, row: list[int], errors: str, skips: bool, unknown: str) -> str:
    """The bytes of the tokens, joined; a special token may be left out, and an id without a token, or be marked."""
    kept, known = b"", {*tok.spec.vocab, *tok.special_tokens.values(), *tok.added_tokens.values()}
    for token_id in row:
        if token_id in known and not (skips and token_id in tok.special_tokens.values()):
            kept += tok.id_to_token(token_id)
        elif token_id not in known and unknown == "mark":
            kept += "\ufffd".encode()
    return kept.decode("utf-8", errors)


@pytest.mark.parametrize("unknown", ["raise", "skip", "mark"])
@pytest.mark.parametrize("skips", [False, True])
def test_every_form_of_a_batch_by_every_option(unknown: Any, skips: bool) -> None:
    tok = bbpe.train_from_iterator(TEXTS, 280, special_tokens=["<s>"]).with_added_tokens(["<a>"])
    special, added, first = tok.special_tokens["<s>"], tok.added_tokens["<a>"], tok.token_to_id(b"\xc3")
    rows = [[first, special, 64, added], [64, first, 65, special], [special, added, special, first], [65, 66, 67, 68]]
    if unknown != "raise":
        rows += [[added, 5000, special, first], [tok.vocab_size, 64, 5000, first]]
    given = [
        rows, tuple(map(tuple, rows)), np.array(rows), np.array(rows, np.uint32),
        [np.array(row, np.uint16) for row in rows],
        bbpe.Ragged.from_rows([np.array(row, np.uint32) for row in rows]),
    ]  # fmt: skip
    for errors in ("replace", "ignore", "backslashreplace"):
        options: Any = {"errors": errors, "skip_special_tokens": skips, "unknown_ids": unknown}
        expected = [by_definition(tok, row, errors, skips, unknown) for row in rows]
        for batch in given:
            for threads in (None, 1, 2):
                assert tok.decode_batch(batch, threads=threads, **options) == expected, (type(batch), errors)
        for row, text in zip(rows, expected, strict=True):
            for ids in (row, tuple(row), np.array(row), np.array(row * 40)):
                whole = text if len(ids) == len(row) else by_definition(tok, row * 40, errors, skips, unknown)
                assert tok.decode(ids, **options) == whole
            assert "".join(tok.stream_decoder(**options).stream(row)) == text
            begun = tok.stream_decoder(prompt=row[:2], **options)
            rest = "".join(begun.stream(row[2:]))
            assert "".join(map((each := tok.stream_decoder(**options)).push, row[:2])) + rest == text, each


@pytest.mark.parametrize("before", ["see", "\u00e9", "n't"])
def test_blanks_that_are_cleaned_up_as_tokenizers_does(before: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    judge = tokenizers.decoders.WordPiece(prefix="##", cleanup=True)
    ends = [*".?!,:;", "'", "' ", "n't", "'m", "do not", "'s", "'ve", "'re", "'d", "'ll", "' '", "'t"]
    for first in ends:
        for second in ("", *ends):
            keys = [before, first, f"a {second}", f"##{second}", f" {second} x"]
            machine = DecoderMachine([WordPiece()])
            assert "".join(machine.push(Token(key)) for key in keys) + machine.finish() == judge.decode(keys), keys


def test_marks_in_special_and_added_tokens_are_text() -> None:
    """U+2581 in a token of the vocabulary is a blank; in the text of a special token it stands for itself."""
    spec = bbpe.train_from_iterator(TEXTS, 340, model="unigram", special_tokens=["<a\u2581b>"]).spec
    tok = bbpe.Tokenizer(replace(spec, added_tokens={"[\u2581]": spec.vocab_size}))
    ids = [tok.special_tokens["<a\u2581b>"], tok.added_tokens["[\u2581]"]]
    see = tok.encode("see")
    assert tok.decode([*see, *ids, *see]) == "see<a\u2581b>[\u2581] see"
    assert "".join(tok.stream_decoder().stream([*see, *ids, *see])) == "see<a\u2581b>[\u2581] see"
    machine = DecoderMachine(tok.spec.decoder)
    keys = [Token("\u2581see"), Token("<a\u2581b>", True), Token("\u2581see")]
    assert "".join(map(machine.push, keys)) + machine.finish() == "see<a\u2581b> see"


def test_streams_of_steps_take_one_id_or_several(tmp_path: Path) -> None:
    """Of a decoder that replaces text across tokens, so that it runs step by step."""
    vocab = {word: number for number, word in enumerate(["[UNK]", "see", "my", "##s", "dog"])}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab}
    steps = [
        {"type": "WordPiece", "prefix": "##", "cleanup": False}, {"type": "Fuse"},
        {"type": "Replace", "pattern": {"String": "ee m"}, "content": "EE-M"},
    ]  # fmt: skip
    decoder = {"type": "Sequence", "decoders": steps}
    tok = hf_file(tmp_path / "tokenizer.json", {**model, "max_input_chars_per_word": 100}, decoder)
    view, ids = tok.as_tokenizers(), [1, 2, 4, 3]
    one, several = DecodeStream(), DecodeStream()
    assert isinstance(tok._parts.decoder._fresh(), MachineStream)
    assert [one.step(view, each) for each in ids] == ["s", "EE-My", " dog", "s"]
    assert (several.step(view, ids[:3]), several.step(view, (3,)), several.step(view, [])) == (
        "sEE-My dog", "s", None,
    )  # fmt: skip
