"""Encode texts by rules: normalizers, tokens with options, prefixes, pre-tokenizers, vocabularies of characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, TypeAlias

from ..core.piped import Pipeline
from ..core.pre_tokenizer import PreTokenizer as CompiledPreTokenizer
from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..lazy import lazy_re, np, npt, safe_import
from ..pipeline.compiled_normalizers import compiled_normalizer
from ..pipeline.normalizers import normalizer
from ..pipeline.pre_tokenizers import prefixed, pretokens, split_at_blanks
from ..pipeline.special_tokens import NOTHING, Matcher, OptionMatcher
from ..spec.rules import AT_BLANKS, SPACE_MARK, Lowercase, Metaspace, Prepend, Replace, UnicodeForm
from ..spec.spec import TextRules, TokenizerSpec
from ..splitting.patterns import PATTERNS
from ..splitting.splitter import compiled_steps
from ..text import Text, text_bytes, well_formed
from ..threads import imap
from .batches import THREAD_WORTH
from .engine import TextEncoder
from .piped import NOTHING_AROUND, Around

if TYPE_CHECKING:
    from ..core.column import Texts
    from ..types import Ragged

Ids: TypeAlias = "npt.NDArray[np.uint32]"
_MARK_BYTES = SPACE_MARK.encode()
_INVALID_BYTES = lazy_re("[\udc80-\udcff]")  # surrogates that stand for bytes that are not UTF-8


class RuleEncoder(TextEncoder):
    """Encodes texts by the rules of a spec."""

    has_rules = True

    def __init__(self, engine: TextEncoder, spec: TokenizerSpec) -> None:
        self.splitter, self.encoder, self.short, self.piped = engine.splitter, engine.encoder, None, None
        self.aligned = engine.aligned
        self._engine, self.rules, self._characters = engine, spec.rules, spec.characters
        marks = spec.characters is not None and spec.characters.marks_blanks
        self.marks_blanks = marks
        self._marks_pretokens = marks and bool(spec.rules.pre_tokenizers)
        #: Normalizes a text, as tokens with the option `normalized` are looked for in it; `None` changes nothing.
        self.normalize = normalizer(spec.rules.normalizers)
        self._unmarks = marks and not self._marks_pretokens
        # tokens that are not verbatim are looked for where U+2581 is not yet a blank
        self._normalizes_tokens = any(row.normalized and not row.verbatim for row in spec.token_options.values())
        self._normalize_all = normalizer(spec.rules.normalizers, marks_blanks=self._unmarks)
        self._shrink_factor = _shrink_factor(spec)
        symbols = spec.characters
        self._finds_head = _needs_head(spec.rules)
        self._has_words = symbols is not None and symbols.marks_words
        is_of_bytes = symbols is not None and symbols.are_bytes and not symbols.marks_words
        has_bytes = symbols is None or bool(symbols.byte_ids) or is_of_bytes
        has_symbols = isinstance(engine.encoder.model, WordBPE)
        #: Whether texts are split before the engine gets them.
        self._is_split = bool(spec.rules.pre_tokenizers) or self._has_words
        self._replaces_invalid = (has_symbols and not is_of_bytes) or isinstance(engine.encoder.model, WordPiece)
        is_whole = not (spec.rules.prefix or spec.rules.pre_tokenizers or self._has_words)
        self._only_normalizes = is_whole and (has_bytes or has_symbols or spec.model is not None)
        self._errors = "surrogateescape" if has_bytes or self._has_words else "replace"

    def pipeline(self) -> Pipeline | None:
        """Return the rules as a compiled pipeline; `None` when some need Python."""
        rules = self.rules.normalizers
        unmarks_first = self._unmarks and not self._normalizes_tokens
        normalize = compiled_normalizer(rules, marks_blanks=unmarks_first)
        split, leaves_blanks = self._compiled_split()
        prefix = self.rules.prefix
        return Pipeline(
            prefix=b"" if prefix is None else prefix.text.encode(),
            prefix_first=prefix is not None and prefix.first,
            finds_head=self._finds_head,
            unmarks=self._unmarks and not unmarks_first,
            unmarks_pretokens=self._marks_pretokens and not leaves_blanks,
            replaces_invalid=self._replaces_invalid or self._errors == "replace",
            normalizer=normalize if rules or unmarks_first else None,
            pre_tokenizer=split,
        )

    def _compiled_split(self) -> tuple[CompiledPreTokenizer | None, bool]:
        """Return what splits texts before the engine, compiled, and whether it leaves blanks in place of U+2581.

        It is `None` when nothing splits them, or a rule needs Python.
        """
        if self.rules.pre_tokenizers:
            safe_import("bbpe.pipeline.pre_tokenizer_steps")
            from ..pipeline.pre_tokenizer_steps import compiled_rules

            compiled = compiled_rules(self.rules.pre_tokenizers, unmarks=self._marks_pretokens)
            return compiled.steps, compiled.unmarks
        if self.splitter.pattern.steps == AT_BLANKS and self.splitter.compiled is None:
            return CompiledPreTokenizer([("blanks",)]), False
        is_needed = self._is_split or self.splitter.compiled is None
        return compiled_steps(self.splitter.pattern) if is_needed else None, False

    def to_list(self, text: Text, matcher: Matcher | None = None, around: Around = NOTHING_AROUND) -> list[int]:
        """Return the ids of a text, between those `around` it, as a list."""
        if self.piped is not None:
            return self.piped.to_list(text, matcher, around)
        if matcher is None and around == NOTHING_AROUND:
            normalized = self._normalized(text)
            if normalized is not None:
                return self._engine.to_list(normalized)
        is_short = not hasattr(text, "__len__") or len(text) < THREAD_WORTH
        ids: list[int] = self.to_array(text, matcher, 1 if is_short else None, around).tolist()
        return ids

    def to_array(
        self, text: Text, matcher: Matcher | None = None, threads: int | None = None, around: Around = NOTHING_AROUND
    ) -> Ids:
        """Return the ids of a text, between those `around` it, as uint32[n]."""
        if self.piped is not None:
            return self.piped.to_array(text, matcher, threads, around)
        ids = self._plain_array(text, matcher, threads)
        return ids if around == NOTHING_AROUND else _joined([_ids(around[0]), ids, _ids(around[1])])

    def _plain_array(self, text: Text, matcher: Matcher | None, threads: int | None) -> Ids:
        if matcher is None:
            normalized = self._normalized(text)
            if normalized is not None:
                return self._engine.to_array(normalized, threads=threads)
        if matcher is None and isinstance(text, str):
            return _joined(self._piece(_without_surrogates(text), None, threads, 1))
        parts: list[Ids] = []
        data = text_bytes(text)
        matcher = matcher or NOTHING
        matcher.check(data)
        for start, end, token_id in matcher.spans(data):
            if token_id is None:
                parts += self._piece(self.decoded(data[start:end]), matcher.after, threads, int(start == 0))
            else:
                parts.append(np.array([token_id], np.uint32))
        return _joined(parts)

    def count(self, text: Text, matcher: Matcher | None = None, threads: int | None = None) -> int:
        """Return the number of ids of a text."""
        if self.piped is not None:
            return self.piped.count(text, matcher, threads)
        return len(self.to_array(text, matcher, threads))

    def count_up_to(self, text: Text, limit: int, matcher: Matcher | None = None) -> int:
        """Return the number of ids of a text, or any number above `limit` if its length proves that there are more."""
        if self._exceeds(text, limit, matcher):
            return limit + 1
        return self.count(text, matcher) if self.piped is None else self.piped.count_up_to(text, matcher, limit)

    def _exceeds(self, text: Text, limit: int, matcher: Matcher | None) -> bool:
        if self._shrink_factor is None or isinstance(matcher, OptionMatcher) or not isinstance(text, str):
            return False
        return super()._exceeds(text, limit * self._shrink_factor, matcher)

    def counts(
        self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Return the number of ids of each text, int64[n]."""
        if self.piped is not None:
            return self.piped.counts(texts, matcher, threads)
        return np.fromiter(map(len, self._each(texts, matcher, threads)), np.int64, len(texts))

    def with_dropout(self, dropout: float, seed: int) -> TextEncoder:
        """Return an encoder that skips merges at random."""
        other = copy(self)
        other.piped = None
        other._engine = self._engine.with_dropout(dropout, seed)
        return other

    def lists(
        self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None
    ) -> list[list[int]]:
        """Return the ids of each text as a list."""
        if self.piped is not None:
            return self.piped.lists(texts, matcher, threads)
        normalized = self._all_normalized(texts, matcher)
        if normalized is not None:
            return self._engine.lists(normalized, None, threads)
        return [ids.tolist() for ids in self._each(texts, matcher, threads)]

    def rows(
        self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None
    ) -> Ragged:
        """Return the ids of each text in one array."""
        if self.piped is not None:
            return self.piped.rows(texts, matcher, threads)
        normalized = self._all_normalized(texts, matcher)
        if normalized is not None:
            return self._engine.rows(normalized, None, threads)
        safe_import("bbpe.types")
        from ..types import Ragged

        return Ragged.from_rows(self._each(texts, matcher, threads))

    def stream(self, chunks: Iterable[Text], matcher: Matcher | None = None) -> Iterator[int]:
        """Yield the ids of the joined chunks, which are collected first because a rule may change any of them."""
        listed = list(chunks)
        texts = [text for text in listed if isinstance(text, str)]
        if len(texts) == len(listed):
            yield from self.to_list("".join(texts), matcher)
        else:
            yield from self.to_list(b"".join(bytes(text_bytes(text)) for text in listed), matcher)

    def _each(self, texts: Texts, matcher: Matcher | None, threads: int | None) -> Iterator[Ids]:
        if threads is None and sum(len(text) for text in texts if hasattr(text, "__len__")) < THREAD_WORTH:
            threads = 1
        return imap(lambda text: self.to_array(text, matcher, 1), texts, threads)

    def _normalized(self, text: Text) -> Text | None:
        """Return the normalized text if that is all that the engine needs, otherwise `None`."""
        if not (self._only_normalizes and isinstance(text, str)):
            return None
        text = _without_surrogates(text)
        return text if self._normalize_all is None else self._normalize_all(text)

    def _all_normalized(self, texts: Texts, matcher: Matcher | None) -> list[Text] | None:
        if matcher is not None or not self._only_normalizes:
            return None
        normalized = [text for text in map(self._normalized, texts) if text is not None]
        return normalized if len(normalized) == len(texts) else None

    def decoded(self, data: bytes | memoryview) -> str:
        """Decode UTF-8; bytes that are not UTF-8 become surrogates if the vocabulary has byte tokens, else U+FFFD."""
        text = str(data, "utf-8", self._errors)
        return _INVALID_BYTES.sub("\ufffd", text) if self._replaces_invalid and not text.isascii() else text

    def _piece(self, text: str, after: Matcher | None, threads: int | None, head: int) -> list[Ids]:
        """Return the ids of a piece between tokens that were found in the original text."""
        return [
            self.encode_normalized(part, threads, its_head) if token_id is None else np.array([token_id], np.uint32)
            for part, token_id, its_head in self.normalized_parts(text, after, head)
        ]

    def normalized_parts(
        self, text: str, after: Matcher | None, head: int
    ) -> Iterator[tuple[str, int | None, int]]:
        """Yield the parts of a piece when normalized, the id if one is a token, and its head (see `pretokens`)."""
        is_marked = after is not None and self._normalizes_tokens
        normalize = self.normalize if is_marked else self._normalize_all
        if head > 0 and self._finds_head:
            safe_import("bbpe.pipeline.alignment")
            from ..pipeline.alignment import align

            head = align(self.rules.normalizers, text).head
        if normalize is not None:
            text = normalize(text)
        if after is None:
            yield text, None, head
            return
        data = text.encode("utf-8", "surrogateescape")
        for start, end, token_id in after.spans(data):
            part = self.decoded(data[start:end])
            if token_id is None and self._unmarks and is_marked:
                part = part.replace(SPACE_MARK, " ")
            yield part, token_id, max(head - len(self.decoded(data[:start])), 0) if head > 0 else 0

    def encode_normalized(self, text: str, threads: int | None, head: int) -> Ids:
        """Return the ids of a piece of normalized text without special tokens."""
        text = prefixed(self.rules.prefix, text, head)
        if self._has_words:
            return self._encode_each(self._split(text, head))
        if not self.rules.pre_tokenizers:
            return self._engine.to_array(_encodable(text), threads=threads)
        return self._encode_each(self._split(text, head))

    def _split(self, text: str, head: int) -> list[bytes]:
        """Return the pretokens of a piece of normalized text that has its prefix."""
        if not self.rules.pre_tokenizers:
            pattern = self.splitter.pattern
            found_in = split_at_blanks(text) if pattern == PATTERNS["whitespace"] else pattern.split(text)
            return [pretoken.encode("utf-8", "surrogateescape") for pretoken in found_in]
        found = pretokens(self.rules.pre_tokenizers, text, head=head)
        return [pretoken.replace(_MARK_BYTES, b" ") for pretoken in found] if self._marks_pretokens else found

    def _encode_each(self, found: Sequence[bytes]) -> Ids:
        """Return the ids of pretokens."""
        ends = np.cumsum([len(pretoken) for pretoken in found], dtype=np.int64)
        return self._engine.encode_pretokens(b"".join(found), ends)

    def pretokens(self, text: Text) -> list[bytes]:
        """Return the pretokens of a text without special tokens, in the form that the model encodes."""
        original = self.decoded(bytes(text_bytes(text)))
        normalized = original if self._normalize_all is None else self._normalize_all(original)
        return self._split(prefixed(self.rules.prefix, normalized, 1), 1)


