"""The steps that turn tokens back into text: one data class for each decoder of HF's `tokenizers`.

`Charsmap`, always last, is SentencePiece's table for decoded text, which the caller of these steps applies.
`bbpe/pipeline/decoders.py` applies them to the keys of tokens, as a `tokenizer.json` writes them, in order.
"""

from __future__ import annotations

from typing import TypeAlias

from ..lazy import lazy_property
from ..records import dataclass
from .rules import SPACE_MARK, Charsmap, PrependScheme, Replace


@dataclass(frozen=True)
class ByteLevel:
    """Tokens in GPT-2's byte alphabet become bytes, and all tokens become one; other tokens are written as they are.

    `end_of_word`: this suffix of a token becomes a blank, except at the end of the text.
    """

    end_of_word: str = ""


@dataclass(frozen=True)
class Metaspace:
    """The mark becomes a blank; unless the scheme is "never", the first token loses the mark that it begins with."""

    replacement: str = SPACE_MARK
    prepend_scheme: PrependScheme = "always"


@dataclass(frozen=True)
class WordPiece:
    """Tokens lose the prefix of continuations; each other token except the first gets a blank in front.

    `cleanup` removes the blanks before some punctuation and contractions in each token.
    """

    prefix: str = "##"
    cleanup: bool = True


@dataclass(frozen=True)
class BPEDecoder:
    """The suffix at the end of a token becomes a blank, and is removed from the last token."""

    suffix: str = "</w>"


@dataclass(frozen=True)
class ByteFallback:
    """Tokens such as `<0xE4>` become bytes."""


@dataclass(frozen=True)
class Fuse:
    """All tokens become one, so that the following steps apply to the whole text."""


@dataclass(frozen=True)
class Strip:
    """Up to `start` characters `content` are removed from the beginning of each token, up to `stop` from its end."""

    content: str
    start: int
    stop: int


@dataclass(frozen=True)
class CTC:
    """A token that repeats the one before it is dropped, and the padding is removed.

    `cleanup` does what it does in `WordPiece`, and replaces `word_delimiter` by a blank.
    """

    pad: str = "<pad>"
    word_delimiter: str = "|"
    cleanup: bool = True


@dataclass(frozen=True)
class Blanks:
    """Each token except the first gets a blank in front, which is what HF does for `"decoder": null`."""


@dataclass(frozen=True)
class SpecialRuns:
    """Tokens between special ones are a text of their own, as in SentencePiece; a blank follows a special one (Marian).

    Where it `strips`, the first token of such a text loses the mark that it begins with; with `squeezes` so does each
    further one until there is text.  The tokens `others` are none of SentencePiece's pieces and lose nothing; those of
    `controls` are dropped.  Then marks become blanks, and the whole text loses white space at both ends.
    """

    specials: tuple[str, ...]
    others: tuple[str, ...]
    controls: tuple[str, ...]
    strips: bool
    squeezes: bool

    @lazy_property
    def kept(self) -> frozenset[str]:
        """The tokens that lose nothing."""
        return frozenset(self.others)


DecoderStep: TypeAlias = (
    ByteLevel
    | Metaspace
    | WordPiece
    | BPEDecoder
    | ByteFallback
    | Fuse
    | Strip
    | Replace
    | CTC
    | Blanks
    | Charsmap
    | SpecialRuns
)
#: The step that undoes the marking of blanks.
UNMARK = Replace(SPACE_MARK, False, " ")
