"""What happens to a text before it is split and merged, and around its ids: plain data, a class for each rule.

The rules are those of HF's `tokenizers` and of SentencePiece; `normalizing` and `pretokenizing` follow them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

#: What becomes of the matches of a split: HF's names.
Behavior: TypeAlias = Literal["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
BEHAVIORS: tuple[Behavior, ...] = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")

#: Where Metaspace puts a blank in front of a piece.
PrependScheme: TypeAlias = Literal["always", "first", "never"]
PREPEND_SCHEMES: tuple[PrependScheme, ...] = ("always", "first", "never")

#: Unicode's normal forms.
Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

#: The mark that vocabularies of characters write for a blank.
BLANK = "\u2581"
#: More blanks than any text begins with.
ALL_BLANKS = (1 << 31) - 1
#: What files write for the tokens that stand for bytes, in their order.
BYTE_KEYS = tuple(f"<0x{byte:02X}>" for byte in range(256))


# -- normalizers: a text becomes another one ---------------------------------------------------------------


@dataclass(frozen=True)
class UnicodeForm:
    """NFC, NFD, NFKC or NFKD, as of Unicode 9.0, which HF's `tokenizers` has."""

    form: Form


@dataclass(frozen=True)
class Lowercase:
    """Each character in lower case, whatever stands around it."""


@dataclass(frozen=True)
class StripAccents:
    """Marks are dropped."""


@dataclass(frozen=True)
class Strip:
    """White space at the beginning and at the end is dropped."""

    left: bool
    right: bool


@dataclass(frozen=True)
class Prepend:
    """A text that is not empty gets something in front."""

    text: str


@dataclass(frozen=True)
class Replace:
    """All places of a string, or matches of a regex of the `regex` package, become `content`."""

    pattern: str
    is_regex: bool
    content: str


@dataclass(frozen=True)
class Charsmap:
    """SentencePiece's compiled table: the longest key at each place becomes its value; `kept` strings stay.

    `prefix` goes in front of what becomes of a text that is not empty.
    """

    data: bytes
    kept: tuple[str, ...] = ()
    prefix: str = ""


@dataclass(frozen=True)
class Precompiled:
    """The same table as HF's `tokenizers` applies it: to what a reader sees as one character, or else to each."""

    data: bytes


@dataclass(frozen=True)
class SqueezeBlanks:
    """SentencePiece's removal of extra blanks: one for each run, none at the beginning and at the end."""


@dataclass(frozen=True)
class BertNormalizer:
    """BERT's, as HF's `tokenizers` has it, in this order.

    `clean_text`: control and format characters are dropped and white space becomes blanks; `cjk_apart`: ideographs get
    blanks around them; `strip_accents`: decomposed, and nonspacing marks dropped; `lowercase`.
    """

    clean_text: bool = True
    cjk_apart: bool = True
    strip_accents: bool = True
    lowercase: bool = True


Normalizer: TypeAlias = (
    UnicodeForm | Lowercase | StripAccents | Strip | Prepend | Replace | Charsmap | Precompiled | SqueezeBlanks
    | BertNormalizer
)


# -- pre-tokenizers: a piece becomes several ---------------------------------------------------------------


@dataclass(frozen=True)
class Prefix:
    """A piece gets `text` in front, unless it begins with it; `first`: only where the text begins."""

    text: str
    first: bool = False


@dataclass(frozen=True)
class Split:
    """Cut at the matches of a regex of the `regex` package; `invert`: at what lies between them."""

    regex: str
    behavior: Behavior
    invert: bool = False


@dataclass(frozen=True)
class Digits:
    """Numbers are apart, one by one or in runs."""

    individual: bool


@dataclass(frozen=True)
class Punctuation:
    """Cut at each punctuation character, as HF's `tokenizers` knows them."""

    behavior: Behavior


@dataclass(frozen=True)
class Whitespace:
    """Words, and runs of what is neither word nor white space; white space is dropped."""


@dataclass(frozen=True)
class WhitespaceSplit:
    """What stands between white space."""


@dataclass(frozen=True)
class CharDelimiterSplit:
    """What stands between places of one character."""

    delimiter: str


@dataclass(frozen=True)
class Metaspace:
    """Blanks become U+2581, also in front of a piece; `split`: each one begins a pretoken."""

    prepend_scheme: PrependScheme
    split: bool


