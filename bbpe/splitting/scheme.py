"""What the compiled splitter knows of a pattern: one row of fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Scheme:
    """A split pattern as a sentence of known clauses.

    They are tried in this order:

        han_run? | contraction? | ascii_word? | prefix? word+ suffix? | number | " "? rest+ tail* | white space

    `csrc/split/token.h` says what each field does; a field at its default means that the clause is absent.
    """

    #: `'s 't 're 've 'm 'll 'd` in front of words, with "lead_fold" in any case; behind them with "suffix_fold".
    contraction: Literal["none", "lead", "lead_fold", "suffix_fold"] = "none"
    #: `\p{Han}+` first; Han characters are no part of words then.
    han_run: bool = False
    #: What may stand before a word: a blank; `[^\r\n\p{L}\p{N}]`; `[^\r\n\p{L}\p{P}\p{S}]`.
    prefix: Literal["space", "any", "no_punct"] = "space"
    #: `\p{L}+`, or `[\p{L}\p{M}]+`.
    word: Literal["L", "LM"] = "L"
    #: A word is `upper* lower+` or else `upper+ lower*`, where caseless letters and marks are both.
    cased: bool = False
    #: How many numbers make a pretoken at most; 0: any number of them.
    number_max: int = 0
    #: ` ?\p{N}+`: a blank may stand before numbers.
    number_space: bool = False
    #: `[^\s\p{L}\p{N}]`, `[^\s\p{L}\p{M}\p{N}]` or `[\p{P}\p{S}]`.
    rest: Literal["not_sLN", "not_sLMN", "PS"] = "not_sLN"
    #: What a run of rest swallows behind it: `[\r\n]*` or `[\r\n/]*`.
    tail: Literal["none", "newlines", "newlines_slash"] = "none"
    #: `\s*[\r\n]+`: white space is cut behind its last line end.
    newline: bool = False
    #: `\s+$` before that: white space at the end of the text is one pretoken.
    end_first: bool = False
    #: An earlier step has cut off `\p{N}{1,number_max}`.
    numbers_apart: bool = False
    #: An earlier step has cut off runs of U+4E00-9FA5 and U+3040-30FF.
    cjk_apart: bool = False
    #: An ASCII punctuation character or symbol and the ASCII letters behind it.
    ascii_word: bool = False
    #: Instead of the sentence: parts of a text that rules may be applied to one by one.  "space": such as go by words
    #: between white space; "bert": BERT's; "bert_apart": the same where ideographs are words of their own.
    #: `csrc/split/words.h` says where it is split.
    words: Literal["none", "space", "bert", "bert_apart"] = "none"
    #: The text ends behind each line feed, and another one begins.
    by_line: bool = False
    #: Instead of the sentence: 8192 bytes of bits, least first, of the pairs of bytes that a vocabulary joins, at
    #: first << 8 | second; a pretoken ends between any others.  A vocabulary's own, never a pattern's.
    joins: bytes | None = None
