"""Streams that end at a stop string: as a search in the whole text, whatever the ids are in which it comes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from charsmap_tables import compiled_table

import bbpe
from bbpe.compat.tokenizers import DecodeStream
from bbpe.encoding.stream import MachineStream
from bbpe.reference import before_stop, first_stop
from bbpe.spec.decoders import Fuse
from bbpe.spec.rules import Charsmap, Replace

TEXTS = ["see my eyes first", "see my dogs!", "I have 12 dogs, na\u00efve caf\u00e9", "a \U0001f600 b\n<t>x</t>"] * 10
SPECIAL = ["<s>", "<|im_end|>"]


def of_kind(kind: str) -> bbpe.Tokenizer:
    match kind:
        case "bytes":
            return bbpe.train_from_iterator(TEXTS, 290, special_tokens=SPECIAL)
        case "wordpiece":
            return bbpe.train_from_iterator(TEXTS, 80, model="wordpiece", special_tokens=["[PAD]", "[UNK]", *SPECIAL])
        case "</w>":
            model = bbpe.BPE(alphabet="chars", end_of_word="</w>")
            return bbpe.train_from_iterator(TEXTS, 70, model=model, special_tokens=SPECIAL)
        case "byte fallback":
            return bbpe.train_from_iterator(TEXTS, 340, model="unigram", special_tokens=SPECIAL)
    spec = of_kind("byte fallback").spec
    # text that is replaced across tokens, by steps; and a table that changes the decoded text
    table = Charsmap(compiled_table({"se": "SE", "my": "", "s": "\u017f"}))
    more = (Fuse(), Replace("ee", False, "E-")) if kind == "steps" else (table,)
    return bbpe.Tokenizer(replace(spec, decoder=(*spec.decoder, *more)))


KINDS = ["bytes", "wordpiece", "</w>", "byte fallback", "steps", "table"]


def ids_of(tok: bbpe.Tokenizer, rng: random.Random) -> list[int]:
    """Ids of a text, or any, which need not be whole characters."""
    if rng.random() < 0.5:
        return tok.encode(rng.choice(TEXTS), allowed_special="all")
    known = sorted({*tok.spec.vocab, *tok.special_tokens.values()})
    some = rng.choices(known, k=6)
    return rng.choices(some, k=rng.randrange(14))


def stops_of(text: str, rng: random.Random) -> list[str]:
    """Some parts of a text, so most of these come; beginnings and ends of each other; and others."""
    found = []
    for _ in range(rng.randrange(4)):
        begin = rng.randrange(len(text) + 1)
        found.append(text[begin : begin + rng.randrange(1, 7)])
    found += [string[: rng.randrange(1, len(string) + 1)] + "x" * rng.randrange(2) for string in found if string]
    found += rng.sample([*SPECIAL, "\n", " ", "ss", "aab", "\u00e9", "\ufffd", "\U0001f600"], rng.randrange(3))
    return [string for string in found if string]


def check(tok: bbpe.Tokenizer, ids: list[int], stop: list[str], options: dict[str, Any]) -> bool:
    plain = tok.stream_decoder(**options)
    parts = [plain.push(token_id) for token_id in ids]
    text = "".join([*parts, plain.finish()])
    found = first_stop(text, stop)
    before = None if found is None else text[: found[0] - len(found[1])]
    for include in (False, True):
        decoder = tok.stream_decoder(stop=stop, include_stop=include, **options)
        got, count = "", 0
        while count < len(ids) and decoder.stopped is None:
            got += decoder.push(ids[count])
            count += 1
            # at each id, all is returned that can be, and no more
            assert got == before_stop("".join(parts[:count]), stop, include_stop=include, is_whole=False)
        got += decoder.finish()
        assert got == before_stop(text, stop, include_stop=include)
        assert (decoder.stopped, decoder.pushed_count) == (None if found is None else found[1], count)
        assert decoder.ids_before_stop == ids[: before_count(tok, ids[:count], before, options)]
        assert "".join(decoder.stream(iter(ids))) == got
        assert decoder.pushed_count == count
    return found is not None


def before_count(tok: bbpe.Tokenizer, ids: list[int], before: str | None, options: dict[str, Any]) -> int:
    """The greatest number of first ids whose text is a beginning of a text, or of all of them if there is none."""
    texts = ["".join(tok.stream_decoder(**options).stream(ids[:count])) for count in range(len(ids) + 1)]
    return max((count for count, text in enumerate(texts) if before is None or before.startswith(text)), default=0)


@pytest.mark.parametrize("kind", KINDS)
def test_as_a_search_in_the_whole_text(kind: str) -> None:
    tok = of_kind(kind)
    assert isinstance(tok._parts.decoder._fresh(), MachineStream) == (kind == "steps")
    rng, stopped, count = random.Random(kind), 0, 60
    for _ in range(count):
        ids = ids_of(tok, rng)
        options: dict[str, Any] = {
            "errors": rng.choice(["replace", "ignore", "backslashreplace"]),
            "skip_special_tokens": rng.random() < 0.3, "prompt": ids[: rng.choice([0, 0, 2])],
        }  # fmt: skip
        ids = ids[len(options["prompt"]) :]
        text = "".join(tok.stream_decoder(**options).stream(ids))
        stopped += check(tok, ids, stops_of(text, rng), options)
    assert count // 3 < stopped < count


def test_strings_of_few_letters() -> None:
    """Many states whose ends begin other strings."""
    tok, rng = of_kind("bytes"), random.Random(7)
    for letters in ("a", "ab", "a\u00e9", "\u4e2d\U0001f600"):
        for _ in range(60):
            stop = ["".join(rng.choices(letters, k=rng.randint(1, 6))) for _ in range(rng.randint(1, 8))]
            check(tok, tok.encode("".join(rng.choices(letters, k=rng.randrange(20)))), stop, {})


def test_the_first_end_counts_and_of_these_the_longest_string() -> None:
    tok = of_kind("bytes")
    for stop, text, before, stopped in (
        (["dogs", "dog"], "my dogs", "my ", "dog"),
        (["my dog", "y d"], "my dogs", "m", "y d"),
        (["og", "dog", "my dog"], "my dogs", "", "my dog"),
        (["aab"], "aaab", "a", "aab"),
        (["x", "x"], "axb", "a", "x"),
        ({"see", "me"}, "a mesee", "a ", "me"),
        (["\u00e9\u4e2d"], "\u00e9\u00e9\u4e2d", "\u00e9", "\u00e9\u4e2d"),
    ):
        decoder = tok.stream_decoder(stop=stop)
        assert ("".join(decoder.stream(tok.encode(text))), decoder.stopped) == (before, stopped)


def test_text_is_held_back_no_longer_than_it_may_begin_a_stop_string() -> None:
    tok = bbpe.train_from_iterator(["x"], 256)  # a byte is a token
    ids = tok.encode("a</tool </tool>b")
    decoder = tok.stream_decoder(stop=["</tool>"])
    assert [decoder.push(each) for each in ids[:-1]] == ["a", *[""] * 6, "</tool ", *[""] * 7]
    assert (decoder.stopped, decoder.pushed_count, len(decoder.ids_before_stop)) == ("</tool>", 15, 8)
    decoder = tok.stream_decoder(stop=["</tool>"], include_stop=True)
    assert [decoder.push(each) for each in ids[:-1]] == [*"a</tool </tool>"]
    assert tok.decode(decoder.ids_before_stop) == "a</tool "


def test_special_tokens_are_text_unless_they_are_skipped() -> None:
    tok = of_kind("bytes")
    ids = [*tok.encode("see"), tok.special_tokens["<|im_end|>"], *tok.encode(" my")]
    shown, skipping = (tok.stream_decoder(stop=["<|im_end|>"], skip_special_tokens=skips) for skips in (False, True))
    assert ("".join(shown.stream(ids)), shown.stopped) == ("see", "<|im_end|>")
    assert shown.ids_before_stop == tok.encode("see")
    assert ("".join(skipping.stream(ids)), skipping.stopped) == ("see my", None)
    across = tok.stream_decoder(stop=["end|> m"])
    assert ("".join(across.stream(ids)), across.stopped) == ("see<|im_", "end|> m")


def test_a_text_has_ended_at_its_stop_string() -> None:
    tok = of_kind("bytes")
    see, dogs = tok.encode("see my"), tok.encode(" dogs")
    decoder = tok.stream_decoder(stop=["my"])
    assert "".join(map(decoder.push, see)) == "see "
    for each in (decoder.copy(), decoder):
        for _ in range(2):
            with pytest.raises(ValueError, match=r"the stop string 'my' came; .* call finish\(\) to begin another"):
                each.push(dogs[0])
        assert (each.stopped, each.finish(), each.stopped) == ("my", "", "my")
        assert (each.push(dogs[0]), each.stopped, each.pushed_count) == (tok.decode(dogs[:1]), None, 1)
        assert "".join(map(each.push, dogs[1:])) + each.finish() == tok.decode(dogs)[len(tok.decode(dogs[:1])) :]
        assert (each.stopped, each.ids_before_stop) == (None, dogs)
    taken = iter([*see, *dogs])
    assert "".join(decoder.stream(taken)) == "see "
    assert list(taken) == dogs, "no id is taken after a stop string"


def test_ids_of_any_integer_type_and_unknown_ones() -> None:
    tok = of_kind("bytes")
    ids = np.array([*tok.encode("see"), 5000, *tok.encode(" my")])
    decoder = tok.stream_decoder(stop=["my"], unknown_ids="skip")
    assert "".join(decoder.stream(ids)) == "see "
    assert decoder.ids_before_stop == ids[: len(decoder.ids_before_stop)].tolist()
    assert all(type(each) is int for each in decoder.ids_before_stop)
    decoder = tok.stream_decoder(stop=["my"])
    with pytest.raises(bbpe.TokenIdError):
        decoder.push(5000)
    assert decoder.pushed_count == 0


def test_bytes_that_are_not_utf_8_in_strict_streams() -> None:
    tok = bbpe.train_from_iterator(["x"], 256)
    ids = [tok.token_to_id(bytes([byte])) for byte in "a\u00e9".encode()]
    decoder = tok.stream_decoder(stop=["\u00e9"], errors="strict")
    assert "".join(decoder.stream(ids)) == "a"
    assert decoder.ids_before_stop == ids[:1]
    with pytest.raises(UnicodeDecodeError):
        list(decoder.stream(ids[:2]))


def test_wrong_stop_strings_are_named() -> None:
    tok = of_kind("bytes")
    for stop, error, words in (
        ("\n", TypeError, r"stop is str '\\n'; expected a list of stop strings: stop=\['\\n'\]"),
        (["a", ""], ValueError, r"stop\[1\] is empty, and would end every text"),
        (["a", b"b"], TypeError, r"stop\[1\] must be a stop string, not bytes"),
        ([None], TypeError, r"stop\[0\]"), (5, TypeError, "stop must be a list"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            tok.stream_decoder(stop=stop)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="include_stop must be a bool, not str"):
        tok.stream_decoder(stop=["a"], include_stop="no")  # type: ignore[arg-type]


def test_a_decoder_without_stop_strings_never_stops() -> None:
    tok = of_kind("bytes")
    decoder = tok.stream_decoder(stop=[], include_stop=True)
    assert "".join(decoder.stream(tok.encode("see my"))) == "see my"
    assert (decoder.stopped, decoder.pushed_count) == (None, len(tok.encode("see my")))
    decoder = tok.stream_decoder()
    assert decoder.stopped is None
    for name in ("pushed_count", "ids_before_stop"):
        with pytest.raises(ValueError, match=r"without stop strings.*expected stream_decoder\(stop="):
            getattr(decoder, name)


def test_many_and_long_stop_strings() -> None:
    tok, rng = of_kind("bytes"), random.Random(3)
    stop = ["".join(rng.choices("abcd \u4e2d", k=rng.randint(6, 40))) for _ in range(700)] + ["a" * 40_000 + "b"]
    decoder = tok.stream_decoder(stop=stop)
    given = tok.encode("a" * 40_500)
    assert "".join(map(decoder.push, given)) == "a" * 500
    assert decoder.push(tok.token_to_id(b"b")) == ""
    assert decoder.stopped == stop[-1]
    assert tok.decode(decoder.ids_before_stop) == "a" * len(tok.decode(decoder.ids_before_stop))
    for string in rng.sample(stop[:-1], 8):
        decoder = tok.stream_decoder(stop=stop)
        text = "".join(decoder.stream(tok.encode(f"my {string} dogs")))
        assert text == before_stop(f"my {string} dogs", stop)


def test_streams_of_tokenizers() -> None:
    tok = of_kind("bytes")
    view, ids = tok.as_tokenizers(), tok.encode("see my</tool> dogs")
    stream = DecodeStream(stop=["</tool>"])
    pieces = []
    for token_id in ids:
        pieces.append(stream.step(view, token_id) or "")
        if stream.stopped:
            break
    assert ("".join(pieces), stream.stopped) == ("see my", "</tool>")
    with pytest.raises(ValueError, match="has ended"):
        stream.step(view, ids[-1])
    several = DecodeStream(stop=["</tool>"], include_stop=True)
    assert (several.step(view, ids), several.stopped) == ("see my</tool>", "</tool>")
    copied = DecodeStream(ids[:1], stop=["my"])
    assert copied.stopped is None
    assert tok.decode(ids[:1]) + str(copied.__copy__().step(view, ids[1:])) == "see "
    assert copied.stopped is None
    with pytest.raises(TypeError, match="stop is str"):
        DecodeStream(stop="\n")
    held = DecodeStream(stop=["dogs!"])
    assert (held.finish(), held.step(view, tok.encode("my dogs")), held.finish()) == ("", "my ", "dogs")
    assert (held.step(view, tok.encode("my dogs!")), held.finish(), held.stopped) == ("my ", "", "dogs!")
    assert held.step(view, tok.encode("so")) == "so"


def test_streams_over_tokenizers_of_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok = of_kind("bytes")
    theirs = tokenizers.Tokenizer.from_str(tok.as_tokenizers().to_str())
    ids = tok.encode("see my</tool> dogs")
    stream = DecodeStream(stop=["</tool>"])
    assert "".join(stream.step(theirs, each) or "" for each in ids[: tok.count_tokens("see my</tool>")]) == "see my"
    assert (stream.stopped, stream.finish()) == ("</tool>", "")
