"""How shards are written: everything that their bytes depend on, but for the files and the tokenizer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from ..budget import parse_bytes
from ..core.documents import Layout
from ..corpus.files import Format as SourceFormat
from ..corpus.files import check_format
from ..errors import CorpusError, TokenNotFoundError
from ..lazy import lazy_re, np, npt
from ..pipeline.special_tokens import Selection
from ..records import asdict, dataclass, whole
from ..spec.chat_templates import chat_templates
from ..tokenizer import Tokenizer, checked_tokenizer
from .formats import FORMATS
from .formats.format import OutputFormat

Empty: TypeAlias = Literal["skip", "keep"]
OnError: TypeAlias = Literal["raise", "skip"]
Document: TypeAlias = Literal["file", "line"]
ShardFormat: TypeAlias = Literal[
    "megatron", "nanogpt", "llmc", "automodel", "olmo", "datatrove", "numpy", "parquet",
]  # fmt: skip
#: A token by its text or its id.
Token: TypeAlias = str | int
#: Special tokens that a message shows.
_SHOWN = 12
#: The option for the kind of all files, as readers of files call it.
_FORMAT = lazy_re(r"(?<![\w.])format='")


@contextmanager
def naming_input_format() -> Iterator[None]:
    """Have errors of readers name `input_format`: what they call `format` is that of the output here, or is nothing."""
    try:
        yield
    except CorpusError as error:
        error.args = tuple(_FORMAT.sub("input_format='", each) for each in error.args)
        raise


@dataclass(frozen=True, kw_only=True)
class ShardPolicy:
    """The options on which the bytes of shards depend.

    Attributes:
        format: The name of the format.
        bos: The id before each document that is not empty, `None` for none.
        eos: The id after each document that is not empty, `None` for none.
        allowed_special: Special tokens that are found in texts: "all", or a sorted tuple.
        dtype: The dtype of ids in files.
        text_field: The field or the column with the text.
        id_field: The field or the column with the id of a document, `None` if none is written.
        messages_field: The field or the column with the messages of a chat, `None` if documents are texts.
        templates: A digest of the chat templates of the tokenizer, if documents are chats.
        document: What a document of a text file is: the file, or each line with its end.
        input_format: What files are; `None` for what their names say, or their first bytes where a name says nothing.
        part_size: About how many bytes of input a part has.
        empty: Whether empty documents are left out or written.
        on_error: Whether a line that cannot be read ends the run or is left out.
        shuffle: The seed that documents were shuffled with when shards were merged.
        shard_size: The most ids that parts should have into which merged shards were divided.
    """

    format: str
    bos: int | None
    eos: int | None
    allowed_special: str | tuple[str, ...]
    dtype: str
    text_field: str
    document: Document
    input_format: SourceFormat | None
    part_size: int
    empty: Empty
    on_error: OnError
    id_field: str | None = None
    messages_field: str | None = None
    templates: str | None = None
    shuffle: int | None = None
    shard_size: int | None = None

    @property
    def layout(self) -> Layout:
        """How documents are written."""
        before, after = ([] if token is None else [token] for token in (self.bos, self.eos))
        return Layout(before, after, np.dtype(self.dtype).itemsize)

    @property
    def moved(self) -> str:
        """How merging moved documents to parts other than those of their files; empty if it did not."""
        return "shuffled" if self.shuffle is not None else "divided" if self.shard_size is not None else ""

    @property
    def files(self) -> OutputFormat:
        """The format."""
        return FORMATS[self.format]

    @property
    def field(self) -> str:
        """The field with what documents are made of."""
        return self.text_field if self.messages_field is None else self.messages_field

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of the files of a part, by its format."""
        masks = self.files.masks
        return self.files.suffixes + (() if masks is None or self.messages_field is None else masks.suffixes)

    def as_json(self) -> dict[str, Any]:
        """Return the policy as plain data."""
        record = asdict(self)
        if not isinstance(self.allowed_special, str):
            record["allowed_special"] = list(self.allowed_special)
        return record

    @staticmethod
    def from_json(record: dict[str, Any]) -> ShardPolicy:
        """Read what `as_json` made; `KeyError` or `TypeError` on anything else."""
        allowed = record["allowed_special"]
        return ShardPolicy(**{**record, "allowed_special": allowed if isinstance(allowed, str) else tuple(allowed)})


class ShardOptions(TypedDict, total=False):
    """The keywords of `shard` and `plan_shards`."""

    format: ShardFormat
    eos: Token | None
    bos: Token | None
    allowed_special: Selection
    dtype: npt.DTypeLike
    text_field: str
    id_field: str | None
    messages_field: str | None
    document: Document
    input_format: SourceFormat | None
    part_size: int | str
    empty: Empty
    on_error: OnError


