"""A slow, short implementation of byte-level BPE by its definition; the tests compare the fast code with it.

It documents what bbpe computes, and shares no code with it except the table of patterns.
Tokens are `bytes`, and ids are used only where they matter.

>>> merges = train(["low lower lowest"], 258)
>>> merges
[(b'l', b'o'), (b'lo', b'w')]
>>> merge(b"slower", by_order(merges))
[b's', b'low', b'e', b'r']

Sources: Sennrich et al., 2016, "Neural Machine Translation of Rare Words with Subword Units", for the
algorithm; Radford et al., 2019, "Language Models are Unsupervised Multitask Learners", for pretokens and bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from ..spec.spec import TokenizerSpec
from ..splitting.patterns import get_pattern
from ..text import BYTE_ORDER

Pair: TypeAlias = tuple[bytes, bytes]
#: The priority of merging two neighbours, the lowest first; `None` when they do not merge.
Rank: TypeAlias = Callable[[bytes, bytes], int | None]


# -- text ----------------------------------------------------------------------------------------------


def characters(text: str | bytes) -> str:
    r"""Return a text as a `str` that UTF-8 with "surrogateescape" turns into its bytes.

    A byte that is not UTF-8 becomes an unpaired surrogate from U+DC80 to U+DCFF.  In a `str`, a surrogate pair becomes
    its code point and an unpaired surrogate U+FFFD, so that it is not taken for such a byte.

    >>> characters(b"\xffa"), characters("\ud800a")
    ('\udcffa', '\ufffda')
    """
    if isinstance(text, bytes):
        return text.decode("utf-8", "surrogateescape")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def split(text: str | bytes, pattern: str | Sequence[str] = "gpt2") -> list[bytes]:
    """Return the pretokens of a text, as bytes; `pattern` is a name or a regex.

    >>> split("It's 10 o'clock")
    [b'It', b"'s", b' 10', b' o', b"'", b'clock']
    """
    return [pretoken.encode("utf-8", "surrogateescape") for pretoken in get_pattern(pattern).split(characters(text))]


def cut_at(text: str, tokens: Collection[str]) -> list[str]:
    """Return pieces of text at even positions and the tokens between them at odd positions; longer tokens win.

    >>> cut_at("a<s>b<s>>", ["<s>", "<s>>"])
    ['a', '<s>', 'b', '<s>>', '']
    """
    longest_first = sorted(tokens, key=lambda token: len(token.encode()), reverse=True)
    return re.split(f"({'|'.join(map(re.escape, longest_first))})", text) if tokens else [text]


def first_stop(text: str, stop: Collection[str]) -> tuple[int, str] | None:
    """Return the end of the first stop string in a text, and that string: the longest one that ends there.

    >>> first_stop("see my dogs", ["dog", "my d", "y d"]), first_stop("see", ["my"])
    ((8, 'my d'), None)
    """
    for end in range(len(text) + 1):
        found = [string for string in stop if text[:end].endswith(string)]
        if found:
            return end, max(found, key=len)
    return None


def before_stop(text: str, stop: Collection[str], *, include_stop: bool = False, is_whole: bool = True) -> str:
    """Return the text that a stream returns of this one: up to a stop string, or to a beginning of one at the end.

    >>> before_stop("see my dogs", ["my"]), before_stop("see m", ["my"]), before_stop("see m", ["my"], is_whole=False)
    ('see ', 'see m', 'see ')
    """
    found = first_stop(text, stop)
    if found is not None:
        end, string = found
        return text[: end if include_stop else end - len(string)]
    if is_whole or include_stop:
        return text
    begun = [size for string in stop for size in range(1, len(string)) if text.endswith(string[:size])]
    return text[: len(text) - max(begun, default=0)]


# -- training ------------------------------------------------------------------------------------------


def count(
    texts: Iterable[str | bytes], *, pattern: str | Sequence[str] = "gpt2", special_tokens: Collection[str] = ()
) -> dict[bytes, int]:
    """Return the pretokens of all texts and their counts, in order of first appearance.

    No pretoken crosses from one text into the next, or a special token.  Special tokens are not counted.

    >>> count(["a b a", "b"])
    {b'a': 1, b' b': 1, b' a': 1, b'b': 1}
    """
    counts: Counter[bytes] = Counter()
    for text in texts:
        for stretch in cut_at(characters(text), special_tokens)[::2]:
            # `split` gets bytes, so that it restores a byte that is not UTF-8
            counts.update(split(stretch.encode("utf-8", "surrogateescape"), pattern))
    return dict(counts)


def train(
    texts: Iterable[str | bytes],
    vocab_size: int,
    *,
    pattern: str | Sequence[str] = "gpt2",
    special_tokens: Collection[str] = (),
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: str = "ids",
) -> list[Pair]:
    """Return the merges that training on texts learns, in order; the options are those of `bbpe.train`.

    >>> train(["ab ab"], 300)
    [(b'a', b'b'), (b' ', b'ab')]
    """
    counts = count(texts, pattern=pattern, special_tokens=special_tokens)
    return train_from_counts(
        counts,
        vocab_size - 256 - len(special_tokens),
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        tie_break=tie_break,
    )


def train_from_counts(
    counts: Mapping[bytes, int],
    merge_limit: int,
    *,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: str = "ids",
) -> list[Pair]:
    """Return up to `merge_limit` merges of counted pretokens by merging the best pair repeatedly.

    The best pair is the most frequent one.  `tie_break` chooses between pairs of equal frequency.  "ids" takes the
    lowest pair of ids; the ids of bytes come first, in the order of their characters, then those of merges.  "bytes"
    takes the greatest pair of byte strings.  "first" takes the pair that occurs first in the current segmentation.
    Training ends when the best pair occurs less than `min_frequency` times, or when no pair is left.

    >>> train_from_counts({b"ab": 2, b"cd": 2}, 1), train_from_counts({b"ab": 2, b"cd": 2}, 1, tie_break="bytes")
    ([(b'a', b'b')], [(b'c', b'd')])
    """
    words = [([bytes((byte,)) for byte in pretoken], times) for pretoken, times in counts.items() if times]
    ids = {bytes((byte,)): token_id for token_id, byte in enumerate(BYTE_ORDER)}
    merges: list[Pair] = []
    while len(merges) < merge_limit:
        pairs = count_pairs(words, max_token_length)
        if tie_break == "ids":
            best = min(pairs, key=lambda pair: (-pairs[pair], ids[pair[0]], ids[pair[1]]), default=None)
        elif tie_break == "bytes":
            best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        elif tie_break == "first":
            # a dict keeps the order of first occurrence, and max the first of equals
            best = max(pairs, key=lambda pair: pairs[pair], default=None)
        else:
            raise ValueError(f"tie_break is {tie_break!r}; expected 'ids', 'bytes' or 'first'")
        if best is None or pairs[best] < min_frequency:
            break
        words = [(join(symbols, best), times) for symbols, times in words]
        ids[best[0] + best[1]] = 256 + len(merges)
        merges.append(best)
    return merges


def count_pairs(words: Iterable[tuple[list[bytes], int]], max_token_length: int | None = None) -> dict[Pair, int]:
    """Return how often each pair of neighbours occurs, in order of first occurrence.

    Overlapping pairs count, so `aaa` has two pairs.  A pair longer than `max_token_length` bytes does not count.

    >>> count_pairs([([b"a", b"a", b"a"], 5)])
    {(b'a', b'a'): 10}
    """
    pairs: Counter[Pair] = Counter()
    for symbols, times in words:
        for left, right in pairwise(symbols):
            if max_token_length is None or len(left + right) <= max_token_length:
                pairs[left, right] += times
    return dict(pairs)


def join(symbols: Sequence[bytes], pair: Pair) -> list[bytes]:
    """Return the symbols with each occurrence of a pair joined, from left to right without overlap.

    >>> join([b"a", b"a", b"a"], (b"a", b"a"))
    [b'aa', b'a']
    """
    joined: list[bytes] = []
    i = 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == pair:
            joined.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            joined.append(symbols[i])
            i += 1
    return joined


# -- encoding ------------------------------------------------------------------------------------------


def by_order(merges: Sequence[Pair]) -> Rank:
    """Return the ranks of merge-list mode: the position of a pair in the list, the last one if it is listed twice."""
    order = {pair: position for position, pair in enumerate(merges)}
    return lambda left, right: order.get((left, right))


def by_ranks(ranks: Mapping[bytes, int]) -> Rank:
    """Return the ranks of rank mode: the rank of a pair is that of its concatenation, if that is a token."""
    return lambda left, right: ranks.get(left + right)


def merge(pretoken: bytes, rank: Rank, below: int | None = None) -> list[bytes]:
    """Return the tokens of a pretoken by merging the leftmost pair of the lowest rank repeatedly.

    With `below`, only pairs of a lower rank merge.

    >>> merge(b"aaa", by_ranks({b"a": 0, b"aa": 1}))
    [b'aa', b'a']
    """
    symbols = [bytes((byte,)) for byte in pretoken]
    while True:
        ranked = [(rank(*pair), i) for i, pair in enumerate(pairwise(symbols))]
        possible = [(r, i) for r, i in ranked if r is not None and (below is None or r < below)]
        if not possible:
            return symbols
        _, i = min(possible)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


# -- words of characters -------------------------------------------------------------------------------


def word_pieces(
    word: str, ids: Mapping[str, int], unknown: int, *, prefix: str = "##", max_characters: int = 100
) -> list[int]:
    """Return the ids of a word by WordPiece, which takes the longest matching token repeatedly.

    >>> vocab = {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "##a": 4}
    >>> word_pieces("unaffable", vocab, 0), word_pieces("unable", vocab, 0), word_pieces("affable", vocab, 0)
    ([1, 2, 3], [1, 3], [0])
    """
    found: list[int] = []
    start = 0
    if len(word) > max_characters:
        return [unknown]
    while start < len(word):
        mark = prefix if start else ""
        end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in ids), None)
        if end is None:
            return [unknown]
        found.append(ids[mark + word[start:end]])
        start = end
    return found


def symbol_ids(word: str, keys: Mapping[str, int], merges: Sequence[tuple[str, str]], unknown: int) -> list[int]:
    """Return the ids of a word by merges of symbols, of which the last one ends with "</w>".

    All pairs of the first merge in the list become one symbol, from left to right, and so on.  A symbol in the word
    has the id of its text with "@@", the last one that of its text, and `unknown` where there is none.

    >>> symbol_ids("lowered", {"low@@": 1, "ed": 2}, [("l", "o"), ("lo", "w"), ("e", "r"), ("e", "d</w>")], 0)
    [1, 0, 2]
    """
    symbols = [*word[:-1], word[-1] + "</w>"]
    while found := [pair for pair in pairwise(symbols) if pair in merges]:
        best = min(found, key=merges.index)
        at = 0
        while at < len(symbols) - 1:
            if (symbols[at], symbols[at + 1]) == best:
                symbols[at : at + 2] = ["".join(best)]
            at += 1
    pieces = [*(f"{symbol}@@" for symbol in symbols[:-1]), symbols[-1].removesuffix("</w>")]
    return [keys.get(piece, unknown) for piece in pieces]


def learn_words(
    words: Sequence[tuple[Sequence[int], int]],
    tokens: Sequence[str],
    size: int,
    *,
    pmi: bool,
    prefix: str = "",
    least: int = 1,
    tie_break: str = "ids",
) -> tuple[list[tuple[int, int]], list[str]]:
    """Return the merges of words, and all tokens, up to `size` tokens; all pairs are counted again before each merge.

    The best pair has the highest count, or with `pmi` the highest count(ab) / (count(a) * count(b)).  Of equal pairs
    the one with the lowest ids wins, or with `tie_break="strings"` the greatest pair of strings.

    >>> learn_words([([0, 1], 3), ([0, 0, 1], 1)], ["a", "b"], 3, pmi=False)
    ([(0, 1)], ['a', 'b', 'ab'])
    """
    spelled = [(list(symbols), count) for symbols, count in words]
    known, merges = list(tokens), []
    while len(known) < size:
        singles: Counter[int] = Counter()
        pairs: Counter[tuple[int, int]] = Counter()
        for symbols, count in spelled:
            for symbol in symbols:
                singles[symbol] += count
            for two in pairwise(symbols):
                pairs[two] += count
        scores = {
            (a, b): float(n) / (float(singles[a]) * float(singles[b])) if pmi else n
            for (a, b), n in pairs.items()
            if n >= max(least, 1)
        }
        if not scores:
            break
        if tie_break == "ids":
            best = min(scores, key=lambda two: (-scores[two], two))
        elif tie_break == "strings":
            best = max(scores, key=lambda two: (scores[two], known[two[0]], known[two[1]]))
        else:
            raise ValueError(f"tie_break is {tie_break!r}; expected 'ids' or 'strings'")
        made = known[best[0]] + known[best[1]].removeprefix(prefix)
        if made not in known:
            known.append(made)
        merges.append(best)
        for symbols, _ in spelled:
            i = 0
            while i + 1 < len(symbols):
                if (symbols[i], symbols[i + 1]) == best:
                    symbols[i : i + 2] = [known.index(made)]
                i += 1
    return merges, known


class SlowTokenizer:
    """Encodes and decodes by a spec, with the slow functions of this module.

    >>> from bbpe.splitting.patterns import get_pattern
    >>> from bbpe.spec.spec import make_spec
    >>> vocab = {**{byte: bytes((byte,)) for byte in range(256)}, 256: b"ab"}
    >>> slow = SlowTokenizer(make_spec(vocab, [(b"a", b"b")], pattern=get_pattern("gpt2")))
    >>> slow.encode("abc"), slow.decode_bytes([256, 99])
    ([256, 99], b'abc')
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        self.spec = spec
        self.ids = {token: token_id for token_id, token in spec.vocab.items()}
        self.specials = {**spec.special_tokens, **spec.added_tokens}
        if spec.merges is None:
            self.rank = by_ranks(self.ids)
        else:
            self.rank = by_order([(spec.vocab[left], spec.vocab[right]) for left, right, _ in spec.merges])

    def encode(self, text: str | bytes, *, allowed_special: Collection[str] = ()) -> list[int]:
        """Return the ids of a text; added tokens and allowed special tokens in it become their ids."""
        found = {*self.spec.added_tokens, *allowed_special}
        ids: list[int] = []
        for number, stretch in enumerate(cut_at(characters(text), found)):
            if number % 2:
                ids.append(self.specials[stretch])
            else:
                ids.extend(self._ordinary(stretch))
        return ids

    def _ordinary(self, text: str) -> Iterator[int]:
        for pretoken in self.spec.pattern.split(text):
            yield from self.encode_pretoken(pretoken.encode("utf-8", "surrogateescape"))

    def encode_pretoken(self, pretoken: bytes) -> list[int]:
        """Return the ids of one pretoken; a spec with `whole_pretokens` looks it up first."""
        if self.spec.whole_pretokens and pretoken in self.ids:
            return [self.ids[pretoken]]
        return [self.ids[token] for token in merge(pretoken, self.rank)]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of ids; `KeyError` on an unknown id."""
        specials = {token_id: text.encode() for text, token_id in self.specials.items()}
        return b"".join(self.spec.vocab[i] if i in self.spec.vocab else specials[i] for i in ids)
