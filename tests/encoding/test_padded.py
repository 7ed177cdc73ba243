"""Rows of one length: templates, pairs, truncation and padding, judged by HF's `tokenizers`."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from vocabularies import small_spec

import bbpe
from bbpe import Tokenizer
from bbpe.spec.rules import RowPadding, RowTruncation, Template

tokenizers = pytest.importorskip("tokenizers")

SPECIALS = {"<s>": 300, "</s>": 301, "<p>": 302}
TEMPLATES = {
    "none": None,
    "bert": Template(((300, 0), ("A", 0), (301, 0)), ((300, 0), ("A", 0), (301, 0), ("B", 1), (301, 1))),
    "two ids": Template(((300, 0), ("A", 2), (301, 3), (301, 0)), (("A", 0), (301, 0), (301, 4), ("B", 0), (300, 255))),
    "second first": Template((("A", 0), (301, 0)), ((300, 5), ("B", 1), (301, 1), ("A", 0))),
}
STRATEGIES = ("longest_first", "only_first", "only_second")
SIDES = ("right", "left")
WORDS = ["the ", "in ", "a", "é", "thing ", "漢", "\0", " "]


def tokenizer_of(name):
    return Tokenizer(replace(small_spec(special_tokens=SPECIALS), template=TEMPLATES[name]))


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """The tokenizers, each with HF's of the same file."""
    folder, found = tmp_path_factory.mktemp("judge"), {}
    for name in TEMPLATES:
        tok = tokenizer_of(name)
        tok.save(folder / f"{name}.json")
        found[name] = tok, folder / f"{name}.json"
    return found


def texts_of(seed, most=12, count=5):
    rng = random.Random(seed)
    made = ["".join(rng.choices(WORDS, k=rng.randrange(most))) for _ in range(2 * count)]
    return [(made[i], made[i + 1]) if rng.random() < 0.6 else made[i] for i in range(0, 2 * count, 2)]


def given_of(item):
    return item if isinstance(item, tuple) else (item,)


def judge(path, items, *, adds, limit, strategy, cut_side, stride, side, multiple, padding):
    """The rows of HF: ids, type ids, mask, special mask, and the item of each; `None` if it refuses."""
    judge = tokenizers.Tokenizer.from_file(str(path))
    added = judge.num_special_tokens_to_add(is_pair=False)
    if limit is not None and stride is not None and stride >= limit - added:
        return None  # HF refuses it even if no ids are added
    if limit is not None:
        judge.enable_truncation(limit, stride=stride or 0, strategy=strategy, direction=cut_side)
    length = limit if padding == "max_length" else None
    judge.enable_padding(direction=side, pad_id=302, pad_token="<p>", pad_to_multiple_of=multiple, length=length)
    try:
        encoded = judge.encode_batch(list(items), add_special_tokens=adds)
    except BaseException as error:
        if "PanicException" not in type(error).__name__ and "runcation" not in str(error):
            raise
        return None
    return [
        (row.ids, row.type_ids, row.attention_mask, row.special_tokens_mask, item, row is first)
        for item, first in enumerate(encoded)
        for row in [first, *(first.overflowing if stride is not None else ())]
    ]


