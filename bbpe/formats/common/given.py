"""The pattern, the special tokens and the name that are given for a file: by a caller, or by a known vocabulary.

A rank file and a `vocab.json` do not contain the split pattern.  Published vocabularies are recognised by the SHA-256
of their ordinary tokens as a rank file in order of ids.  Publishers write their files in this form, so the checksums
are those of `bbpe/published/table.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...errors import VocabularyError
from ...lazy import safe_import
from ...records import dataclass, replace
from ...splitting.patterns import PATTERNS, Pattern, get_pattern
from ...splitting.patterns import recognise as recognised
from ..transformers.folder import ClassFolder

_CHAT = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


@dataclass(frozen=True)
class Given:
    """The arguments of a caller for a file, each of which replaces what the file says, unless it is `None`.

    `folder` is that of the file, if other files in it were opened before; with `is_folder` it was given, not a file.
    """

    pattern: str | Sequence[str] | Pattern | None = None
    special_tokens: Mapping[str, int] | None = None
    name: str | None = None
    folder: ClassFolder | None = None
    is_folder: bool = False

    def folder_of(self, vocabulary: Path) -> ClassFolder:
        """Return the folder of a file, with the files in it that were opened before."""
        return self.folder or ClassFolder.of(vocabulary)

    def pattern_or(self, usual: Pattern) -> Pattern:
        """Return the pattern that is given, or that of the file."""
        return usual if self.pattern is None else get_pattern(self.pattern)

    def words_or(self, usual: Pattern) -> Pattern:
        """Return the pattern that is given, or the usual one; text that no regex matches is between words."""
        pattern = self.pattern_or(usual)
        return pattern if pattern.drops_gaps or not pattern.steps else recognised(pattern.steps, drops_gaps=True)

    def specials_or(self, usual: Mapping[str, int]) -> Mapping[str, int]:
        """Return the special tokens that are given, or those of the file."""
        return usual if self.special_tokens is None else self.special_tokens

    def or_known(self, text: Callable[[], bytes]) -> Given:
        """Return these arguments, completed by the known vocabulary whose rank file is `text()`."""
        if self.pattern is not None and self.special_tokens is not None and self.name is not None:
            return self
        known = recognise(text())
        return replace(
            self,
            pattern=known.pattern if self.pattern is None else self.pattern,
            special_tokens=known.special_tokens if self.special_tokens is None else self.special_tokens,
            name=known.name if self.name is None else self.name,
        )


# Several names share a file: the first name is used, and only the special tokens that all of them have.
_NAMES = {name: name for name in ("gpt2", "p50k_base", "cl100k_base", "o200k_base", "llama3", "llama4", "qwen")}
_NAMES |= {"whisper": "whisper", "qwen3.5": "qwen3_6"}
_SHARED = {
    "llama3": "<|begin_of_text|> <|end_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|>".split(),
    "whisper": ["<|endoftext|>", "<|startoftranscript|>"],
    "qwen": _CHAT,
    "qwen3.5": _CHAT,
}


def rank_text(vocab: Mapping[int, bytes]) -> bytes:
    r"""Return ordinary tokens as the text of a rank file: lines of base64, a blank and the id, by id.

    >>> rank_text({1: b"b", 0: b"a", 2: b""})
    b'YQ== 0\nYg== 1\n= 2\n'
    """
    safe_import("base64")
    from base64 import b64encode

    # an empty token is "=", as Whisper's files have it: readers split lines at blanks
    return b"".join(b"%s %d\n" % (b64encode(token) or b"=", token_id) for token_id, token in sorted(vocab.items()))


def recognise(text: bytes) -> Given:
    """Return what is known of the published vocabulary with this rank file: nothing if there is none."""
    # imported here, because a file that names its pattern is not looked up
    safe_import("hashlib")
    from hashlib import sha256

    safe_import("bbpe.published.table")
    from ...published.table import PUBLISHED

    digest = sha256(text).hexdigest()
    name = next((name for name in _NAMES if PUBLISHED[name].forms[0].files[0].sha256 == digest), None)
    row = None if name is None else PUBLISHED[name]
    if name is None or row is None or row.pattern is None or row.special_tokens is None:
        return Given()
    special = row.special_tokens
    return Given(row.pattern, {text: special[text] for text in _SHARED.get(name, special)}, _NAMES[name])


def needed_pattern(given: Given, kind: str) -> Pattern:
    """Return the given pattern; `VocabularyError` without one, because a guess could silently give wrong ids."""
    if given.pattern is None:
        names = ", ".join(_NAMES.values())
        raise VocabularyError(
            f"{kind} does not define how text is split, and this vocabulary is not a known one ({names}); "
            f"give pattern=, a regex or one of: {', '.join(PATTERNS)}"
        )
    return get_pattern(given.pattern)
