"""A tokenizer with rules by its definition, one step after another: what the compiled pipeline computes.

>>> import bbpe
>>> tokenizer = bbpe.train_from_iterator(["low lower lowest"], 258)
>>> SlowPipeline(tokenizer.spec).encode("low low") == tokenizer.encode("low low")
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..encoding.engine import text_encoder
from ..lazy import lazy_re, np
from ..pipeline.special_tokens import NOTHING, Matcher, OptionMatcher
from ..records import replace
from ..spec.models import UnigramModel, WordLevelModel
from ..spec.rules import AT_BLANKS, ESCAPED_MARK, SPACE_MARK, Prepend, Replace, Split, TokenOptions
from ..spec.spec import TokenizerSpec, other_tokens
from ..text import WHITE_SPACE, Text, text_bytes
from .normalizers import normalizer
from .places import align
from .pre_tokenizers import prefixed, pretokens, split_at_blanks, split_text

_INVALID_BYTES = lazy_re("[\udc80-\udcff]")  # surrogates that stand for bytes that are not UTF-8
#: White space in UTF-8, any number of characters; it always matches.
_WHITE_SPACE_RUN = lazy_re(b"(?:" + b"|".join(re.escape(char.encode()) for char in WHITE_SPACE) + b")*")


class SlowPipeline:
    """Encodes texts by the rules of a spec in Python; the model of the spec gives the ids of each pretoken."""

    def __init__(self, spec: TokenizerSpec) -> None:
        encoder = text_encoder(spec, is_fused=False)
        self.spec = spec = _unescaped(spec)
        self._encoder, model, symbols = encoder, encoder.encoder.model, spec.characters
        self._marks_blanks = symbols is not None and symbols.marks_blanks
        self._marks_pretokens = self._marks_blanks and bool(spec.rules.pre_tokenizers)
        self._unmarks = self._marks_blanks and not self._marks_pretokens
        # tokens that are not verbatim are looked for where U+2581 is not yet a blank
        self._finds_normalized = any(row.normalized and not row.verbatim for row in spec.token_options.values())
        is_of_bytes = symbols is not None and symbols.are_bytes and not symbols.marks_words
        has_bytes = symbols is None or bool(symbols.byte_ids) or is_of_bytes
        is_of_words = isinstance(model, WordPiece) or (isinstance(model, WordBPE) and not is_of_bytes)
        self._replaces_invalid = is_of_words or not has_bytes
        self._fused = spec.model.unknown if isinstance(spec.model, WordLevelModel) and spec.model.fuses else None

    def encode(self, text: Text, matcher: Matcher | None = None) -> list[int]:
        """Return the ids of a text; the matcher has the special tokens that become ids and those that are refused."""
        data, found = bytes(text_bytes(text)), list[int]()
        matcher = matcher or NOTHING
        matcher.check(data)
        for start, end, token_id in token_places(matcher, data):
            if token_id is not None:
                found.append(token_id)
                continue
            if (code := self._code(data[start:end])) is not None:
                found.append(code[1])
                start += code[0]
            for part, its_id, head in self._parts(self._decoded(data[start:end]), matcher.after, int(start == 0)):
                found += self._ids(part, head) if its_id is None else [its_id]
        return found

    def _code(self, data: bytes) -> tuple[int, int] | None:
        """Return the length and the id of the code that a piece begins with, `None` without one."""
        rule = self.spec.rules.codes
        if rule is None or not data.startswith(rule.opens.encode()) or rule.closes.encode() not in data:
            return None
        code = data[: data.index(rule.closes.encode()) + len(rule.closes.encode())]
        ids = {token: token_id for token_id, token in {**other_tokens(self.spec), **self.spec.vocab}.items()}
        return len(code), ids.get(code, rule.unknown)

    def _decoded(self, data: bytes) -> str:
        """Decode UTF-8; bytes that are not UTF-8 become surrogates if the vocabulary has bytes, else U+FFFD."""
        text = data.decode("utf-8", "surrogateescape")
        return _INVALID_BYTES.sub("\ufffd", text) if self._replaces_invalid else text

    def _parts(self, text: str, after: Matcher | None, head: int) -> Iterator[tuple[str, int | None, int]]:
        """Yield the parts of a piece between tokens when normalized, the id if one is a token, and its head."""
        rules = self.spec.rules.normalizers
        is_marked = after is not None and self._finds_normalized
        normalize = normalizer(rules, marks_blanks=self._unmarks and not is_marked)
        head = align(rules, text).head if head > 0 and rules else head
        text = text if normalize is None else normalize(text)
        data = text.encode("utf-8", "surrogateescape")
        for start, end, token_id in token_places(after or NOTHING, data):
            part = data[start:end].decode("utf-8", "surrogateescape")
            if token_id is None and self._unmarks:
                part = part.replace(SPACE_MARK, " ")
            before = len(data[:start].decode("utf-8", "surrogateescape"))
            yield part, token_id, max(head - before, 0) if head > 0 else 0

    def _ids(self, text: str, head: int) -> list[int]:
        """Return the ids of a part of normalized text without tokens."""
        found = self._split(prefixed(self.spec.rules.prefix, text, head), head)
        ends = np.fromiter(accumulate(map(len, found)), np.int64, len(found))
        ids: list[int] = self._encoder.encode_pretokens(b"".join(found), ends).tolist()
        if self._fused is None:
            return ids
        return [each for at, each in enumerate(ids) if at == 0 or each != self._fused or ids[at - 1] != self._fused]

    def _split(self, text: str, head: int) -> list[bytes]:
        """Return the pretokens of a part of normalized text that has its prefix."""
        rules, pattern = self.spec.rules.pre_tokenizers, self.spec.pattern
        if rules:
            found = pretokens(rules, text, head=head)
            return [each.replace(SPACE_MARK.encode(), b" ") for each in found] if self._marks_pretokens else found
        if pattern.name == "whitespace":
            texts = split_at_blanks(text)
        elif pattern.steps == AT_BLANKS:
            texts = split_text(Split(AT_BLANKS[0], "Isolated"), text)
        else:
            texts = list(pattern.split(text))
        return [each.encode("utf-8", "surrogateescape") for each in texts]


def token_places(matcher: Matcher, data: bytes) -> Iterator[tuple[int, int, int | None]]:
    """Yield the start and end of stretches of plain text, without an id, and of the tokens between them.

    Tokens have their options, by the rules of HF's `tokenizers`.  White space that a token takes may be that of the
    token after it too.
    """
    if not isinstance(matcher, OptionMatcher):
        yield from matcher.spans(data)
        return
    done = 0
    for start, end, token_id in matcher.matches(data):
        options = matcher.options.get(data[start:end], TokenOptions())
        if not matcher.is_there(data, start, end):
            continue
        if options.rstrip:
            end = _WHITE_SPACE_RUN.match(data, end).end()  # type: ignore[union-attr]
        if options.lstrip:  # what the token before has taken is not taken again, and may be the whole token
            start = start - _white_space_at_end(data[done:start]) if start > done else done
            if start >= end:
                continue
        if start > done:
            yield done, start, None
        yield start, end, token_id
        done = end
    if done < len(data):
        yield done, len(data), None


def _white_space_at_end(data: bytes) -> int:
    """Return the bytes of white space that a text ends with."""
    text = data.decode("utf-8", "surrogateescape")
    return len(text[len(text.rstrip(WHITE_SPACE)) :].encode())


def _unescaped(spec: TokenizerSpec) -> TokenizerSpec:
    """Let U+2581 stay in texts where the first rule makes its bytes of it, and the last one makes U+2581 of blanks.

    The model then spells it by bytes, as no token has it, and blanks are blanks.
    """
    first, last = ESCAPED_MARK, Replace(" ", False, SPACE_MARK)
    rules, is_float = spec.rules.normalizers, isinstance(spec.model, UnigramModel) and spec.model.is_float
    if not is_float or spec.characters is None or len(rules) < 2 or (rules[0], rules[-1]) != (first, last):
        return spec
    kept = tuple(Prepend(" ") if rule == Prepend(SPACE_MARK) else rule for rule in rules[1:-1])
    symbols = replace(spec.characters, marks_blanks=False)
    return replace(spec, rules=replace(spec.rules, normalizers=kept), characters=symbols)