class FusingEncoder(RuleEncoder):
    """Encodes words of which unknown ones in a row become one id."""

    def __init__(self, engine: TextEncoder, spec: TokenizerSpec, unknown: int) -> None:
        super().__init__(engine, spec)
        self._unknown_id, self._only_normalizes = unknown, False

    def pipeline(self) -> Pipeline | None:
        """Return `None`: words are fused in Python."""
        return None

    def encode_normalized(self, text: str, threads: int | None, head: int) -> Ids:
        """Return the ids of a piece of normalized text without special tokens."""
        ids = super().encode_normalized(text, threads, head)
        is_unknown = ids == self._unknown_id
        return ids[~(is_unknown & np.concatenate([[False], is_unknown[:-1]]))] if len(ids) else ids


def _shrink_factor(spec: TokenizerSpec) -> int | None:
    """Return the most characters of a text that the rules can turn into one; `None` if there is no limit."""
    has_unknown = spec.characters is not None and not spec.characters.byte_ids
    if has_unknown or spec.rules.pre_tokenizers:
        return None
    factor = 1
    for rule in spec.rules.normalizers:
        match rule:
            case UnicodeForm():  # a composed character comes from at most four characters
                factor *= 4
            case Lowercase() | Prepend():
                pass
            case Replace(pattern, False, content) if len(content) >= len(pattern):
                pass
            case _:
                return None
    return factor


def _without_surrogates(text: str) -> str:
    """Return a text without surrogates, because within rules a surrogate stands for a byte that is not UTF-8."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return well_formed(text)
    return text


def _encodable(text: str) -> str | bytes:
    """Return a text for the engine: as bytes if it has surrogates that stand for bytes, which a str would lose."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")
    return text


def _ids(ids: tuple[int, ...]) -> Ids:
    return np.array(ids, np.uint32)


def _joined(parts: Iterable[Ids]) -> Ids:
    listed = list(parts)
    return listed[0] if len(listed) == 1 else np.concatenate([np.empty(0, np.uint32), *listed])


def _needs_head(rules: TextRules) -> bool:
    """Return whether a rule asks for the head, and it may not be the first character of the normalized text alone."""
    chain = rules.pre_tokenizers
    asks = rules.prefix is not None and rules.prefix.first
    asks = asks or any(isinstance(rule, Metaspace) and rule.prepend_scheme == "first" for rule in chain)
    return asks and not all(
        isinstance(rule, Replace) and not rule.is_regex and len(rule.pattern) == len(rule.content) == 1
        for rule in rules.normalizers
    )
