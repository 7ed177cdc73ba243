"""Count the tokens of a corpus, without writing them: of all of it, or of each source, by one tokenizer or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, overload

from ..corpus.fields import FieldName
from ..corpus.files import CorpusPaths, File, corpus_files
from ..corpus.files import Format as SourceFormat
from ..counting.options import Report, reporting
from ..pipeline.special_tokens import Selection
from ..progress import Progress
from ..records import dataclass
from ..text import counted
from ..threads import thread_count
from ..tokenizer import Tokenizer
from .documents import CountedTexts, DocumentEncoder, counted_texts
from .plan import Source, parts_of
from .policy import Document, ShardPolicy, make_policy, naming_input_format
from .source_tokens import SourceTable, SourceTokens, named_tokenizers

#: What the sources of counts are.
By: TypeAlias = "Literal['file', 'folder'] | Callable[[str], str]"
#: Several tokenizers, or a mapping of names to these.
Tokenizers: TypeAlias = "Sequence[Tokenizer] | Mapping[str, Tokenizer]"
#: The one source where nothing divides a corpus.
_CORPUS = "corpus"


@dataclass(frozen=True)
class TokenCounts:
    """The tokens of a corpus.

    Attributes:
        documents: The number of texts, empty ones too.
        tokens: The number of their tokens.
        bytes: The number of their bytes.
        unknown: How many tokens are unknown tokens, for text that the vocabulary lacks.

    Example:
        >>> TokenCounts(2, 10, 40).bytes_per_token
        4.0

    """

    documents: int
    tokens: int
    bytes: int
    unknown: int = 0

    @property
    def bytes_per_token(self) -> float:
        """Bytes of text for each token; 0 if there are no tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0

    def __str__(self) -> str:
        unknown = f", {self.unknown:,} of them unknown" if self.unknown else ""
        each = f", {self.bytes_per_token:.2f} bytes each"
        return f"{counted(self.documents, 'document')}, {counted(self.tokens, 'token')}{unknown}{each}"


@overload
def count_tokens(
    files: CorpusPaths, tokenizer: Tokenizer, *, by: None = None, allowed_special: Selection = (),
    text_field: FieldName = "text", document: Document = "file", input_format: SourceFormat | None = None,
    threads: int | None = None, progress: bool | Report | None = None,
) -> TokenCounts: ...  # fmt: skip


@overload
def count_tokens(
    files: CorpusPaths, tokenizer: Tokenizers, *, by: By | None = None, allowed_special: Selection = (),
    text_field: FieldName = "text", document: Document = "file", input_format: SourceFormat | None = None,
    threads: int | None = None, progress: bool | Report | None = None,
) -> SourceTable: ...  # fmt: skip


@overload
def count_tokens(
    files: CorpusPaths, tokenizer: Tokenizer | Tokenizers, *, by: By, allowed_special: Selection = (),
    text_field: FieldName = "text", document: Document = "file", input_format: SourceFormat | None = None,
    threads: int | None = None, progress: bool | Report | None = None,
) -> SourceTable: ...  # fmt: skip


@naming_input_format()
def count_tokens(
    files: CorpusPaths, tokenizer: Tokenizer | Tokenizers, *, by: By | None = None, allowed_special: Selection = (),
    text_field: FieldName = "text", document: Document = "file", input_format: SourceFormat | None = None,
    threads: int | None = None, progress: bool | Report | None = None,
) -> TokenCounts | SourceTable:  # fmt: skip
    r"""Count the documents, tokens and bytes of a corpus, or of each of its sources.

    Several tokenizers count in one pass: each file is read and parsed once.

    Args:
        files: As in `shard`, and so are the other arguments.
        tokenizer: The tokenizer; or several, or a mapping of names to these, which have a column each.
        by: What each row stands for: each "file", or each "folder" with files in it; or a function that is called with
            the name of a file, as `files` has it, and returns the name of its row.  One row for all by default.
        allowed_special: As in `shard`.
        text_field: As in `shard`.
        document: As in `shard`.
        input_format: As in `shard`.
        threads: The number of threads; by default one for each core.
        progress: As in `shard`.

    Returns:
        The numbers: `TokenCounts` of one tokenizer without `by`, else a `SourceTable`.

    Raises:
        CorpusError: A file cannot be read as text.
        ValueError: An argument has a wrong value.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> other = bbpe.train_from_iterator(["low lower"], 260)
        >>> with TemporaryDirectory() as folder:
        ...     for name in ("a", "b"):
        ...         _ = Path(folder, f"{name}.jsonl").write_text('{"text": "low"}\n{"text": "lower"}')
        ...     print(bbpe.count_tokens(folder, tok))
        ...     both = {"small": tok, "large": other}
        ...     print(bbpe.count_tokens(folder, both, by=lambda name: Path(name).stem))
        4 documents, 8 tokens, 2.00 bytes each
        source  documents  bytes  small  large  bytes a token: small  large
        a               2      8      4      3                  2.00   2.67
        b               2      8      4      3                  2.00   2.67
        total           4     16      8      6                  2.00   2.67

    """
    named = named_tokenizers(tokenizer, "tokenizer")
    policies = [
        make_policy(
            tok, allowed_special=allowed_special, text_field=text_field, document=document, input_format=input_format
        )
        for tok in named.values()
    ]  # fmt: skip
    if not (by is None or by in ("file", "folder") or callable(by)):
        raise ValueError(f"by is {by!r}; expected 'file', 'folder' or a function of the name of a file")
    count = thread_count(threads)
    encoders = [DocumentEncoder(tok, policy) for tok, policy in zip(named.values(), policies, strict=True)]
    sources = _sources(files, policies[0], by)
    rows: dict[str, SourceTokens] = {label: SourceTokens.none(label, len(named)) for label, _ in sources}
    total, done = sum(source.read for _, source in sources), 0
    with reporting(progress) as report:
        for label, source in sources:
            for some in counted_texts(encoders, source, count):
                done += some.read
                report(Progress("count", done, total, "bytes"))
                rows[label] = _with(rows[label], some)
    table = SourceTable(tuple(named), tuple(rows.values()))
    if by is None and isinstance(tokenizer, Tokenizer):
        found = table.total
        return TokenCounts(found.documents, found.tokens[0], found.bytes, found.unknown[0])
    return table


def _with(row: SourceTokens, some: CountedTexts) -> SourceTokens:
    tokens, unknown = zip(*some.counts, strict=True)
    return row + SourceTokens(row.source, some.documents, some.bytes, tokens, unknown)


def _sources(files: CorpusPaths, policy: ShardPolicy, by: By | None) -> list[tuple[str, Source]]:
    """Return the ranges of files in order, each with the name of its row."""
    try:
        found = corpus_files(files, policy.input_format, policy.field)
    except FileNotFoundError as error:
        problem = f"{error.strerror}; a text is counted by Tokenizer.count_tokens(text)"
        raise FileNotFoundError(error.errno, problem, error.filename) from None
    labels = {str(file.path.absolute()): _label(file, by) for file in found}
    return [(labels[source.path], source) for part in parts_of(found, policy) for source in part]


def _label(file: File, by: By | None) -> str:
    name = str(file.path)
    if by is None:
        return _CORPUS
    if by == "file":
        return name
    if by == "folder":
        return str(file.path.parent) if isinstance(file.path, Path) else name.rpartition("/")[0]
    label = by(name)
    if not isinstance(label, str):
        raise TypeError(f"by must return a str, not {type(label).__name__}, as for {name}")
    return label
