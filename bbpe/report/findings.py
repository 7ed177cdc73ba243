"""The subject of lint, a tokenizer with values that several checks need, and its findings as data, text and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from ..formats.common.ranks import LiveMerges, live_merges
from ..lazy import lazy_property, np, npt
from ..records import choice, dataclass, field, flag
from ..spec.models import WordPieceModel
from ..spec.spec import TokenizerSpec
from ..text import columns_of, counted, readable, shortened
from ..tokenizer import Tokenizer
from .tables import Table
from .terminal import line_columns, wrapped

#: "error": texts are lost or files contradict each other.  "warning": tokens are wasted, or results surprise.
#: "info": a fact to know.
Severity: TypeAlias = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True)
class Example:
    """A token that shows a finding: its id (None if it is no token), its bytes, and a remark."""

    id: int | None
    token: bytes
    note: str = ""

    def __str__(self) -> str:
        number = "" if self.id is None else f"{self.id} "
        return number + shortened(self.token, quoted=True) + (f" {self.note}" if self.note else "")


@dataclass(frozen=True)
class Finding:
    """One finding of `lint`.

    Attributes:
        check: The name of the check.
        severity: "error", "warning" or "info".
        count: The number of tokens, or of other things that the message counts.
        message: What was found.
        why: Why it matters.
        advice: What to do.
        examples: Some of the tokens.
        ids: The ids of all tokens that the finding is about; empty if it is not about tokens.
        details: More figures, by name.

    """

    check: str
    severity: Severity
    count: int
    message: str
    why: str
    advice: str
    examples: tuple[Example, ...] = ()
    ids: tuple[int, ...] = field(default=(), repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as data for JSON."""
        examples = [
            {"id": each.id, "text": readable(each.token), "bytes": each.token.hex(), "note": each.note}
            for each in self.examples
        ]
        return {
            "check": self.check, "severity": self.severity, "count": self.count, "message": self.message,
            "why": self.why, "advice": self.advice, "examples": examples, "ids": list(self.ids), **self.details,
        }  # fmt: skip


@dataclass(frozen=True)
class LintReport:
    """The findings of `bbpe.lint`, the most severe first; iteration and `len` work on the findings.

    `str` gives them as text, and a notebook shows them as a table.

    Attributes:
        name: The name of the tokenizer.
        tokens: The number of its tokens.
        findings: The findings.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> bbpe.lint(tok).count("error")
        0

    """

    name: str
    tokens: int
    findings: tuple[Finding, ...]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, check: str) -> Finding:
        """Return the finding of a check; `KeyError` when the check found nothing."""
        for finding in self.findings:
            if finding.check == check:
                return finding
        raise KeyError(check)

    def __contains__(self, check: object) -> bool:
        return any(finding.check == check for finding in self.findings)

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity; `ValueError` for what is none."""
        choice("severity", severity, SEVERITIES)
        return sum(finding.severity == severity for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
        findings = [finding.as_dict() for finding in self.findings]
        return {"name": self.name, "tokens": self.tokens, "findings": findings}

    def lines(self, *, examples: int = 4, details: bool = False) -> Iterator[str]:
        """Yield the lines of the report as text, as wide as the terminal or 100 columns at most.

        Without details a report fits a screen: errors and warnings have a line of examples and the advice, other
        findings only their message.

        Args:
            examples: The most examples of a finding.
            details: Whether each finding has its examples, why it matters, and what to do.

        Yields:
            The lines.

        """
        most, details = line_columns(), flag("details", details)
        plural = {"error", "warning"}
        found = {each: self.count(each) for each in SEVERITIES}
        counts = ", ".join(counted(n, each) if each in plural else f"{n:,} {each}" for each, n in found.items())
        yield from wrapped(f"{shortened(self.name, 80)}: {counted(self.tokens, 'token')}; {counts}", most, 9)
        for finding in self.findings:
            yield from wrapped(f"{finding.severity:<8} {finding.check}: {finding.message}", most, 9)
            if finding.severity == "info" and not details:
                continue
            shown = list(map(str, finding.examples[:examples]))
            while not details and len(shown) > 1 and columns_of(_such_as(shown)) > most:
                shown.pop()
            if shown:
                yield from wrapped(_such_as(shown), most, 9)
            why = f"{finding.why} " if details else ""
            yield from wrapped(f"         {why}{finding.advice}".rstrip(), most, 9)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        rows = tuple(
            (each.severity, each.check, each.message, ", ".join(map(str, each.examples[:4])), each.advice)
            for each in self.findings
        )
        return Table(("severity", "check", "found", "examples", "what to do"), rows, 5).html()


def _such_as(examples: list[str]) -> str:
    return f"         such as {', '.join(examples)}"


class Subject:
    """A tokenizer that is checked, with its ordinary tokens as arrays: `ids`, and in the same order `tokens`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.spec = tokenizer, tokenizer.spec
        named = {*self.spec.special_tokens.values(), *self.spec.added_tokens.values(), unknown_id(self.spec)}
        pairs = [(token_id, token) for token_id, token in self.spec.vocab.items() if token_id not in named]
        self.ids: npt.NDArray[np.int64] = np.array([token_id for token_id, _ in pairs], np.int64)
        self.tokens = [token for _, token in pairs]

    @lazy_property
    def texts(self) -> list[str | None]:
        """The text of each token, `None` where its bytes are not whole characters."""
        return [_decoded(token) for token in self.tokens]

    @lazy_property
    def spelled(self) -> list[bytes]:
        """The bytes that each token has in a text: without the marks of words that a vocabulary writes into it."""
        characters, model = self.spec.characters, self.spec.model
        prefix, suffix = b"", b""
        if isinstance(model, WordPieceModel):
            prefix = model.prefix.encode()
        if characters is not None:
            prefix, suffix = prefix or characters.prefix.encode(), characters.end_of_word.encode()
        return [token.removeprefix(prefix).removesuffix(suffix) or token for token in self.tokens]

    @lazy_property
    def live(self) -> LiveMerges | None:
        """The merges that can apply; `None` for models other than BPE of bytes."""
        return live_merges(self.spec) if self.spec.model is None and self.spec.characters is None else None

    @lazy_property
    def unmade(self) -> frozenset[int]:
        """The ids of the tokens that no merge makes."""
        return frozenset(() if self.live is None else self.live.unmade)

    def examples(self, numbers: Iterable[int], *, most: int = 12) -> tuple[Example, ...]:
        """Return tokens by their places in `tokens` as examples."""
        found: list[Example] = []
        for number in numbers:
            if len(found) == most:
                break
            found.append(Example(int(self.ids[number]), self.tokens[number]))
        return tuple(found)

    def ids_of(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """Return the ids of tokens by their places in `tokens`."""
        return tuple(int(self.ids[number]) for number in numbers)


def unknown_id(spec: TokenizerSpec) -> int | None:
    """Return the id of the unknown token; `None` if there is none."""
    if spec.characters is not None:
        return spec.characters.unknown
    return getattr(spec.model, "unknown", None)


def _decoded(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
