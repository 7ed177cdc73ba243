"""How shards are written: everything that their bytes depend on, but for the files and the tokenizer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from ..budget import parse_bytes
from ..core.documents import Layout
from ..corpus.fields import FieldName, checked_field
from ..corpus.files import Format as SourceFormat
from ..corpus.files import check_format
from ..errors import CorpusError, TokenNotFoundError
from ..lazy import lazy_re, np, npt
from ..pipeline.special_tokens import Selection
from ..records import asdict, choice, dataclass, whole
from ..spec.chat_templates import chat_templates
from ..text import first_few, shortened
from ..tokenizer import Tokenizer, checked_tokenizer
from .formats import FORMATS
from .formats.format import OutputFormat
from .mixture import Recipe
from .readers import IdReading

Empty: TypeAlias = Literal["skip", "keep"]
OnError: TypeAlias = Literal["raise", "skip"]
Document: TypeAlias = Literal["file", "line"]
ShardFormat: TypeAlias = Literal[
    "megatron", "nanogpt", "llmc", "automodel", "olmo", "datatrove", "numpy", "parquet",
]  # fmt: skip
#: A token by its text or its id.
Token: TypeAlias = str | int
#: What may be some texts, which JSON has as lists.
_LISTS = ("allowed_special", "text_field", "id_field", "messages_field")
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


@dataclass(frozen=True)
class OldVocabulary:
    """The vocabulary of ids that become ids of another one.

    Attributes:
        fingerprint: That of its tokenizer, which lies beside the plan.
        special: Pairs of its special tokens and those of the new vocabulary, or `None` for text, where they were named.
        check: The share of documents that are encoded again, to see whether their ids are canonical.
    """

    fingerprint: str
    special: tuple[tuple[str, str | None], ...] = ()
    check: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ShardPolicy:
    """The options on which the bytes of shards depend.

    Attributes:
        format: The name of the format.
        bos: The id before each document that is not empty, `None` for none.
        eos: The id after each document that is not empty, `None` for none.
        allowed_special: Special tokens that are found in texts: "all", or a sorted tuple.
        dtype: The dtype of ids in files.
        text_field: The field or the column with the text, or some of which the first that is there counts.
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
        reading: How files of ids are read, if the corpus is one of ids; `None` where it is one of texts.
        old: The vocabulary of these ids, if they are encoded by another one; `None` where they stay as they are.
        mixture: The weights of merged shards, and how many tokens are wanted of each; `None` if they were merged whole.
        merged: The digests of the plans of merged shards, where their order is not that of the files, or they were read
            in several ways: fields of texts and the like are those of the first of them.
    """

    format: str
    bos: int | None
    eos: int | None
    allowed_special: str | tuple[str, ...]
    dtype: str
    text_field: FieldName
    document: Document
    input_format: SourceFormat | None
    part_size: int
    empty: Empty
    on_error: OnError
    id_field: FieldName | None = None
    messages_field: FieldName | None = None
    templates: str | None = None
    shuffle: int | None = None
    shard_size: int | None = None
    reading: IdReading | None = None
    old: OldVocabulary | None = None
    mixture: Recipe | None = None
    merged: tuple[str, ...] = ()

    @property
    def layout(self) -> Layout:
        """How documents are written."""
        before, after = ([] if token is None else [token] for token in (self.bos, self.eos))
        return Layout(before, after, np.dtype(self.dtype).itemsize)

    @property
    def moved(self) -> str:
        """How merging moved documents to parts other than those that reading their files gives; empty if it did not."""
        if self.shuffle is not None:
            return "shuffled"
        if self.mixture is not None:
            return "mixed"
        return "divided" if self.shard_size is not None else "joined" if self.merged else ""

    @property
    def is_reordered(self) -> bool:
        """Whether the order of documents is another one than that of their files, in whatever parts they are."""
        return self.shuffle is not None or self.mixture is not None

    @property
    def files(self) -> OutputFormat:
        """The format."""
        return FORMATS[self.format]

    @property
    def field(self) -> FieldName:
        """The field with what documents are made of."""
        return self.text_field if self.messages_field is None else self.messages_field

    @property
    def has_masks(self) -> bool:
        """Whether documents have masks of what a model learns: those of chats, and of shards that had some."""
        return self.messages_field is not None or (self.reading is not None and self.reading.masks is not None)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of the files of a part, by its format."""
        masks = self.files.masks
        return self.files.suffixes + (() if masks is None or not self.has_masks else masks.suffixes)

    def as_json(self) -> dict[str, Any]:
        """Return the policy as plain data; what a corpus of texts does not have is left out."""
        record = asdict(self)
        for name in _LISTS:
            if isinstance(record[name], tuple):
                record[name] = list(record[name])
        for name in ("reading", "old", "mixture", "merged"):
            if not record[name]:
                del record[name]
        return record

    @staticmethod
    def from_json(record: dict[str, Any]) -> ShardPolicy:
        """Read what `as_json` made; `KeyError` or `TypeError` on anything else."""
        lists = {name: tuple(record[name]) for name in _LISTS if isinstance(record[name], list)}
        reading, old, mixture = record.get("reading"), record.get("old"), record.get("mixture")
        values = {
            **record,
            **lists,
            "reading": None if reading is None else IdReading(**reading),
            "old": None if old is None else OldVocabulary(**{**old, "special": tuple(map(tuple, old["special"]))}),
            "mixture": None if mixture is None else Recipe.from_json(mixture),
            "merged": tuple(record.get("merged", ())),
        }
        return ShardPolicy(**values)