def check(tok, path, items, **options):
    """Whether rows were compared; a row that HF makes longer than the limit is refused here."""
    expected = judge(path, items, **options)
    if expected is None and not options["adds"]:
        return False
    ours = {
        "max_length": options["limit"], "truncation": options["strategy"], "truncation_side": options["cut_side"],
        "stride": options["stride"], "side": options["side"], "pad_to_multiple_of": options["multiple"],
        "padding": options["padding"], "add_special_tokens": options["adds"], "pad_id": 302,
    }  # fmt: skip
    if options["limit"] is None:
        del ours["truncation"], ours["truncation_side"]
    if expected is None or len({len(row[0]) for row in expected}) > 1:
        with pytest.raises(ValueError, match=r"expected|longest_first"):
            tok.encode_padded(items, **ours)
        return False
    batch = tok.encode_padded(items, **ours)
    ids, mask = batch
    *expected, is_first = zip(*expected, strict=True)
    for part, given in zip([ids, mask, batch.special_mask, batch.text_of], expected[:1] + expected[2:], strict=True):
        assert part.astype(int).tolist() == list(given), (items, options)
    # HF does not give the types of a template to further rows, whose texts have 0 and 1
    is_usual = tok.spec.template is None or {("A", 0), ("B", 1)} < {*tok.spec.template.pair}
    types = zip(batch.type_ids.tolist(), expected[1], is_first, strict=True)
    wrong = [(row, given) for row, given, first in types if (first or is_usual) and row != given]
    assert any(is_first)
    assert not wrong, (items, options)
    assert batch.lengths.tolist() == mask.sum(axis=1).tolist()
    return True


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("adds", [False, True])
def test_rows_are_those_of_hf(judged, name, adds):
    tok, path = judged[name]
    compared = 0
    options = itertools.product((None, 5, 6, 9, 14), STRATEGIES, SIDES, (None, 0, 1, 3), SIDES)
    for seed, (limit, strategy, cut_side, stride, side) in enumerate(itertools.islice(options, 0, None, 3)):
        if limit is None and (stride is not None or strategy != "longest_first" or cut_side == "left"):
            continue
        padding = "max_length" if limit is not None and seed % 3 == 0 else "longest"
        compared += check(
            tok, path, texts_of(seed), adds=adds, limit=limit, strategy=strategy, cut_side=cut_side, stride=stride,
            side=side, multiple=(1, 4)[seed % 2], padding=padding,
        )  # fmt: skip
    assert compared > 16


@pytest.mark.parametrize("cut_side", SIDES)
@pytest.mark.parametrize("stride", [None, 0, 1])
def test_longest_first_shares_a_row_as_hf(judged, cut_side, stride):
    """All lengths of two texts to 6, in all rows to 10 ids; with a stride a third of them in each row."""
    tok, path = judged["bert"]
    compared = 0
    for limit in range(3, 11):
        items = [("a" * n, "b" * m) for n in range(7) for m in range(7)]
        items = items if stride is None else items[limit % 3 :: 3]
        for pair in [items] if stride is None else [[item] for item in items]:
            compared += check(
                tok, path, pair, adds=True, limit=limit, strategy="longest_first", cut_side=cut_side, stride=stride,
                side="right", multiple=1, padding="longest",
            )  # fmt: skip
    assert compared >= (8 if stride is None else 60)


@pytest.mark.parametrize("name", TEMPLATES)
def test_pairs_of_batches_are_those_of_encode(judged, name):
    tok, path = judged[name]
    judge = tokenizers.Tokenizer.from_file(str(path))
    items = [*texts_of(1, 30, 40), ("", ""), "", ("a" * 5000, "b"), b"bytes", (b"\xff", np.frombuffer(b"ab", np.uint8))]
    for adds in (False, True):
        expected = [tok.encode(*given_of(item), add_special_tokens=adds) for item in items]
        assert tok.encode_batch(items, add_special_tokens=adds) == expected
        assert [row.tolist() for row in tok.encode_batch_to_numpy(items, add_special_tokens=adds)] == expected
        batch = tok.encode_padded(items, pad_id=302, add_special_tokens=adds)
        assert [row[mask].tolist() for row, mask in zip(*batch, strict=True)] == expected
        for item, row in zip(items, expected, strict=True):
            if isinstance(given_of(item)[0], str):
                assert judge.encode(*given_of(item), add_special_tokens=adds).ids == row


@pytest.mark.parametrize(
    "texts", [["a<s>b", ("<s>", "b")], ["x"] * 300, [("the thing", "a")] * 300, ["in the " * 30_000]]
)
def test_all_ways_to_encode_give_the_same_rows(texts):
    """With special tokens, with more texts than a group has, with more text than one thread encodes."""
    tok = tokenizer_of("bert")
    for allowed in ((), "all"):
        rows = [tok.encode(*given_of(item), allowed_special=allowed, add_special_tokens=True) for item in texts]
        assert tok.encode_batch(texts, allowed_special=allowed, add_special_tokens=True) == rows
        for threads in (1, 2):
            batch = tok.encode_batch_to_numpy(texts, allowed_special=allowed, add_special_tokens=True, threads=threads)
            assert [row.tolist() for row in batch] == rows
            for dtype in (np.uint16, np.int32, np.int64, np.uint32):
                ids, mask = tok.encode_padded(
                    texts, pad_id=7, allowed_special=allowed, add_special_tokens=True, threads=threads, dtype=dtype
                )
                assert ids.dtype == dtype
                assert [row[there].tolist() for row, there in zip(ids, mask, strict=True)] == rows
                assert (ids[~mask] == 7).all()


