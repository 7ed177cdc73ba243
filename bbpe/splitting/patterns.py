"""Split patterns: the named patterns, and any regex.

A pattern splits a text into pretokens, and no merge crosses the border of a pretoken.  It is a chain of regexes in the
syntax of the `regex` package.  Each regex splits every piece that the regex before it left into matches and the text
between matches.  So no text is lost, unless the pattern drops the text between matches.  A vocabulary must be used with
the pattern that it was trained with.

Sources of the regexes: tiktoken (`tiktoken_ext/openai_public.py`), the model authors' tokenizer files,
and llama.cpp's list of pre-tokenizers (`src/llama-vocab.cpp`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from ..core.split import UNICODE_VERSION
from ..errors import PatternError
from ..lazy import lazy_property, lazy_re, safe_import
from ..records import dataclass, did_you_mean, replace
from .pattern_limits import check_size
from .regexes import Regex, TimeLimit, compiled
from .scheme import SCHEMES, Scheme

_LEAD = r"'(?:[sdmt]|ll|ve|re)"
_FOLD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT2 = rf"{_LEAD}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"


def _cl100k(number: str, tail: str = _TAIL) -> str:
    return rf"{_FOLD}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{number}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{tail}"


def _o200k(suffix: str, number: str, rest_tail: str, but: str = "") -> str:
    upper, lower = f"[{_UPPER}{but}]", f"[{_LOWER}{but}]"
    prefix = r"[^\r\n\p{L}\p{N}]?"
    return (
        rf"{prefix}{upper}*{lower}+{suffix}|{prefix}{upper}+{lower}*{suffix}|{number}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+{rest_tail}|{_TAIL}"
    )


#: What is a name and no regex.
_NAME = lazy_re(r"[A-Za-z][\w.\-]*")


@dataclass(frozen=True)
class Pattern:
    """A rule that splits text into pretokens.

    `name` is the canonical name, `None` for a regex from the user.  `steps` is the chain of regexes.  With
    `drops_gaps`, text that no regex matches is dropped, not kept.  `open_tail` is how many pretokens at the end of a
    text can change when text is appended (`None`: no bound is known).
    """

    name: str | None
    steps: tuple[str, ...]
    drops_gaps: bool = False
    open_tail: int | None = None

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        text = "\n".join(self.steps)
        return f"(?:{text})" if _NAME.fullmatch(text) else text

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_compiled", "scheme")}

    @lazy_property
    def scheme(self) -> Scheme | None:
        """The scheme by which the compiled splitter splits; `None` if the `regex` package does."""
        if self.name is not None and PATTERNS.get(self.name) == self:
            return SCHEMES.get(self.name)
        # imported here, because its tables take longer to make than a known pattern to look up
        safe_import("bbpe.splitting.recogniser")
        from .recogniser import recognise_scheme

        return _INTERNAL_SCHEMES.get(self) or recognise_scheme(self.steps, self.drops_gaps)

    @property
    def unicode_version(self) -> str:
        """The version of Unicode that classifies characters, whatever version the `regex` package has.

        >>> PATTERNS["gpt2"].unicode_version
        '16.0.0'
        """
        return UNICODE_VERSION

    @lazy_property
    def _compiled(self) -> tuple[Regex, ...]:
        return tuple(map(compiled, self.steps))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each pretoken, in characters.

        Raises `PatternError` when a regex takes too long or its matches overlap.
        """
        spans: Iterator[tuple[int, int]] = iter(((0, len(text)),) if text else ())
        limit = TimeLimit(len(text))
        for step in self._compiled:
            spans = self._cut(step, text, spans, limit)
        return spans

    def split(self, text: str) -> Iterator[str]:
        """Yield the pretokens of a text."""
        return (text[start:end] for start, end in self.spans(text))

    def _cut(
        self, step: Regex, text: str, spans: Iterator[tuple[int, int]], limit: TimeLimit
    ) -> Iterator[tuple[int, int]]:
        for start, end in spans:
            # a copy, not `pos` and `endpos`: a later step must not see text outside its piece
            whole = start == 0 and end == len(text)
            done = start
            for first, last in step.find(text if whole else text[start:end], limit):
                first, last = start + first, start + last
                if not done <= first <= last:
                    step.refuse(first, last, done)
                if first > done and not self.drops_gaps:
                    yield done, first
                if last > first:
                    yield first, last
                done = last
            if done < end and not self.drops_gaps:
                yield done, end


