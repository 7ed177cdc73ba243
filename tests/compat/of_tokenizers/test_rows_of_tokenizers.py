"""Truncation, padding and encodings of the view in all their combinations, side by side with `tokenizers`."""

from __future__ import annotations

import copy
import itertools
import pickle
from functools import cache
from typing import Any

import pytest

import bbpe
from bbpe.compat.tokenizers import AddedToken, DecodeStream, Encoding, Tokenizer
from bbpe.spec.rules import Template

hf = pytest.importorskip("tokenizers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers
from vocabularies import small_spec  # noqa: E402

LISTS = ("ids", "tokens", "offsets", "word_ids", "attention_mask", "special_tokens_mask", "type_ids")
#: Lists that an operation leaves as they are in `tokenizers`.
PLAIN = LISTS[:-1]


@cache
def document(kind: str) -> str:
    return str(KINDS[kind]().to_str())  # `tokenizers` does not train the same tokenizer twice


def pair(kind: str = "bytes") -> tuple[Any, Any]:
    return Tokenizer.from_str(document(kind)), hf.Tokenizer.from_str(document(kind))


def lists(encoding: Any, names: Any = LISTS) -> list[Any]:
    return [getattr(encoding, name) for name in names]


@pytest.mark.parametrize("strategy", ["longest_first", "only_first", "only_second"])
def test_two_texts_share_a_row(strategy: str) -> None:
    """Of every length, in rows of every length."""
    ours, theirs = pair()
    texts = ["x" * length for length in (0, 1, 2, 3, 5, 8)]
    for limit in range(12):
        for tokenizer in (ours, theirs):
            tokenizer.enable_truncation(limit, strategy=strategy)
        for one, other in itertools.product(texts, repeat=2):
            try:
                expected = theirs.encode(one, other, add_special_tokens=False)
            except Exception:  # it raises no other type
                with pytest.raises(ValueError, match="Truncation error"):
                    ours.encode(one, other, add_special_tokens=False)
                continue
            found = ours.encode(one, other, add_special_tokens=False)
            assert lists(found) == lists(expected), (limit, one, other)
            assert sorted(row.ids for row in found.overflowing) == sorted(row.ids for row in expected.overflowing)


TRUNCATIONS: list[dict[str, Any]] = [
    {"max_length": 7, "direction": "left"}, {"max_length": 9, "stride": 2},
    {"max_length": 8, "stride": 1, "strategy": "only_first", "direction": "left"},
    {"max_length": 9, "strategy": "only_second"},
]  # fmt: skip
PADDINGS: list[dict[str, Any]] = [
    {}, {"direction": "left"}, {"pad_id": 3, "pad_token": "<s>"}, {"pad_type_id": 2}, {"length": 12},
    {"pad_to_multiple_of": 8}, {"pad_to_multiple_of": 5, "length": 12}, {"length": 3},
    {"pad_id": 1, "pad_type_id": 3, "pad_token": "[CLS]", "direction": "left", "length": 11, "pad_to_multiple_of": 4},
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_options_are_kept_in_files_and_copies(kind: str) -> None:
    """Each as it was given: by files of `tokenizers` and of this package, and by pickles."""
    for truncation, padding in itertools.zip_longest(TRUNCATIONS, PADDINGS):
        ours, theirs = pair(kind)
        for tokenizer in (ours, theirs):
            if truncation is not None:
                tokenizer.enable_truncation(**truncation)
            tokenizer.enable_padding(**padding)
        expected = theirs.truncation, theirs.padding
        again = Tokenizer.from_str(theirs.to_str()), hf.Tokenizer.from_str(ours.to_str())
        for each in (ours, *again, pickle.loads(pickle.dumps(ours))):
            assert (each.truncation, each.padding) == expected
            for texts in (("see my dogs first, and again",), ("see", "see my dogs, see my dogs")):
                try:
                    row = theirs.encode(*texts)
                except Exception:  # too short to be truncated
                    continue
                assert lists(each.encode(*texts), LISTS[:6]) == lists(row, LISTS[:6])
        batch = ["see", "see my dogs", ""]
        assert [lists(row) for row in ours.encode_batch(batch)] == [lists(row) for row in theirs.encode_batch(batch)]
        ours.no_truncation()
        ours.no_padding()
        assert hf.Tokenizer.from_str(ours.to_str()).padding is None
        assert hf.Tokenizer.from_str(ours.to_str()).truncation is None


def test_a_file_may_be_indented_or_not() -> None:
    ours, theirs = pair()
    for options in ((), (False,), (True,)):
        assert ("\n" in ours.to_str(*options)) == ("\n" in theirs.to_str(*options))


@pytest.mark.parametrize("flags", [*itertools.product((False, True), repeat=3)], ids=str)
def test_options_of_added_tokens_are_kept(flags: tuple[bool, ...]) -> None:
    options = dict(zip(("lstrip", "rstrip", "single_word"), flags, strict=True))
    ours, theirs = pair()
    assert ours.add_tokens([AddedToken("<x>", **options)]) == theirs.add_tokens([hf.AddedToken("<x>", **options)]) == 1
    # the same token again is no new one; with another option it is
    assert ours.add_tokens([AddedToken("<x>", **options)]) == 0
    assert ours.add_tokens(["<y>", "<y>"]) == theirs.add_tokens(["<y>", "<y>"])
    again = Tokenizer.from_str(ours.to_str())
    for tokenizer in (ours, again, hf.Tokenizer.from_str(ours.to_str())):
        for text in ("see  <x>  my", "a<x>b", " <x><x>", "<x> <y>"):
            assert lists(tokenizer.encode(text)) == lists(theirs.encode(text)), text
        token = tokenizer.get_added_tokens_decoder()[theirs.token_to_id("<x>")]
        assert (token.lstrip, token.rstrip, token.single_word, token.special) == (*flags, False)
    assert ours.get_vocab_size(False) == theirs.get_vocab_size(False)
    assert ours.get_vocab(False) == theirs.get_vocab(False)


def test_an_added_token_has_its_hash_for_life() -> None:
    token = AddedToken("<x>")
    found = {token: 1}
    token.special = True
    assert found[token] == 1
    theirs = hf.AddedToken("<x>")
    before = hash(theirs)
    theirs.special = True
    assert hash(theirs) == before


def test_ids_of_tokens_that_the_model_has_are_kept() -> None:
    """And tokens after them get the next free ids, in order."""
    ours, theirs = pair()
    for tokenizer in (ours, theirs):
        tokenizer.add_tokens(["see", "<new>", "my", "<newer>"])
        tokenizer.add_special_tokens(["<last>"])
    for text in ("see", "<new>", "my", "<newer>", "<last>"):
        assert ours.token_to_id(text) == theirs.token_to_id(text)
    assert ours.get_vocab_size() == theirs.get_vocab_size()
    assert ours.get_vocab_size(False) == theirs.get_vocab_size(False)
    assert ours.get_vocab(False) == theirs.get_vocab(False)


@pytest.mark.parametrize("kind", KINDS)
def test_encodings_are_changed_as_in_tokenizers(kind: str) -> None:
    """And what a caller does to a list changes no encoding."""
    ours, theirs = pair(kind)
    for direction, stride, length in itertools.product(("left", "right"), (0, 2), (0, 3, 5, 99)):
        if length and stride >= length:
            continue
        rows = [tokenizer.encode("see my dogs first", "see my") for tokenizer in (ours, theirs)]
        for row in rows:
            row.truncate(length, stride=0 if not length else stride, direction=direction)
            row.pad(7, direction=direction, pad_id=3, pad_type_id=1, pad_token="<s>")
        assert lists(rows[0]) == lists(rows[1])
        assert [lists(row) for row in rows[0].overflowing] == [lists(row) for row in rows[1].overflowing]
        again = pickle.loads(pickle.dumps(rows[0]))
        assert lists(again) == lists(rows[0])
        assert [lists(row) for row in again.overflowing] == [lists(row) for row in rows[0].overflowing]
        assert (again.sequence_ids, again.n_sequences) == (rows[0].sequence_ids, rows[0].n_sequences)
    row = ours.encode("see my dogs", "my")
    before = [lists(row), row.sequence_ids]
    for name in (*LISTS, "sequence_ids"):
        getattr(row, name).clear()
    assert [lists(row), row.sequence_ids] == before
    row.ids.append(5)
    assert len(row) == len(row.ids)


@pytest.mark.parametrize("sides", [*itertools.product(("left", "right"), repeat=2)], ids=str)
def test_a_truncated_row_is_truncated_again(sides: tuple[str, str]) -> None:
    found = []
    for tokenizer in pair():
        row = tokenizer.encode("see my dogs first", "see my 12")
        row.truncate(9, direction=sides[0])
        row.truncate(4, direction=sides[1])
        found.append([lists(each) for each in (row, *row.overflowing)])
    assert found[0] == found[1]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", KINDS)
def test_places_in_padded_rows(kind: str, side: str) -> None:
    ours, theirs = (tokenizer.encode("see my dogs", "my 12") for tokenizer in pair(kind))
    for row in (ours, theirs):
        row.pad(len(row) + 3, direction=side)
    for name in ("token_to_chars", "token_to_sequence", "token_to_word"):
        for index in range(len(ours) + 3):
            assert getattr(ours, name)(index) == getattr(theirs, name)(index), (name, index)
    for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"):
        for index, sequence in itertools.product(range(14), (0, 1)):
            assert getattr(ours, name)(index, sequence) == getattr(theirs, name)(index, sequence), (name, index)
    assert (ours.sequence_ids, ours.n_sequences) == (theirs.sequence_ids, theirs.n_sequences)


@pytest.mark.parametrize("kind", KINDS)
def test_characters_of_words_and_of_joined_rows(kind: str) -> None:
    """Places are those in words, or in rows one after another, and copies keep them."""
    found = []
    ours, theirs = pair(kind)
    for tokenizer in (ours, theirs):
        words = tokenizer.encode(["see", "my", "", "dogs"], is_pretokenized=True)
        joined = type(words).merge([tokenizer.encode("see my"), tokenizer.encode("12 dogs")])
        short = tokenizer.encode("see my dogs", "my")
        short.truncate(3)
        rows = [words, joined, short, copy.deepcopy(words), tokenizer.encode("see", add_special_tokens=False)]
        found.append([[row.char_to_token(at) for at in range(16)] for row in rows])
        found[-1] += [[row.token_to_sequence(at) for at in range(len(row) + 1)] for row in rows]
        found[-1] += [[row.token_to_word(at) for at in range(len(row) + 1)] for row in rows]
        found[-1] += [(row.n_sequences, row.sequence_ids) for row in rows]
    assert found[0] == found[1]


def test_one_text_is_not_truncated_as_a_second_one() -> None:
    for tokenizer in pair():
        tokenizer.enable_truncation(2, strategy="only_second")
        with pytest.raises(Exception, match="Second sequence not provided"):  # `tokenizers` has no type of its own
            tokenizer.encode("see my dogs", add_special_tokens=False)


@pytest.mark.parametrize("kind", KINDS)
def test_types_of_overflowing_rows(kind: str) -> None:
    for length, strategy in ((9, "longest_first"), (12, "longest_first"), (12, "only_first")):
        found = []
        second = "see" if strategy == "only_first" else "see my dogs first, and again"
        ours, theirs = pair(kind)
        for tokenizer in (ours, theirs, pickle.loads(pickle.dumps(ours))):
            tokenizer.enable_truncation(length, strategy=strategy)
            row = tokenizer.encode("see my dogs, see my dogs " * 2, second)
            found.append((row.type_ids, sorted((each.ids, each.type_ids) for each in row.overflowing)))
            assert row.overflowing
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", KINDS)
def test_components_decode_special_tokens_and_count_those_of_a_text_and_of_a_pair(kind: str) -> None:
    ours, theirs = pair(kind)
    tokens = theirs.encode("see my").tokens
    assert ours.decoder.decode(tokens) == theirs.decoder.decode(tokens)
    for is_pair in (False, True):
        assert ours.post_processor.num_special_tokens_to_add(is_pair) == theirs.num_special_tokens_to_add(is_pair)
    for each in (ours.model, ours.decoder, ours.post_processor):
        again = pickle.loads(pickle.dumps(each))
        assert (again.type, again.__getstate__()) == (each.type, each.__getstate__())


def test_a_copy_of_a_stream_goes_its_own_way() -> None:
    ours, theirs = pair()
    ids = theirs.encode("ü😀 see my", add_special_tokens=False).ids
    for cut in range(1, len(ids)):
        stream = DecodeStream()
        head = [stream.step(ours, each) or "" for each in ids[:cut]]
        other = copy.deepcopy(stream) if cut % 2 else copy.copy(stream)
        ends = ["".join(head + [each.step(ours, token_id) or "" for token_id in ids[cut:]]) for each in (other, stream)]
        assert ends == ["ü😀 see my"] * 2
    assert DecodeStream(ids[:3], True).step(ours, [2, *ids[3:]]) == DecodeStream(ids[:3]).step(ours, ids[3:])
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(DecodeStream())


def test_merged_encodings_with_overflowing_rows() -> None:
    for grows in (True, False):
        found = []
        for tokenizer in pair():
            kind = Encoding if isinstance(tokenizer, Tokenizer) else type(tokenizer.encode("x"))
            tokenizer.enable_truncation(4, stride=1)
            texts = "see my dogs first", "I have 12 dogs"
            rows = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
            merged = kind.merge(rows, growing_offsets=grows)
            found.append((lists(merged, PLAIN), sorted(str(lists(row, PLAIN[:2])) for row in merged.overflowing)))
        assert found[0] == found[1]
    one = pair()[0].encode("see")
    one.set_sequence_id(1)
    assert one.sequence_ids == [1] * len(one)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_a_stream_of_tokenizers_goes_its_own_way(kind: str) -> None:
    """A tokenizer of `tokenizers` decodes by its own stream, of which a copy is in the same state."""
    ours, theirs = pair(kind)
    ids = theirs.encode("see ü😀 my", add_special_tokens=False).ids
    expected = ours.decode(ids, False)
    for cut in range(1, len(ids)):
        stream = DecodeStream()
        head = [stream.step(theirs, each) or "" for each in ids[:cut]]
        other = copy.deepcopy(stream) if cut % 2 else copy.copy(stream)
        for each in (other, stream):
            assert "".join([*head, *(each.step(theirs, token_id) or "" for token_id in ids[cut:])]) == expected
        assert (other.stopped, other.finish()) == (None, "")


def test_stop_strings_end_texts_of_tokenizers() -> None:
    ours, theirs = pair()
    ids = theirs.encode("see my ü😀 dogs", add_special_tokens=False).ids
    for includes in (False, True):
        for each in (ours, theirs):
            stream = DecodeStream(stop=["😀", "no"], include_stop=includes)
            text = ""
            for token_id in ids:
                text += stream.step(each, token_id) or ""
                if stream.stopped is not None:
                    break
            assert (text + stream.finish(), stream.stopped) == ("see my ü" + "😀" * includes, "😀")
            held = DecodeStream(stop=["dogs!"])
            text = "".join(held.step(each, token_id) or "" for token_id in ids)
            assert "dogs" not in text
            assert text + held.finish() == "see my ü😀 dogs"


def test_a_template_of_one_text_joins_two_as_they_are() -> None:
    """A file of the package may have a template for single texts alone."""
    spec = small_spec(special_tokens={"<s>": 600, "</s>": 601}, template=Template(((600, 0), ("A", 0), (601, 0)), ()))
    view = bbpe.Tokenizer(spec).as_tokenizers()
    first, second = (view.encode(text, add_special_tokens=False).ids for text in ("the the", "in"))
    assert view.encode("the the").ids == [600, *first, 601]
    for adds in (True, False):
        row = view.encode("the the", "in", add_special_tokens=adds)
        assert (row.ids, row.sequence_ids) == ([*first, *second], [0] * len(first) + [1] * len(second))
        assert row.type_ids == row.sequence_ids


@pytest.mark.parametrize("token", [" ", "  ", "\t", " \n"])
@pytest.mark.parametrize("kind", KINDS)
def test_added_tokens_of_white_space(kind: str, token: str) -> None:
    for flags in ({}, {"lstrip": True}, {"rstrip": True, "lstrip": True}, {"normalized": False, "rstrip": True}):
        ours, theirs = pair(kind)
        assert ours.add_tokens([AddedToken(token, **flags)]) == theirs.add_tokens([hf.AddedToken(token, **flags)])
        for text in ("see  my", "see\t\tmy", " a   b ", "x \n y", "see   "):
            assert lists(ours.encode(text)) == lists(theirs.encode(text)), (flags, text)