def test_a_padded_is_a_tuple_with_more():
    tok = tokenizer_of("bert")
    batch = tok.encode_padded(["a", ("a", "bc")], pad_id=302, add_special_tokens=True)
    ids, mask = batch
    assert isinstance(batch, tuple)
    assert batch.ids is ids
    assert batch.mask is mask
    for other in (pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch), copy.copy(batch)):
        for name in ("ids", "mask", "type_ids", "special_mask", "text_of", "lengths"):
            one, two = getattr(batch, name), getattr(other, name)
            assert one.dtype == two.dtype
            assert one.tolist() == two.tolist()
    types = [batch.type_ids, batch.special_mask, batch.text_of, batch.lengths, mask]
    assert [part.dtype for part in types] == [np.uint8, np.bool_, np.int64, np.int64, np.bool_]
    assert all(part.flags.c_contiguous and part.flags.writeable for part in (*types, ids))
    empty = tok.encode_padded([], 8, 302, padding="max_length")
    assert empty.ids.shape == empty.mask.shape == empty.type_ids.shape == (0, 8)
    assert empty.text_of.shape == empty.lengths.shape == (0,)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"truncation": "first"}, "truncation is 'first'; expected 'longest_first', 'only_first', 'only_sec.*or True"),
        ({"truncation": ""}, "truncation is ''; expected"),
        ({"truncation": False}, "truncation is False; expected"),
        ({"truncation_side": "up"}, "truncation_side is 'up'"),
        ({"side": "up"}, "side is 'up'"),
        ({"padding": "all"}, "padding is 'all'; expected 'longest', 'max_length' or True"),
        ({"padding": "max_length"}, "max_length is None"),
        ({"stride": 1}, "stride is 1, but max_length is None"),
        ({"stride": -1, "max_length": 3}, "stride is -1; expected at least 0"),
        ({"max_length": -1}, "max_length is -1"),
        ({"max_length": 2, "add_special_tokens": True}, "max_length is 2; expected at least 3"),
        ({"max_length": 3, "truncation": "only_first"}, r"item 1 of the batch has more than max_length = 3 ids"),
        ({"max_length": 2, "truncation": "only_second"}, r"item 0 of the batch is one text"),
        ({"max_length": 3, "stride": 3}, r"stride is 3; expected less than 3, the ids of a text that fit in a row"),
        ({"max_length": 5, "stride": 2, "truncation": "only_second"}, r"have room for 2 ids of a text of item 1"),
        ({"pad_to_multiple_of": 0}, "pad_to_multiple_of is 0"),
        ({"pad_id": 1 << 16, "dtype": np.uint16}, "pad_id is 65536; expected 0 to 65535"),
    ],
)
def test_wrong_options_are_named(options, problem):
    tok = tokenizer_of("bert")
    with pytest.raises(ValueError, match=problem):
        tok.encode_padded(["abcde", ("abc", "abcdef")], **{"pad_id": 302, **options})


def test_wrong_types_are_named():
    tok = tokenizer_of("bert")
    for options, problem in (
        ({"pad_id": []}, "pad_id must be an int, not list"),
        ({"max_length": "5"}, "max_length must be an int, not str"),
        ({"max_length": True}, "max_length must be an int, not bool"),
        ({"stride": 1.5, "max_length": 4}, "stride must be an int, not float"),
        ({"pad_to_multiple_of": 2.0}, "pad_to_multiple_of must be an int, not float"),
    ):
        tok.encode_padded(["a"], 1, 302)
        with pytest.raises(TypeError, match=problem):
            tok.encode_padded(["a"], **{"pad_id": 302, **options})
    for method in (tok.encode_batch, tok.encode_batch_to_numpy, lambda items: tok.encode_padded(items, pad_id=302)):
        with pytest.raises(TypeError, match="item 1 of the batch is a tuple of 3; expected a text or a tuple of two"):
            method(["a", ("a", "b", "c")])
        with pytest.raises(TypeError, match=r"item 1 of the batch, counted from 0: a text is .*, not int"):
            method(["a", ("a", 5)])
        with pytest.raises(TypeError, match=r"text 2 of the batch, counted from 0: a text is .*, not NoneType"):
            method(["a", "b", None])