def _row(name: str, *steps: str, tail: int = 2, drops_gaps: bool = False) -> Pattern:
    return Pattern(name, steps, drops_gaps, tail)


#: Every named pattern, by its canonical name.
PATTERNS: dict[str, Pattern] = {
    row.name: row
    for row in (
        _row("gpt2", _GPT2),
        _row("cl100k", _cl100k(r"\p{N}{1,3}", r"\s++$|\s*[\r\n]|\s+(?!\S)|\s")),
        _row("cl100k_older", _cl100k(r"\p{N}{1,3}", r"\s*[\r\n]|\s+(?!\S)|\s+")),
        _row("llama3", _cl100k(r"\p{N}{1,3}")),
        _row("qwen2", _cl100k(r"\p{N}")),
        _row(
            "qwen3_5",
            rf"{_FOLD}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_TAIL}",
        ),
        _row("o200k", _o200k(_FOLD + "?", r"\p{N}{1,3}", r"[\r\n/]*")),
        _row("tekken", _o200k("", r"\p{N}", r"[\r\n/]*")),
        _row("kimi", r"[\p{Han}]+|" + _o200k(_FOLD + "?", r"\p{N}{1,3}", r"[\r\n]*", r"&&[^\p{Han}]")),
        _row(
            "deepseek_v3",
            r"\p{N}{1,3}",
            "[一-龥\u3040-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_TAIL}",
        ),
        _row("starcoder", r"\p{N}", _GPT2),
        _row("nanochat", _cl100k(r"\p{N}{1,2}", r"\s*[\r\n]|\s+(?!\S)|\s+")),
        _row("falcon", r"[\p{P}$+<=>^~|`]+", _GPT2, "[0-9][0-9][0-9]"),
        _row("bloom", r" ?[^(\s|.,!?…。，、।۔،)]+"),
        _row(
            "clip",
            r"(?i)<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
            drops_gaps=True,
            tail=3,
        ),
        _row("whitespace", r"\S+", drops_gaps=True, tail=1),
        _row("subword_nmt", r"[^ \r\n]+", drops_gaps=True, tail=1),
        _row("none", tail=1),
    )
    if row.name is not None
}

#: Other names of the same patterns.
ALIASES: dict[str, str] = {
    alias: name
    for name, aliases in {
        "gpt2": "gpt-2 r50k p50k r50k_base p50k_base p50k_edit",
        "cl100k": "cl100k_base gpt4 gpt-4",
        "cl100k_older": "minbpe rustbpe",
        "llama3": "llama-3 dolma2 olmo2 olmo3 glm4 dbrx",
        "qwen2": "qwen qwen2.5 qwen3",
        "qwen3_5": "qwen3.5 qwen3_6 qwen3.6",
        "o200k": "o200k_base o200k_harmony llama4 gpt4o gpt-4o",
        "tekken": "nemotron3",
        "kimi": "kimi_k2",
        "deepseek_v3": "deepseek-v3 deepseek_r1 deepseek-r1",
        "starcoder": "smollm command-r refact",
    }.items()
    for alias in aliases.split()
}

# Patterns whose pretokens can be normalized separately (`Scheme.words`); a blank is in front of its word.
_SPACE, _MARKS, _IDEOGRAPHS, _ENDS = r"\t\n\r ", r"!-/:-@\[-`{-~", r"\u5000-\u9fff", r"\u3000-\u3003\u3008-\u3011"
_BETWEEN = rf"[{_SPACE}]?[^{_SPACE}{_MARKS}{_IDEOGRAPHS}{_ENDS}]"
SPACE_PARTS = Pattern(None, (rf"[{_SPACE}]?[^{_SPACE}]+|[{_SPACE}]",), open_tail=1)
WORD_PARTS = Pattern(None, (r"[\n\r ]?[^\n\r ]+|[\n\r ]",), open_tail=1)
BERT_PARTS = Pattern(
    None, (rf" ?[{_MARKS}{_IDEOGRAPHS}]|{_BETWEEN}*[{_ENDS}]|{_BETWEEN}+|[{_SPACE}]",), open_tail=1
)
# Blanks and line feeds with the text up to the next ones; the training of Unigram models splits these further.
RUN_PARTS = Pattern(None, (r"[ \n]*[^ \n]+|[ \n]+",), open_tail=1)
# A blank with the text up to the next blank: words that begin with a mark.
BLANK_PARTS = Pattern(None, (r" ?[^ ]+| ",), open_tail=1)


