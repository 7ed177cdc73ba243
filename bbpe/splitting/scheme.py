"""The description of a split pattern for the compiled splitter."""

from __future__ import annotations

from typing import Literal

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
