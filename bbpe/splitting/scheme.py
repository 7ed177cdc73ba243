"""The descriptions of split patterns for the compiled splitter, and those of the named patterns."""

from __future__ import annotations

from typing import Any, Literal

from ..records import dataclass


@dataclass(frozen=True)
class Scheme:
    """A split pattern as a sequence of known clauses.

    The splitter tries the clauses in this order:

        han_run? | contraction? | ascii_word? | prefix? word+ suffix? | number | " "? rest+ tail* | white space

    `csrc/split/token.h` describes the effect of each field; a clause whose field has its default is absent.
    """

    #: `'s 't 're 've 'm 'll 'd` before words; "lead_fold": in any case; "suffix_fold": after words, in any case.
    contraction: Literal["none", "lead", "lead_fold", "suffix_fold"] = "none"
    #: `\p{Han}+` comes first, and words have no Han characters.
    han_run: bool = False
    #: A character that may precede a word: a blank; `[^\r\n\p{L}\p{N}]`; `[^\r\n\p{L}\p{P}\p{S}]`.
    prefix: Literal["space", "any", "no_punct"] = "space"
    #: `\p{L}+`, or `[\p{L}\p{M}]+`.
    word: Literal["L", "LM"] = "L"
    #: A word is `upper* lower+`, otherwise `upper+ lower*`; caseless letters and marks are in both sets.
    cased: bool = False
    #: The most numbers in one pretoken; 0: no limit.
    number_max: int = 0
    #: ` ?\p{N}+`: a blank may precede numbers.
    number_space: bool = False
    #: `[^\s\p{L}\p{N}]`, `[^\s\p{L}\p{M}\p{N}]` or `[\p{P}\p{S}]`.
    rest: Literal["not_sLN", "not_sLMN", "PS"] = "not_sLN"
    #: The characters after rest that join its pretoken: `[\r\n]*` or `[\r\n/]*`.
    tail: Literal["none", "newlines", "newlines_slash"] = "none"
    #: `\s*[\r\n]+`: white space is split after its last line end.
    newline: bool = False
    #: `\s+$` before the clause of `newline`: white space at the end of the text is one pretoken.
    end_first: bool = False
    #: An earlier step has split off `\p{N}{1,number_max}`.
    numbers_apart: bool = False
    #: An earlier step has split off runs of U+4E00-9FA5 and U+3040-30FF.
    cjk_apart: bool = False
    #: An ASCII punctuation character or symbol with the ASCII letters after it.
    ascii_word: bool = False
    #: Replaces the clauses: pretokens that can be normalized separately.  "space": for rules that split at white space;
    #: "blank": for rules that split at blanks and line ends;
    #: "bert": for BERT's rules; "bert_apart": for BERT's rules with each ideograph a separate word.
    #: `csrc/split/words.h` describes where these pretokens end.
    words: Literal["none", "space", "blank", "bert", "bert_apart"] = "none"
    #: Each line, with its line feed, is split like a text.
    by_line: bool = False
    #: Replaces the clauses: a bit set of 8192 bytes, least significant bit first, over pairs of bytes; bit
    #: `first << 8 | second`.  A pretoken ends between two bytes whose bit is 0.  It comes from the tokens of a
    #: vocabulary or from an internal pattern, never from a regex.
    joins: bytes | None = None


_FOLDED: dict[str, Any] = {"contraction": "lead_fold", "prefix": "any", "tail": "newlines", "newline": True}
_CASED: dict[str, Any] = {"prefix": "any", "word": "LM", "cased": True, "newline": True}
#: What the recogniser finds in the named patterns, by name; their regexes are then not parsed.
SCHEMES = {
    "gpt2": Scheme(contraction="lead", number_space=True),
    "cl100k": Scheme(**_FOLDED, number_max=3, end_first=True),
    "cl100k_older": Scheme(**_FOLDED, number_max=3),
    "llama3": Scheme(**_FOLDED, number_max=3),
    "qwen2": Scheme(**_FOLDED, number_max=1),
    "qwen3_5": Scheme(**_FOLDED, word="LM", number_max=1, rest="not_sLMN"),
    "o200k": Scheme(**_CASED, contraction="suffix_fold", number_max=3, tail="newlines_slash"),
    "tekken": Scheme(**_CASED, number_max=1, tail="newlines_slash"),
    "kimi": Scheme(**_CASED, contraction="suffix_fold", han_run=True, number_max=3, tail="newlines"),
    "deepseek_v3": Scheme(
        prefix="no_punct", word="LM", number_max=3, rest="PS", tail="newlines", newline=True, numbers_apart=True,
        cjk_apart=True, ascii_word=True,
    ),
    "starcoder": Scheme(contraction="lead", number_max=1, number_space=True, numbers_apart=True),
    "nanochat": Scheme(**_FOLDED, number_max=2),
}  # fmt: skip