def differences_of(left: Mapping[str, Any], right: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """Yield the names of what differs between two records of plans, with both values."""
    for key in {**left, **right}:
        mine, its = left.get(key), right.get(key)
        if mine == its or key == "name":
            continue
        if isinstance(mine, dict) and isinstance(its, dict):
            yield from differences_of(mine, its, f"{key}.")
        else:
            yield f"{name}{key} {shortened(repr(mine))} and {shortened(repr(its))}"


class IteratorOptions(TypedDict, total=False):
    """The keywords of `shard_from_iterator`: those of `shard` that are not about files."""

    format: ShardFormat
    eos: Token | None
    bos: Token | None
    allowed_special: Selection
    dtype: npt.DTypeLike
    text_field: FieldName
    id_field: FieldName | None
    messages_field: FieldName | None
    part_size: int | str
    empty: Empty
    on_error: OnError


class ShardOptions(IteratorOptions, total=False):
    """The keywords of `shard` and `plan_shards`."""

    document: Document
    input_format: SourceFormat | None


def make_policy(
    tokenizer: Tokenizer, *, format: ShardFormat = "megatron",  # noqa: A002
    eos: Token | None = None, bos: Token | None = None, allowed_special: Selection = (), dtype: npt.DTypeLike = "auto",
    text_field: FieldName = "text", id_field: FieldName | None = None, messages_field: FieldName | None = None,
    document: Document = "file", input_format: SourceFormat | None = None, part_size: int | str = "256MB",
    empty: Empty = "skip", on_error: OnError = "raise",
) -> ShardPolicy:  # fmt: skip
    """Return the policy of arguments, checked against a tokenizer; `ValueError` or `TypeError` names a wrong one."""
    checked_tokenizer(tokenizer)
    choice("format", format, FORMATS)
    chosen = FORMATS[format]
    for name, value, values in (
        ("document", document, get_args(Document)),
        ("empty", empty, get_args(Empty)),
        ("on_error", on_error, get_args(OnError)),
    ):
        choice(name, value, values)
    check_format(input_format, "input_format")
    text_field = checked_field("text_field", text_field)
    id_field, messages_field = _checked_id_field(id_field, chosen), _checked_messages_field(messages_field)
    known = "" if tokenizer.eos_token is None else f", such as eos={tokenizer.eos_token!r}"
    bos_id, eos_id = checked_ends(tokenizer, chosen, bos, eos, f"a token or its id{known}")
    tokenizer._parts.specials.matcher(allowed_special)
    return ShardPolicy(
        format=format,
        bos=bos_id,
        eos=eos_id,
        allowed_special=allowed_special if isinstance(allowed_special, str) else tuple(sorted(allowed_special)),
        dtype=chosen.dtype(dtype, tokenizer.vocab_size),
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


def checked_ends(
    tokenizer: Tokenizer, chosen: OutputFormat, bos: Token | None, eos: Token | None, expected: str
) -> tuple[int | None, int | None]:
    """Return the ids of BOS and EOS; `ValueError` unless a format without boundaries can tell documents by them."""
    bos_id, eos_id = id_of(tokenizer, "bos", bos), id_of(tokenizer, "eos", eos)
    if bos_id == eos_id and not chosen.has_boundaries:
        only = f"the format {chosen.name!r} keeps no ends of documents but for these tokens"
        if eos_id is None:
            raise ValueError(f"eos and bos are None; {only}: give eos= or bos=, {expected}")
        raise ValueError(f"eos and bos are both {eos!r}; {only}: give one of them, or format='megatron'")
    return bos_id, eos_id


def _checked_messages_field(messages_field: object) -> FieldName | None:
    return None if messages_field is None else checked_field("messages_field", messages_field, " or None")


def _checked_id_field(id_field: object, chosen: OutputFormat) -> FieldName | None:
    if id_field is None:
        return None
    field = checked_field("id_field", id_field, " or None")
    if chosen.keys is None:
        having = " and ".join(repr(name) for name, known in FORMATS.items() if known.keys is not None)
        raise ValueError(f"id_field is {id_field!r}; the format {chosen.name!r} has no ids of documents, {having} have")
    return field


def _templates(
    tokenizer: Tokenizer, messages_field: FieldName | None, text_field: FieldName, document: str, chosen: OutputFormat
) -> str | None:
    """Return a digest of the chat templates for chats; `ValueError` or `TypeError` unless they can be written."""
    if messages_field is None:
        return None
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
    """Return the id of a token that an argument names by its text or its id; `ValueError` when there is no such one."""
    if token is None:
        return None
    if isinstance(token, str):
        try:
            return tokenizer.token_to_id(token)
        except TokenNotFoundError:
            known = first_few([*map(repr, tokenizer.special_tokens)], _SHOWN)
            raise ValueError(f"{name} is {token!r}, which is no token; special tokens are {known}") from None
    return whole(name, token, 0, tokenizer.vocab_size - 1, expected="a token or its id")