@dataclass(frozen=True)
class ByteLevel:
    """The bytes of a piece in GPT-2's alphabet; `use_regex`: cut by GPT-2's pattern first."""

    add_prefix_space: bool
    use_regex: bool


@dataclass(frozen=True)
class BertPreTokenizer:
    """What stands between white space, and each punctuation character apart."""


PreTokenizer: TypeAlias = (
    Split
    | Digits
    | Punctuation
    | Whitespace
    | WhitespaceSplit
    | CharDelimiterSplit
    | Metaspace
    | ByteLevel
    | BertPreTokenizer
)


# -- tokens and ids ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenOptions:
    """How a special or added token is found.

    `lstrip`, `rstrip`: with the white space before or behind it; `single_word`: only where no letter, number or mark
    stands beside it; `normalized`: in the text as normalised, and itself normalised, after all others were found in
    the text as it is; `verbatim`: itself not.
    """

    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False
    verbatim: bool = False


@dataclass(frozen=True)
class Template:
    """What stands around the ids of a text, and of two: ids of special tokens, and "A" and "B" for those of the texts.

    Each is `(id or text, type id)`, as in HF's `TemplateProcessing`.
    """

    single: tuple[tuple[int | str, int], ...]
    pair: tuple[tuple[int | str, int], ...] = ()

    @property
    def around(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids before and behind those of one text."""
        items = [item for item, _ in self.single]
        at = items.index("A")
        before, behind = items[:at], items[at + 1 :]
        return tuple(map(int, before)), tuple(map(int, behind))

    def joined(self, first: list[int], second: list[int]) -> list[int]:
        """Return the ids of two texts in one row; `ValueError` when there is no form for two."""
        if not self.pair:
            problem = "the template of this tokenizer has no form for pairs"
            raise ValueError(f"{problem}; expected add_special_tokens=False")
        row: list[int] = []
        for item, _ in self.pair:
            row += first if item == "A" else second if item == "B" else [int(item)]
        return row


def bert_template(specials: Mapping[str, int]) -> Template | None:
    """Return what BERT has around a text, and two, where there are such tokens."""
    if "[CLS]" not in specials or "[SEP]" not in specials:
        return None
    first, last = specials["[CLS]"], specials["[SEP]"]
    single: tuple[tuple[int | str, int], ...] = ((first, 0), ("A", 0), (last, 0))
    return Template(single, (*single, ("B", 1), (last, 1)))


@dataclass(frozen=True)
class Characters:
    """What a vocabulary of characters has beside tokens and merges; its symbols are characters, not bytes.

    `byte_ids`: the 256 tokens that stand for bytes, or empty: only then a character that is no token is `unknown`, with
    `fuse_unknown` one for a run of them.  `marks_blanks`: its file writes U+2581 for a blank in its tokens, and so does
    a rule in texts; here both are blanks.

    `end_of_word`: each pretoken is a word, whose last character has this behind it, as tokens have that end one
    (Sennrich et al., 2016, there "</w>"); decoding makes it a blank, but for the last.  `prefix`: each character of a
    word but the first has this before it, as tokens have that go on with one; of two that merge the second loses it.
    Decoding takes it away, and where words have no end puts a blank before all other tokens but the first, with
    `cleanup` as `WordPiece` does.  `are_bytes`: the characters of words with an end are bytes.

    `unknown_text`: what decoding writes for the unknown token, where that is not the token itself.
    """

    byte_ids: tuple[int, ...] = ()
    unknown: int | None = None
    fuse_unknown: bool = False
    marks_blanks: bool = False
    end_of_word: str = field(default="", repr=False)
    are_bytes: bool = field(default=False, repr=False)
    prefix: str = field(default="", repr=False)
    cleanup: bool = field(default=False, repr=False)
    unknown_text: str | None = field(default=None, repr=False)

    @property
    def marks_words(self) -> bool:
        """Whether pretokens are words, and characters other symbols by their place in these."""
        return bool(self.end_of_word or self.prefix)

    def identity(self) -> bytes:
        """Return what ids depend on, for the fingerprint."""
        rest: tuple[object, ...] = (self.end_of_word, self.are_bytes)
        if self.prefix:
            rest = (*rest, self.prefix, self.cleanup)
        shown = repr((self, rest if self.marks_words else (), self.unknown_text))
        return shown.encode("utf-8", "surrogatepass")