def _joins(firsts: set[int], seconds: bytes) -> bytes:
    """Return `Scheme.joins` with all pairs of bytes except those of a first byte and a second byte given here."""
    bits = bytearray(b"\xff" * 8192)
    for first in firsts:
        for second in seconds:
            bits[(first << 8 | second) >> 3] &= ~(1 << (second & 7))
    return bytes(bits)


_INTERNAL_SCHEMES = {
    SPACE_PARTS: Scheme(words="space"),
    WORD_PARTS: Scheme(words="blank"),
    BERT_PARTS: Scheme(words="bert_apart"),
    RUN_PARTS: Scheme(joins=_joins(set(range(256)) - set(b" \n"), b" \n")),
    BLANK_PARTS: Scheme(joins=_joins(set(range(256)), b" ")),
}


def with_line_ends(step: str) -> str:
    """Return a regex of a named pattern with line ends in place of escapes, as DeepSeek's file has them."""
    return step.replace(r"\r", "\r").replace(r"\n", "\n")


_BY_STEPS = {(tuple(map(with_line_ends, row.steps)), row.drops_gaps): row for row in PATTERNS.values()}
_BY_STEPS |= {(row.steps, row.drops_gaps): row for row in PATTERNS.values()}


@cache
def _by_scheme() -> dict[Scheme | None, Pattern]:
    # cl100k_older and llama3 have equal schemes; the later row wins, because more models use llama3
    return {row.scheme: row for row in PATTERNS.values() if row.scheme is not None}


def recognise(steps: Sequence[str], *, drops_gaps: bool = False) -> Pattern:
    r"""Return the named pattern that is equivalent to a chain of regexes, or the chain itself as a pattern.

    `drops_gaps`: text that no regex matches is dropped.

    Raises `PatternError` when a regex does not compile.

    >>> recognise([r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"]).name
    'gpt2'
    """
    pattern = Pattern(None, tuple(steps), drops_gaps)
    named = _BY_STEPS.get((pattern.steps, drops_gaps))
    if named is not None:
        return named
    check_size(steps)
    named = _by_scheme().get(pattern.scheme)
    if named is not None:
        return named
    for step in steps:
        compiled(step)
    return pattern if pattern.scheme is None else replace(pattern, open_tail=_open_tail(pattern.scheme))


def _open_tail(scheme: Scheme) -> int:
    # appending "l" to the pretokens "a", "'", "l" makes one pretoken of all three, unless "'l" was one
    return 3 if scheme.contraction == "suffix_fold" and scheme.prefix != "any" and not scheme.ascii_word else 2


def get_pattern(pattern: str | Sequence[str] | Pattern) -> Pattern:
    """Return the pattern of a name, a regex, or a chain of regexes.

    A string of letters, digits, `_`, `-` and `.` that starts with a letter is a name and must be known;
    any other string is a regex in the syntax of the `regex` package.  A chain has regexes only.

    Raises `PatternError` on an unknown name, a name in a chain or a regex that does not compile, `TypeError` on any
    other type.

    >>> get_pattern("r50k_base").name
    'gpt2'
    >>> list(get_pattern(r"[a-z]+").split("ab,cd"))
    ['ab', ',', 'cd']
    """
    if isinstance(pattern, Pattern):
        return pattern
    if isinstance(pattern, str):
        name = ALIASES.get(pattern, pattern)
        if name in PATTERNS:
            return PATTERNS[name]
        if _NAME.fullmatch(pattern):
            hint = did_you_mean(pattern, [*PATTERNS, *ALIASES])
            known = ", ".join(PATTERNS)
            raise PatternError(f"unknown pattern name {pattern!r}{hint}; expected a regex or one of {known}")
        if not pattern:
            raise PatternError("the pattern is empty; expected a name or a regex, or 'none', which keeps a text whole")
        return recognise((pattern,))
    steps = tuple(pattern) if isinstance(pattern, Sequence) else None
    if not steps or not all(isinstance(step, str) for step in steps):
        raise TypeError(f"pattern must be a name, a regex or a non-empty sequence of regexes, not {pattern!r}")
    for number, step in enumerate(steps):
        if not step:
            raise PatternError(f"pattern[{number}] is empty; expected a regex")
        if step in PATTERNS or step in ALIASES:
            raise PatternError(
                f"pattern[{number}] is {step!r}, which is the name of a pattern; a sequence has regexes only; for the "
                f"name give pattern={step!r} alone, and for the text itself write '(?:...)' around it"
            )
    return recognise(steps)
