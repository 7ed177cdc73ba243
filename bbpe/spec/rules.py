"""The rules that change a text before the model encodes it, the ids around it, and rows: one data class for each rule.

The rules are those of HF's `tokenizers` and of SentencePiece; the modules of `bbpe/pipeline` apply them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from ..records import dataclass, field

#: The treatment of the matches of a split, with HF's names.
Behavior: TypeAlias = Literal["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
BEHAVIORS: tuple[Behavior, ...] = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")

#: The pieces that Metaspace puts a blank in front of.
PrependScheme: TypeAlias = Literal["always", "first", "never"]
PREPEND_SCHEMES: tuple[PrependScheme, ...] = ("always", "first", "never")

#: Unicode's normal forms.
Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

#: The character that vocabularies of characters write in place of a blank.
SPACE_MARK = "\u2581"
#: The pattern of HF's Metaspace with `split`, for texts that have blanks in place of U+2581.
AT_BLANKS = (r" [^ ]*|[^ ]+",)
#: A limit on leading blanks that no text reaches.
ALL_BLANKS = (1 << 31) - 1
#: The names of byte tokens in files, in the order of the bytes.
BYTE_KEYS = tuple(f"<0x{byte:02X}>" for byte in range(256))


# -- normalizers: a text becomes another one ---------------------------------------------------------------


@dataclass(frozen=True)
class UnicodeForm:
    """NFC, NFD, NFKC or NFKD of Unicode 9.0, the version that HF's `tokenizers` uses."""

    form: Form


@dataclass(frozen=True)
class Lowercase:
    """Each character becomes lower case, independent of its context."""


@dataclass(frozen=True)
class StripAccents:
    """Combining marks are dropped."""


@dataclass(frozen=True)
class Strip:
    """White space at the beginning and at the end is dropped."""

    left: bool
    right: bool


@dataclass(frozen=True)
class Prepend:
    """A non-empty text gets `text` in front."""

    text: str


@dataclass(frozen=True)
class Replace:
    """Each occurrence of a string, or each match of a regex of the `regex` package, becomes `content`."""

    pattern: str
    is_regex: bool
    content: str


#: U+2581 in a text becomes the names of its bytes, so that it is not a blank.  HF's `tokenizers` finds these names in
#: texts; a Unigram model with byte tokens and `is_float` gets the bytes.
ESCAPED_MARK = Replace(SPACE_MARK, False, "".join(BYTE_KEYS[byte] for byte in SPACE_MARK.encode()))


@dataclass(frozen=True)
class Charsmap:
    """SentencePiece's compiled table: the longest key at each position becomes its value; `kept` strings do not change.

    The result for a non-empty text gets `prefix` in front and `suffix` at its end.  `drops_blanks`: a text becomes
    nothing at all if each of its keys and other characters becomes a blank.
    """

    data: bytes
    kept: tuple[str, ...] = ()
    prefix: str = ""
    suffix: str = ""
    drops_blanks: bool = False


@dataclass(frozen=True)
class Precompiled:
    """SentencePiece's compiled table as HF's `tokenizers` applies it: to grapheme clusters, then to characters."""

    data: bytes


@dataclass(frozen=True)
class SqueezeBlanks:
    """SentencePiece's removal of extra blanks: each run becomes one; the text does not begin or end with one.

    A `suffix` at the end of the text stays; what is before it is the text.  `drops_marks`: U+2581 at the end goes too.
    """

    suffix: str = ""
    drops_marks: bool = True


@dataclass(frozen=True)
class BertNormalizer:
    """BERT's normalizer as in HF's `tokenizers`, whose steps run in the order of the fields.

    `clean_text`: control and format characters are dropped and white space becomes blanks.  `cjk_apart`: ideographs get
    blanks around them.  `strip_accents`: the text is decomposed and nonspacing marks are dropped.  `lowercase`: letters
    become lower case.
    """

    clean_text: bool = True
    cjk_apart: bool = True
    strip_accents: bool = True
    lowercase: bool = True


@dataclass(frozen=True)
class Nmt:
    """Control characters are dropped, and some white space, format characters and U+FFFD become blanks."""


@dataclass(frozen=True)
class ByteLevelNormalizer:
    """Each byte becomes its character in GPT-2's alphabet."""


Normalizer: TypeAlias = (
    UnicodeForm
    | Lowercase
    | StripAccents
    | Strip
    | Prepend
    | Replace
    | Charsmap
    | Precompiled
    | SqueezeBlanks
    | BertNormalizer
    | Nmt
    | ByteLevelNormalizer
)


# -- pre-tokenizers: a piece becomes several ---------------------------------------------------------------