def test_a_template_may_have_no_pairs():
    tok = Tokenizer(small_spec(special_tokens=SPECIALS, template=Template(((300, 0), ("A", 0)))))
    joined = tok.encode("a") + tok.encode("b")
    assert tok.encode_batch([("a", "b")]) == [joined]
    assert tok.encode_padded([("a", "b")], pad_id=0).type_ids.tolist() == [[0, 1]]
    for method in (tok.encode_batch, tok.encode_batch_to_numpy, tok.encode_padded):
        with pytest.raises(ValueError, match="no form for pairs"):
            method([("a", "b")], add_special_tokens=True, **({"pad_id": 0} if method == tok.encode_padded else {}))
    wide = Tokenizer(small_spec(special_tokens=SPECIALS, template=Template(((300, 256), ("A", 0)))))
    with pytest.raises(ValueError, match="type id 256; expected at most 255"):
        wide.encode_padded(["a"], pad_id=0)


def test_a_pair_is_the_second_argument():
    tok = tokenizer_of("bert")
    assert tok.encode("a", "b") == tok.encode("a", pair="b") == tok.encode("a") + tok.encode("b")
    assert tok.encode("a", "b", add_special_tokens=True)[0] == 300
    assert tok.encode("a", add_special_tokens=True) == [300, *tok.encode("a"), 301]
    assert tok.encode("<s>", add_special_tokens=True, allowed_special="all") == [300, 300, 301]
    assert bbpe.Padded is type(tok.encode_padded(["a"], pad_id=0))


@pytest.mark.parametrize(
    "texts",
    [[], [""], ["", "a", ""], [b"\xff\xfe", "\ud800x"], ["see my eyes"] * 257, ["first " * 40_000, "a"]],
    ids=["none", "empty", "empties", "not UTF-8", "many", "long"],
)
def test_rows_have_the_ids_of_their_texts_however_they_are_given(texts: list[Any]) -> None:
    tok = bbpe.train_from_iterator(["see my eyes first"], 270)
    expected = [tok.encode(text) for text in texts]
    for given in (texts, iter(texts), tuple(texts)):
        padded = tok.encode_padded(given, pad_id=0)
        assert [ids[mask].tolist() for ids, mask in zip(*padded, strict=True)] == expected
        assert padded.lengths.tolist() == [len(ids) for ids in expected]
        assert padded.text_of.tolist() == list(range(len(texts)))


def test_threads_that_ask_for_details_at_once_get_the_same() -> None:
    tok = bbpe.train_from_iterator(["see my eyes first"], 270)
    padded = tok.encode_padded(["see my eyes", "first"] * 100, pad_id=0)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: padded.special_mask, range(16)))
    assert all((one == ~padded.mask).all() for one in found)


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.uint32, np.int64])
def test_the_highest_id_of_a_dtype_may_pad(dtype):
    most = int(np.iinfo(dtype).max)
    assert tokenizer_of("none").encode_padded(["a", "aa b"], pad_id=most, dtype=dtype).ids[0, -1] == most
    if dtype != np.int64:
        with pytest.raises(ValueError, match=f"pad_id is {most + 1}; expected 0 to {most}"):
            tokenizer_of("none").encode_padded(["a"], pad_id=most + 1, dtype=dtype)


@pytest.mark.parametrize("pair", [("", "b"), ("a", ""), ("", "")])
def test_pairs_of_which_one_text_is_empty(judged, pair):
    for name, (tok, path) in judged.items():
        for adds in (False, True):
            row = tokenizers.Tokenizer.from_file(str(path)).encode(*pair, add_special_tokens=adds).ids
            assert tok.encode(*pair, add_special_tokens=adds) == row, name
            assert tok.encode_batch([pair], add_special_tokens=adds) == [row], name


