"""Turn tokens into text by the steps of a decoder, one token at a time.

A token here is the key of a token, as a `tokenizer.json` writes it.  A byte that is not UTF-8 is a surrogate, as
Python's `surrogateescape` has it.  The steps before the first one that joins all tokens take tokens, and the others
take the parts of a text.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..lazy import lazy_re
from ..records import dataclass, field
from ..spec.decoders import (
    CTC,
    UNMARK,
    Blanks,
    BPEDecoder,
    ByteFallback,
    ByteLevel,
    DecoderStep,
    Fuse,
    Metaspace,
    SpecialRuns,
    Strip,
    WordPiece,
)
from ..spec.rules import SPACE_MARK, Replace
from ..splitting.regexes import compiled
from ..text import alphabet_to_bytes

ERRORS = "surrogateescape"
_CLEANUP = (
    *((f" {mark}", mark) for mark in ".?!,"),
    (" ' ", "'"),
    *((f" {ending}", ending) for ending in ("n't", "'m")),
    (" do not", " don't"),
    *((f" {ending}", ending) for ending in ("'s", "'ve", "'re")),
)
_UNCLEAN = lazy_re(" (?:[.?!,]|' |n't|'m|do not|'s|'ve|'re)")
_BYTE = lazy_re("<0x([0-9A-Fa-f]{2}|[+][0-9A-Fa-f])>")


class Token(NamedTuple):
    """The key of a token.  The text of an added or special token is not encoded, so marks in it are plain text."""

    key: str
    is_added: bool = False


class At(NamedTuple):
    """The position of a token among those that a step gets."""

    is_first: bool
    is_last: bool


def byte_of(key: str) -> int | None:
    """Return the byte that a key such as `<0xE4>` means for `ByteFallback`; `None` for other keys."""
    found = _BYTE.fullmatch(key)
    return None if found is None else int(found[1], 16)


def rewritten(step: DecoderStep, token: Token, at: At) -> str:
    """Return what a step makes of one token."""
    key, is_added = token
    match step:
        case WordPiece(prefix, cleanup):
            if not at.is_first:
                key = key[len(prefix) :] if key.startswith(prefix) else f" {key}"
            return _cleaned(key) if cleanup else key
        case Blanks():
            return key if at.is_first else f" {key}"
        case Strip(content, start, stop):
            return _stripped_end(key[_leading(key, content, start) :], content, stop)
        case ByteFallback():
            byte = byte_of(key)
            return key if byte is None else bytes((byte,)).decode("utf-8", ERRORS)
        case CTC(pad, delimiter, cleanup):
            key = key.replace(pad, "") if pad else key
            return _cleaned(key).replace(delimiter, " ") if cleanup and delimiter else key
        case Replace(pattern, is_regex, content) if step != UNMARK or not is_added:
            return compiled(pattern).replaced(key, content) if is_regex else key.replace(pattern, content)
    return key if is_added else _unmarked(step, key, at)


def _unmarked(step: DecoderStep, key: str, at: At) -> str:
    """Return what a step that undoes the marks of ordinary tokens makes of one."""
    match step:
        case Metaspace(mark, scheme):
            key = key.removeprefix(mark) if at.is_first and scheme != "never" else key
            return key.replace(mark, " ")
        case BPEDecoder(suffix):
            blank = "" if at.is_last else " "
            return key[: len(key) - len(suffix)] + blank if key.endswith(suffix) else key
        case ByteLevel(end):
            is_end = bool(end) and key.endswith(end)
            text = _of_alphabet(key[: len(key) - len(end)] if is_end else key)
            return f"{text} " if is_end and not at.is_last else text
    raise AssertionError(f"{step} does not undo marks")


def _of_alphabet(key: str) -> str:
    try:
        return alphabet_to_bytes(key).decode("utf-8", ERRORS)
    except ValueError:
        return key


def _cleaned(text: str) -> str:
    if " " in text and _UNCLEAN.search(text):
        for found, written in _CLEANUP:
            text = text.replace(found, written)
    return text


def _leading(text: str, content: str, most: int) -> int:
    """Return the number of characters `content` that a text begins with, at most `most`."""
    count = 0
    while count < most and text.startswith(content, count):
        count += 1
    return count


def _stripped_end(text: str, content: str, most: int) -> str:
    count = _leading(text[::-1], content, most)
    return text[: len(text) - count]


# -- steps that take tokens ----------------------------------------------------------------------------------------


class _TokenStage(Protocol):
    def push(self, token: Token) -> list[Token]:
        """Return the tokens that a token completes."""

    def finish(self) -> list[Token]:
        """Return the tokens that are held."""


@dataclass
class _Each:
    """A step that rewrites each token; if the last one differs, a token is held until the next one."""

    step: DecoderStep
    is_first: bool = True
    held: Token | None = None

    def push(self, token: Token) -> list[Token]:
        if not needs_last(self.step):
            return self._done(token, is_last=False)
        waiting, self.held = self.held, token
        return [] if waiting is None else self._done(waiting, is_last=False)

    def finish(self) -> list[Token]:
        return [] if self.held is None else self._done(self.held, is_last=True)

    def _done(self, token: Token, *, is_last: bool) -> list[Token]:
        at, self.is_first = At(self.is_first, is_last), False
        return [Token(rewritten(self.step, token, at), token.is_added)]


@dataclass
class _Different:
    """CTC: a token equal to the one before it is dropped, and so is one of which nothing is left."""

    step: CTC
    before: str | None = None

    def push(self, token: Token) -> list[Token]:
        if token.key == self.before:
            return []
        self.before = token.key
        key = rewritten(self.step, token, At(False, False))
        return [Token(key, token.is_added)] if key else []

    def finish(self) -> list[Token]:
        return []


@dataclass
class _Runs:
    """ByteFallback before steps that take tokens: a run of bytes is one token."""

    run: bytes = b""

    def push(self, token: Token) -> list[Token]:
        byte = byte_of(token.key)
        if byte is not None:
            self.run += bytes((byte,))
            return []
        return [*self.finish(), token]

    def finish(self) -> list[Token]:
        run, self.run = self.run, b""
        return [Token(run.decode("utf-8", ERRORS))] if run else []


@dataclass
class _SpecialRuns:
    """SpecialRuns: white space at the end is held until other text follows."""

    step: SpecialRuns
    has_run: bool = False
    has_mark: bool = False
    has_text: bool = False
    held: str = ""

    def push(self, token: Token) -> list[Token]:
        key, step = token.key, self.step
        if key in step.specials:
            self.has_run = self.has_mark = False
            return self._trimmed(f"{key} ")
        if key in step.controls:
            return []
        if step.strips and not (self.has_run or self.has_mark or key in step.kept):
            self.has_mark = key.startswith(SPACE_MARK) and not step.squeezes
            key = key.removeprefix(SPACE_MARK)
        self.has_run = self.has_run or key != ""
        return self._trimmed(key.replace(SPACE_MARK, " "))

    def _trimmed(self, text: str) -> list[Token]:
        text = self.held + text
        text = text if self.has_text else text.lstrip()
        kept = text.rstrip()
        self.held, self.has_text = text[len(kept) :], self.has_text or kept != ""
        return [Token(kept, True)] if kept else []

    def finish(self) -> list[Token]:
        return []


# -- steps that take the parts of a text ---------------------------------------------------------------------------


class _TextStage(Protocol):
    def feed(self, text: str) -> str:
        """Return the text that a part completes."""

    def finish(self) -> str:
        """Return the text that is held."""


class _Joined:
    """Joins characters that tokens have parts of."""

    def __init__(self) -> None:
        self.decoder = codecs.getincrementaldecoder("utf-8")(ERRORS)

    def __deepcopy__(self, memo: object) -> _Joined:
        other = _Joined()
        other.decoder.setstate(self.decoder.getstate())
        return other

    def feed(self, text: str) -> str:
        return self.decoder.decode(text.encode("utf-8", ERRORS))

    def finish(self) -> str:
        return self.decoder.decode(b"", final=True)


@dataclass
class _Stripped:
    """Strip on a whole text: characters at its end are held until others follow."""

    content: str
    start: int
    stop: int
    held: str = ""

    def feed(self, text: str) -> str:
        count = _leading(text, self.content, self.start)
        self.start = self.start - count if count == len(text) else 0
        text = self.held + text[count:]
        kept = _stripped_end(text, self.content, self.stop)
        self.held = text[len(kept) :]
        return kept

    def finish(self) -> str:
        return ""


@dataclass
class _Replaced:
    """Replacement of a string in a whole text: an end that may begin the string is held."""

    found: str
    written: str
    held: str = ""

    def feed(self, text: str) -> str:
        *parts, rest = (self.held + text).split(self.found)
        size = min(len(rest), len(self.found) - 1)
        while size and not self.found.startswith(rest[len(rest) - size :]):
            size -= 1
        self.held = rest[len(rest) - size :]
        return self.written.join([*parts, rest[: len(rest) - size]])

    def finish(self) -> str:
        return self.held


@dataclass
class _Whole:
    """Any other step on a whole text, which is collected first, as if it were one token."""

    step: DecoderStep
    parts: list[str] = field(default_factory=list)

    def feed(self, text: str) -> str:
        self.parts.append(text)
        return ""

    def finish(self) -> str:
        return rewritten(self.step, Token("".join(self.parts)), At(True, True))


# -- all steps -----------------------------------------------------------------------------------------------------


def needs_last(step: DecoderStep) -> bool:
    """Return whether a step rewrites the last token in its own way."""
    return isinstance(step, BPEDecoder) or (isinstance(step, ByteLevel) and bool(step.end_of_word))


def needs_first(step: DecoderStep) -> bool:
    """Return whether a step rewrites the first token in its own way."""
    return isinstance(step, WordPiece | Blanks) or (isinstance(step, Metaspace) and step.prepend_scheme != "never")


def divided(steps: Sequence[DecoderStep]) -> tuple[list[DecoderStep], list[DecoderStep]]:
    """Return the steps that take tokens, and those that take the whole text because all tokens became one."""
    joins = next((number for number, step in enumerate(steps) if isinstance(step, Fuse | ByteLevel)), len(steps))
    before, after = steps[: joins + 1], steps[joins + 1 :]
    return [step for step in before if step != Fuse()], [step for step in after if step != Fuse()]


class DecoderMachine:
    """The steps of a decoder as one state machine: what `push` and `finish` return, joined, is the text of the tokens.

    >>> machine = DecoderMachine([WordPiece()])
    >>> machine.push(Token("see")) + machine.push(Token("##s")) + machine.push(Token("my")) + machine.finish()
    'sees my'
    """

    def __init__(self, steps: Sequence[DecoderStep]) -> None:
        before, after = divided(steps)
        self._tokens = [_token_stage(step, before[number + 1 :]) for number, step in enumerate(before)]
        self._texts: list[_TextStage] = [_Joined(), *map(_text_stage, after)] if after else []

    def push(self, token: Token) -> str:
        """Return the text that a token completes."""
        return self._fed(self._pushed([token], 0), 0)

    def finish(self) -> str:
        """Return the rest of the text."""
        text = ""
        for number, stage in enumerate(self._tokens):
            text += self._fed(self._pushed(stage.finish(), number + 1), 0)
        for number, part in enumerate(self._texts):
            text += self._fed([part.finish()], number + 1)
        return text

    def _pushed(self, tokens: list[Token], first: int) -> list[str]:
        for stage in self._tokens[first:]:
            tokens = [made for token in tokens for made in stage.push(token)]
        return [token.key for token in tokens]

    def _fed(self, texts: list[str], first: int) -> str:
        text = "".join(texts)
        for stage in self._texts[first:]:
            text = stage.feed(text)
        return text


def _token_stage(step: DecoderStep, following: Sequence[DecoderStep]) -> _TokenStage:
    if isinstance(step, CTC | SpecialRuns):
        return _Different(step) if isinstance(step, CTC) else _SpecialRuns(step)
    return _Runs() if isinstance(step, ByteFallback) and following else _Each(step)


def _text_stage(step: DecoderStep) -> _TextStage:
    match step:
        case Strip(content, start, stop):
            return _Stripped(content, start, stop)
        case Replace(pattern, False, content):
            return _Replaced(pattern, content)
    return _Whole(step)