@dataclass(frozen=True)
class Prefix:
    """A piece gets `text` in front unless it begins with it; `first`: only the piece at the beginning of the text."""

    text: str
    first: bool = False


@dataclass(frozen=True)
class Split:
    """Split at the matches of a regex of the `regex` package; `invert`: at the text between the matches."""

    regex: str
    behavior: Behavior
    invert: bool = False


@dataclass(frozen=True)
class Digits:
    """Split off numbers: each numeric character with `individual`, otherwise each run."""

    individual: bool


@dataclass(frozen=True)
class Punctuation:
    """Split at each character that HF's `tokenizers` classifies as punctuation."""

    behavior: Behavior


@dataclass(frozen=True)
class Whitespace:
    """Split into words and runs of characters that are neither word characters nor white space; drop white space."""


@dataclass(frozen=True)
class WhitespaceSplit:
    """Split at white space, and drop it."""


@dataclass(frozen=True)
class CharDelimiterSplit:
    """Split at one character, and drop it."""

    delimiter: str


@dataclass(frozen=True)
class Metaspace:
    """Blanks become `mark`, and pieces get one in front by `prepend_scheme`; `split`: each one begins a pretoken."""

    prepend_scheme: PrependScheme
    split: bool
    mark: str = SPACE_MARK


@dataclass(frozen=True)
class ByteLevel:
    """Write the bytes of a piece in GPT-2's alphabet; `use_regex`: split by GPT-2's pattern first."""

    add_prefix_space: bool
    use_regex: bool


@dataclass(frozen=True)
class ByteAlphabet:
    """The pretokens stay in GPT-2's alphabet after `ByteLevel`, for a model of characters; only as the last rule."""


@dataclass(frozen=True)
class BertPreTokenizer:
    """Split at white space, drop it, and make each punctuation character a separate pretoken."""


@dataclass(frozen=True)
class FixedLength:
    """Split into pieces of `length` characters; the last one may be shorter."""

    length: int


@dataclass(frozen=True)
class UnicodeScripts:
    """Split where the script changes, by the rules and the scripts of HF's `tokenizers`."""


PreTokenizer: TypeAlias = (
    Split
    | Digits
    | Punctuation
    | Whitespace
    | WhitespaceSplit
    | CharDelimiterSplit
    | Metaspace
    | ByteLevel
    | ByteAlphabet
    | BertPreTokenizer
    | FixedLength
    | UnicodeScripts
)


# -- tokens and ids ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenOptions:
    """The rules by which a special or added token is found.

    `lstrip`, `rstrip`: the token includes the white space before or after it.  `single_word`: the token is found only
    where no letter, number or mark precedes or follows it.  `normalized`: the normalized token is found in the
    normalized text, after the other tokens were found in the original text.  `verbatim`: a token with `normalized` is
    searched in the normalized text but is not normalized itself.  `turn`: tokens of a lower turn are found in the whole
    text before this one, which is found between them (llama.cpp).
    """

    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False
    verbatim: bool = False
    turn: int = field(default=0, repr=False)


@dataclass(frozen=True)
class LeadingCodes:
    """Tokens that only begin a text, or a piece of it after another token, before all other rules (Marian's `>>fr<<`).

    A piece that begins with `opens` and has `closes` begins with a code up to there: the token of this text, or the id
    `unknown` if no token has it.
    """

    opens: str
    closes: str
    unknown: int