def make_policy(
    tokenizer: Tokenizer, *, format: ShardFormat = "megatron",  # noqa: A002
    eos: Token | None = None, bos: Token | None = None, allowed_special: Selection = (), dtype: npt.DTypeLike = "auto",
    text_field: str = "text", id_field: str | None = None, messages_field: str | None = None,
    document: Document = "file", input_format: SourceFormat | None = None, part_size: int | str = "256MB",
    empty: Empty = "skip", on_error: OnError = "raise",
) -> ShardPolicy:  # fmt: skip
    """Return the policy of arguments, checked against a tokenizer; `ValueError` or `TypeError` names a wrong one."""
    checked_tokenizer(tokenizer)
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(map(repr, FORMATS))}")
    chosen = FORMATS[format]
    for name, value, values in (
        ("document", document, get_args(Document)),
        ("empty", empty, get_args(Empty)),
        ("on_error", on_error, get_args(OnError)),
    ):
        if value not in values:
            raise ValueError(f"{name} is {value!r}; expected {' or '.join(map(repr, values))}")
    check_format(input_format, "input_format")
    if not isinstance(text_field, str):
        raise TypeError(f"text_field must be a str, not {type(text_field).__name__}")
    _check_id_field(id_field, chosen)
    if bos is None and eos is None and not chosen.has_boundaries:
        known = "" if tokenizer.eos_token is None else f", such as eos={tokenizer.eos_token!r}"
        raise ValueError(
            f"eos and bos are None; the format {format!r} keeps no ends of documents but for these tokens: "
            f"give eos= or bos=, a token or its id{known}"
        )
    tokenizer._parts.specials.matcher(allowed_special)
    return ShardPolicy(
        format=format,
        bos=id_of(tokenizer, "bos", bos),
        eos=id_of(tokenizer, "eos", eos),
        allowed_special=allowed_special if isinstance(allowed_special, str) else tuple(sorted(allowed_special)),
        dtype=chosen.dtype("auto" if dtype == "auto" else str(np.dtype(dtype)), tokenizer.vocab_size),
        text_field=text_field,
        id_field=id_field,
        messages_field=messages_field,
        templates=_templates(tokenizer, messages_field, text_field, document, chosen),
        document=document,
        input_format=input_format,
        part_size=parse_bytes(part_size, "part_size"),
        empty=empty,
        on_error=on_error,
    )


def _check_id_field(id_field: object, chosen: OutputFormat) -> None:
    if id_field is None:
        return
    if not isinstance(id_field, str):
        raise TypeError(f"id_field must be a str or None, not {type(id_field).__name__}")
    if chosen.keys is None:
        having = " and ".join(repr(name) for name, known in FORMATS.items() if known.keys is not None)
        raise ValueError(f"id_field is {id_field!r}; the format {chosen.name!r} has no ids of documents, {having} have")


def _templates(
    tokenizer: Tokenizer, messages_field: object, text_field: str, document: str, chosen: OutputFormat
) -> str | None:
    """Return a digest of the chat templates for chats; `ValueError` or `TypeError` unless they can be written."""
    if messages_field is None:
        return None
    if not isinstance(messages_field, str):
        raise TypeError(f"messages_field must be a str or None, not {type(messages_field).__name__}")
    if chosen.masks is None:
        having = ", ".join(repr(name) for name, known in FORMATS.items() if known.masks is not None)
        raise ValueError(
            f"messages_field is {messages_field!r}; the format {chosen.name!r} has no place for the mask of what a "
            f"model learns: give one of {having}"
        )
    for name, value, usual in (("text_field", text_field, "text"), ("document", document, "file")):
        if value != usual:
            raise ValueError(f"messages_field and {name}={value!r} are given; documents are either chats or texts")
    found = {name: template.source for name, template in chat_templates(tokenizer.spec).items()}
    if not found:
        raise ValueError(
            f"messages_field is {messages_field!r}; the files of the tokenizer have no chat template: load a folder "
            "with chat_template.jinja, or with a chat_template in tokenizer_config.json"
        )
    record = json.dumps(found, sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.sha256(record).hexdigest()


def id_of(tokenizer: Tokenizer, name: str, token: Token | None) -> int | None:
    """Return the id of a token; raises naming the argument when there is none."""
    if token is None:
        return None
    if isinstance(token, str):
        try:
            return tokenizer.token_to_id(token)
        except TokenNotFoundError:
            tokens = [*tokenizer.special_tokens]
            more = f" and {len(tokens) - _SHOWN} more" if len(tokens) > _SHOWN else ""
            known = (", ".join(map(repr, tokens[:_SHOWN])) or "none") + more
            raise ValueError(f"{name} is {token!r}, which is no token; special tokens are {known}") from None
    return whole(name, token, 0, tokenizer.vocab_size - 1, expected="a token or its id")