#: An argument for each default of a file, and the ids of "aa bb" and "a" that show it; a byte is a token here.
OF_FILES = [
    ({}, [[302, 98, 98], [302, 302, 97]], 3),
    ({"side": "right"}, [[98, 98, 302], [97, 302, 302]], 3),
    ({"pad_id": 7}, [[7, 98, 98], [7, 7, 97]], 3),
    ({"pad_to_multiple_of": 4}, [[302, 302, 98, 98], [302, 302, 302, 97]], 4),
    ({"padding": "longest"}, [[302, 98, 98], [302, 302, 97]], 3),
    ({"padding": "longest", "pad_to_multiple_of": 1}, [[98, 98], [302, 97]], 2),
    ({"padding": "max_length", "max_length": 5, "pad_to_multiple_of": 1}, None, 5),
    ({"padding": "max_length", "pad_to_multiple_of": 1}, [[98, 98], [302, 97]], 2),
    ({"max_length": 3}, [[32, 98, 98], [302, 302, 97]], 3),
    ({"truncation_side": "right"}, [[302, 97, 97], [302, 302, 97]], 3),
]


@pytest.mark.parametrize(("options", "rows", "length"), OF_FILES)
def test_arguments_go_before_the_defaults_of_a_file(options, rows, length):
    vocab = {byte: bytes([byte]) for byte in range(256)}
    made = Tokenizer.from_merges(vocab, [], pattern="none", special_tokens=SPECIALS).spec
    pads = RowPadding(302, "<p>", pad_type_id=3, side="left", length=3, multiple=3)
    tok = Tokenizer(replace(made, padding=pads, truncation=RowTruncation(2, "left")))
    batch = tok.encode_padded(["aa bb", "a"], **options)
    assert batch.ids.shape[1] == length
    assert rows is None or batch.ids.tolist() == rows
    assert (batch.type_ids[~batch.mask] == 3).all()
    assert (batch.type_ids[batch.mask] == 0).all()
    short = Tokenizer(replace(made, padding=replace(pads, length=9, multiple=1)))
    assert short.encode_padded(["a"]).ids.shape[1] == 9
    assert short.encode_padded(["a"], padding="longest").ids.shape[1] == 1
    only = Tokenizer(replace(made, truncation=RowTruncation(3, "right", "OnlySecond")))
    assert only.encode_padded([("aa", "bbb")], pad_id=0).ids.tolist() == [[97, 97, 98]]
    assert only.encode_padded([("aa", "bbb")], pad_id=0, truncation="longest_first").ids.tolist() == [[97, 98, 98]]
    assert only.encode_padded([("aa", "b")], 2, 0, truncation="only_first").ids.tolist() == [[97, 98]]


def test_the_first_id_may_pad():
    spec = replace(small_spec(special_tokens={"<|endoftext|>": 300}), names={"pad": "!"}, padding=RowPadding(7))
    tok = Tokenizer(spec)
    assert tok.pad_token_id == tok.token_to_id("!") == 0
    assert tok.encode_padded(["a", "aa b"]).ids[0, -1] == 0


def test_the_id_of_padding_by_default() -> None:
    """The token that files name, then the padding of the file, then the end of a text."""
    spec = small_spec(special_tokens={**SPECIALS, "<|endoftext|>": 310})
    for changes, pad_id in (
        ({}, 310), ({"padding": RowPadding(7)}, 7), ({"padding": RowPadding(7), "names": {"pad": "<p>"}}, 302),
        ({"names": {"bos": "<s>"}}, 310), ({"names": {"pad": "a"}}, None),
    ):  # fmt: skip
        tok = Tokenizer(replace(spec, **changes))
        expected = tok.token_to_id("a") if pad_id is None else pad_id
        assert tok.encode_padded(["a", "ab"]).ids[0, -1] == expected
        assert tok.encode_padded(["a", "ab"], pad_id=3).ids[0, -1] == 3
    with pytest.raises(bbpe.SpecialTokenError, match="name '<none>' as pad_token, but the vocabulary does not have it"):
        Tokenizer(replace(spec, names={"pad": "<none>"})).encode_padded(["a", "ab"])
    with pytest.raises(bbpe.SpecialTokenError, match="no pad_token and no end-of-text token to pad with; expected pad"):
        Tokenizer(small_spec(special_tokens={"<s>": 300})).encode_padded(["a", "ab"])


def test_true_is_what_it_is_in_transformers() -> None:
    tok = bbpe.train_from_iterator(["low lower"], 258)
    texts = [("low lower", "low"), ("low", "lower low")]
    want = tok.encode_padded(texts, 3, 0, truncation="longest_first", padding="longest")
    got = tok.encode_padded(texts, 3, 0, truncation=True, padding=True)
    assert want.ids.tolist() == got.ids.tolist()