@dataclass(frozen=True)
class Template:
    """The ids that surround one text or a pair of texts.

    `single` and `pair` are sequences of `(item, type id)`, as in HF's `TemplateProcessing`; an item is the id of a
    special token, or "A" or "B" for the ids of the first or second text.
    """

    single: tuple[tuple[int | str, int], ...]
    pair: tuple[tuple[int | str, int], ...] = ()

    @property
    def around(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids before and after those of one text."""
        items = [item for item, _ in self.single]
        at = items.index("A")
        before, after = items[:at], items[at + 1 :]
        return tuple(map(int, before)), tuple(map(int, after))

    def check_has_pair(self) -> None:
        """Raise `ValueError` when there is no form for pairs."""
        if not self.pair:
            problem = "the template of this tokenizer has no form for pairs"
            raise ValueError(f"{problem}; expected add_special_tokens=False")


#: That of a tokenizer which has none: the ids of texts alone.
NO_TEMPLATE = Template((("A", 0),), (("A", 0), ("B", 1)))


@dataclass(frozen=True)
class TrimOffsets:
    """The span of a token loses the blanks that the token begins and ends with.

    `keeps_first`: the first token, and others at the beginning of the text, keep a single blank that they begin with.
    """

    keeps_first: bool


def bert_template(specials: Mapping[str, int]) -> Template | None:
    """Return BERT's template for one text and for pairs; `None` without the tokens "[CLS]" and "[SEP]"."""
    if "[CLS]" not in specials or "[SEP]" not in specials:
        return None
    first, last = specials["[CLS]"], specials["[SEP]"]
    single: tuple[tuple[int | str, int], ...] = ((first, 0), ("A", 0), (last, 0))
    return Template(single, (*single, ("B", 1), (last, 1)))


@dataclass(frozen=True)
class Characters:
    """The options of a vocabulary whose symbols are characters, not bytes.

    `byte_ids` has the ids of the 256 byte tokens, or is empty; an ASCII character that is a token need not have a byte
    token, too, and its own id takes the place.  `some_byte_ids` has bytes and ids where not all have one: a character
    that is not a token becomes its bytes if all have one, in a Unigram model a run of such characters.  Any other
    character that is not a token becomes the id `unknown`; with `fuse_unknown` a run of such characters becomes one id.
    If `unknown` is `None`, such characters are left out before the others merge.  `marks_blanks`: the tokens in the
    file and a rule for texts write U+2581 for a blank; here both have blanks.

    `end_of_word`: each pretoken is a word, and this suffix marks its last character and the tokens that end a word
    (Sennrich et al., 2016, with "</w>").  `end_apart`: the end of a word is a symbol of its own, the token of this
    text, which merges join with what is before it, and which is not written by itself.

    `prefix`: this prefix marks every character of a word except the first, and the tokens that continue a word; when
    two tokens merge, the second loses it.

    `are_bytes`: the symbols are bytes, of which not all are tokens or which `end_of_word` marks.  `unknown_text`: the
    text that decoding writes for the unknown token, `None` for the token itself.

    `unused`: the ids of tokens that encoding never writes, in order, as in SentencePiece.  Merges make them, and then
    take them apart again; characters and words of them are unknown.
    """

    byte_ids: tuple[int, ...] = ()
    unknown: int | None = None
    fuse_unknown: bool = False
    marks_blanks: bool = False
    end_of_word: str = field(default="", repr=False)
    are_bytes: bool = field(default=False, repr=False)
    prefix: str = field(default="", repr=False)
    unknown_text: str | None = field(default=None, repr=False)
    unused: tuple[int, ...] = field(default=(), repr=False)
    some_byte_ids: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    end_apart: bool = field(default=False, repr=False)

    @property
    def byte_tokens(self) -> dict[int, int]:
        """The ids of the bytes that have one."""
        return dict(enumerate(self.byte_ids)) if self.byte_ids else dict(self.some_byte_ids)

    @property
    def marks_words(self) -> bool:
        """Whether pretokens are words, and the symbol of a character depends on its position in the word."""
        return bool(self.end_of_word or self.prefix)

    def identity(self) -> bytes:
        """Return everything that ids depend on, for the fingerprint."""
        rest: tuple[object, ...] = (self.end_of_word, self.are_bytes)
        if self.prefix:
            rest = (*rest, self.prefix)
        shown = repr((self, rest if self.marks_words or self.are_bytes else (), self.unknown_text))
        if self.unused:
            shown += repr(self.unused)
        if self.some_byte_ids:
            shown += repr(self.some_byte_ids)
        if self.end_apart:
            shown += "end_apart"
        return shown.encode("utf-8", "surrogatepass")


# -- rows of equal length: truncation and padding ----------------------------------------------------------

#: The side at which a row is truncated or padded.
RowSide: TypeAlias = Literal["left", "right"]
#: The text of a pair that is truncated, with HF's names.
TruncationStrategy: TypeAlias = Literal["LongestFirst", "OnlyFirst", "OnlySecond"]


@dataclass(frozen=True)
class RowTruncation:
    """Rows have at most `max_length` ids, with those of the template; more are removed at `side`.

    `strategy` is for pairs and `stride` for overlapping windows of one text, which HF's `tokenizers` makes.
    """

    max_length: int
    side: RowSide = "right"
    strategy: TruncationStrategy = "LongestFirst"
    stride: int = 0


@dataclass(frozen=True)
class RowPadding:
    """Rows are padded at `side` to the longest one, to at least `length` ids, and to a multiple of `multiple`.

    `pad_token` is the text that belongs to `pad_id`; the vocabulary need not have it.  `pad_type_id` is the type id of
    padding.
    """

    pad_id: int = 0
    pad_token: str = "[PAD]"
    pad_type_id: int = 0
    side: RowSide = "right"
    length: int = 0
    multiple: int = 1
