"""The values below `tokenizer.ggml.` in a GGUF file; each is checked when it is taken.

llama.cpp changes the types of some tokens by their texts.  A token that ends a text or a turn, or surrounds code to be
completed, is a control token: a plain text never gives its id.  A few tokens are ordinary text instead.  The lists are
those of the version `JUDGE`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NoReturn, TypeVar

from ...errors import VocabularyError
from ...files import StrPath
from ...lazy import lazy_re
from ...spec.rules import Template
from ..common.key_tables import MergeKeys
from ..sentencepiece.piece_rows import CONTROL, NORMAL, USER_DEFINED
from .metadata import read_metadata

PREFIX = "tokenizer.ggml."
# values that llama.cpp looks at too
_ABOUT = ("general.name", "general.architecture")
_T = TypeVar("_T")

# values that do not affect the ids of a text
_NOT_TEXT = lazy_re(r"(?:\w+_token_ids?|add_(?:bos|eos|sep)_token|scores|token_type_count|suppress_tokens)\Z")
# values that are accepted only if they are false, because they would change ids
_OFF = ("add_space_prefix", "remove_extra_whitespaces")
#: The version of llama.cpp whose rules this folder follows.
JUDGE = "v0.5.0"
#: Texts that end a turn or a text.
_ENDS = frozenset(
    "<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> <|calls|> <end_of_turn> <|endoftext|> </s> <|eom_id|> "
    "<EOT> _<EOT> [EOT] [EOS] <|end_of_text|> <end_of_utterance> <eos> <turn|> <|tool_response> "
    "<｜end▁of▁sentence｜> [e~[".split()
)
# texts by their use around code, unless a value of the file names the token of this use
_AROUND_CODE = {
    "fim_pre prefix":
        "<|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|> <|prefix|>",
    "fim_suf suffix":
        "<|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|> <|suffix|>",
    "fim_mid middle":
        "<|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|> <|middle|>",
    "fim_pad": "<|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD]",
    "fim_rep": "<|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>",
    "fim_sep": "<|file_sep|>",
}  # fmt: skip
#: Texts that are ordinary text of a conversation.
_SHOWN = frozenset("<|channel|> <|message|> <|start|> <|constrain|>".split())


def _shown(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def read_fields(path: StrPath) -> GGUFFields:
    """Return the values of a file."""
    values = read_metadata(path, lambda key: key.startswith(PREFIX) or key in _ABOUT)
    about = {key: values.pop(key) for key in _ABOUT if key in values}
    return GGUFFields({key.removeprefix(PREFIX): value for key, value in values.items()}, path, about)


class GGUFFields:
    """The values below `tokenizer.ggml.`, taken one by one so that no value is overlooked."""

    def __init__(self, values: dict[str, Any], path: StrPath, about: dict[str, Any]) -> None:
        self._left, self.path = values, path
        #: The names of the model, of its architecture and of its pre-tokenizer.
        self.about = [_shown(value) for value in (*(about.get(key) for key in _ABOUT), values.get("pre"))]
        tokens = values.get("tokens")
        #: The number of tokens.
        self.count = len(tokens) if isinstance(tokens, list) else 0

    def model(self) -> str:
        """Return the name of the model type."""
        if not self._left:
            raise VocabularyError(f"found no vocabulary; expected values below {PREFIX}", path=self.path)
        return self.text("model")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        value = self._left.pop(key, default)
        if isinstance(value, str):
            return value
        if not isinstance(value, bytes):
            self.refuse("expected a string" if value is not None else "the value is missing; expected a string", key)
        return self._decoded(value, key)

    def texts(self, key: str) -> list[str]:
        """Return a list of strings."""
        values = self._list(key, bytes, "strings")
        try:
            return [value.decode("utf-8") for value in values]
        except UnicodeDecodeError:
            return [self._decoded(value, f"{key}[{number}]") for number, value in enumerate(values)]

    def kinds(self) -> list[int]:
        """Return the types of the tokens."""
        return self._list("token_type", int, "numbers")

    def counted_kinds(self) -> list[int]:
        """Return the types of the tokens, one for each."""
        kinds = self.kinds()
        if len(kinds) != self.count:
            self.refuse(f"found {len(kinds)} types of tokens; expected {self.count}, one for each token", "token_type")
        return kinds

    def sort(self, texts: Sequence[str], kinds: Sequence[int], found: dict[int, dict[str, int]], expected: str) -> None:
        """Put each token and its id into the dict of its type; refuse other types and repeated tokens."""
        seen: dict[str, int] = {}
        for token_id, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
            if kind not in found:
                self.refuse(f"token {text!r} has type {kind}; expected {expected}", f"token_type[{token_id}]")
            if seen.setdefault(text, token_id) != token_id:
                self.refuse_repeated(text, seen[text], token_id)
            found[kind][text] = token_id

    def refuse_repeated(self, text: str, first: int, token_id: int) -> NoReturn:
        """Raise a `VocabularyError` about a token that has an id."""
        self.refuse(f"token {text!r} already has id {first}; expected each token once", f"tokens[{token_id}]")

    def token_id(self, kind: str, count: int) -> int | None:
        """Return the id of a token that is named by its use, `None` if there is none."""
        value = self._left.pop(f"{kind}_token_id", None)
        if value is not None and (type(value) is not int or not 0 <= value < count):
            self.refuse(f"found {value!r}; expected an id, 0 to {count - 1}", f"{kind}_token_id")
        return value

    def _has_id(self, use: str, count: int) -> bool:
        """Return whether the file names a token by its use, without taking the value."""
        value = self._left.get(f"{use}_token_id")
        return type(value) is int and 0 <= value < count

    def retyped(self, texts: Sequence[str], kinds: Sequence[int]) -> tuple[list[int], frozenset[int]]:
        """Return the types of tokens as llama.cpp has them, and the ids of ordinary tokens that are control tokens too.

        llama.cpp decides by the text of a token, whatever the file says.  Of several tokens with one use around code it
        changes one, which depends on its hash table; here all change.
        """
        control = set(_ENDS)
        for uses, names in _AROUND_CODE.items():
            if not any(self._has_id(use, len(texts)) for use in uses.split()):
                control.update(names.split())
        found = (control | _SHOWN).intersection(texts)
        calls, returns, flushes = bool(found & {"<|call|>", "<|calls|>"}), "<|return|>" in found, "<|flush|>" in found
        shown = _SHOWN | {"<|end|>"} if calls and (returns or flushes) else _SHOWN
        result, both = list(kinds), set()
        for text in found:
            token_id = texts.index(text)
            if text in shown:
                result[token_id] = USER_DEFINED
            elif text == "</s>" and "<|tool_response>" in found:
                result[token_id] = NORMAL
            elif kinds[token_id] == NORMAL:
                both.add(token_id)
            else:
                result[token_id] = CONTROL
        return result, frozenset(both)

    def merges(self) -> MergeKeys:
        """Return the merges."""
        pairs: list[tuple[str, str]] = []
        for number, merge in enumerate(self.texts("merges")):
            left, _, right = merge.partition(" ")
            if not left or not right or " " in right:
                self.refuse(f"found {merge[:60]!r}; expected two tokens with one blank between", f"merges[{number}]")
            pairs.append((left, right))
        return MergeKeys(pairs, self.path, lambda number: f"{PREFIX}merges[{number}]")

    def is_one_of(self, key: str, texts: Collection[str]) -> bool:
        """Return whether a value is one of some strings, without taking it."""
        value = self._left.get(key)
        return isinstance(value, bytes) and value in [text.encode() for text in texts]

    def flag(self, key: str, default: bool) -> bool:
        """Return a bool."""
        value = self._left.pop(key, default)
        if type(value) is not bool:
            self.refuse("expected true or false", key)
        return value

    def scores(self) -> list[float]:
        """Return the scores of the tokens."""
        return self._list("scores", float, "floats")

    def _list(self, key: str, kind: type[_T], name: str) -> list[_T]:
        values = self._left.pop(key, None)
        if not isinstance(values, list) or not all(type(value) is kind for value in values):
            missing = "the value is missing; expected a list"
            self.refuse(missing if values is None else f"expected a list of {name}", key)
        return values

    def block(self, key: str) -> bytes:
        """Return a value that is a string or a list of bytes; b"" when it is missing."""
        value = self._left.pop(key, b"")
        if isinstance(value, bytes):
            return value
        if not isinstance(value, list) or not all(type(byte) is int and -128 <= byte < 256 for byte in value):
            self.refuse("expected a list of bytes", key)
        return bytes(byte & 0xFF for byte in value)

    def template(
        self, count: int, *, adds: Collection[str] = (), ids: tuple[int | None, int | None] = (None, None)
    ) -> Template | None:
        """Return the template of a vocabulary of `count` tokens, `None` when it adds nothing.

        `adds`: which of "bos" and "eos" is added if the file does not define whether to add it.  `ids`: those of the
        two that llama.cpp takes by default.
        """
        for use, token_id in zip(("bos", "eos"), ids, strict=True):
            if use in adds and f"add_{use}_token" not in self._left:
                self._left[f"add_{use}_token"] = True
                if token_id is not None and token_id < count:
                    self._left.setdefault(f"{use}_token_id", token_id)
        before, after = self._added("bos", count), self._added("eos", count)
        return Template((*before, ("A", 0), *after)) if before or after else None

    def _added(self, kind: str, count: int) -> tuple[tuple[int, int], ...]:
        if not self.flag(f"add_{kind}_token", False):
            return ()
        token_id = self._left.get(f"{kind}_token_id")
        if type(token_id) is not int or not 0 <= token_id < count:
            found = "the value is missing" if token_id is None else f"found {token_id!r}"
            problem = f"{found}; expected an id, 0 to {count - 1}, because add_{kind}_token is true"
            self.refuse(problem, f"{kind}_token_id")
        return ((token_id, 0),)

    def drop(self, key: str) -> None:
        """Ignore a value that does not affect ids in this type of model."""
        self._left.pop(key, None)

    def done(self) -> None:
        """Refuse values that were not taken and that might change ids."""
        for key, value in self._left.items():
            if not _NOT_TEXT.match(key) and not (key in _OFF and value is False):
                self.refuse("the value is not supported" + ("; expected false" if key in _OFF else ""), key)

    def refuse(self, problem: str, key: str) -> NoReturn:
        """Raise a `VocabularyError` about a value."""
        raise VocabularyError(problem, path=self.path, place=PREFIX + key)

    def _decoded(self, value: bytes, key: str) -> str:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            self.refuse(f"found byte 0x{value[error.start]:02X}; expected UTF-8 text", key)
