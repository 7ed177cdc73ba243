"""Count the tokens of a corpus, without writing them."""

from __future__ import annotations

from ..corpus.fields import FieldName
from ..corpus.files import CorpusPaths, corpus_files
from ..corpus.files import Format as SourceFormat
from ..counting.options import Report, reporting
from ..pipeline.special_tokens import Selection
from ..progress import Progress
from ..records import dataclass
from ..text import counted
from ..threads import thread_count
from ..tokenizer import Tokenizer
from .documents import DocumentEncoder
from .plan import parts_of
from .policy import Document, make_policy, naming_input_format


@dataclass(frozen=True)
class TokenCounts:
    """The tokens of a corpus.

    Attributes:
        documents: The number of texts, empty ones too.
        tokens: The number of their tokens.
        bytes: The number of their bytes.
        unknown: How many tokens are the unknown one, for text that the vocabulary lacks.

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
        """Bytes of text for each token; 0 where there are no tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0

    def __str__(self) -> str:
        unknown = f", {self.unknown:,} of them unknown" if self.unknown else ""
        each = f", {self.bytes_per_token:.2f} bytes each"
        return f"{counted(self.documents, 'document')}, {counted(self.tokens, 'token')}{unknown}{each}"


@naming_input_format()
def count_tokens(
    files: CorpusPaths, tokenizer: Tokenizer, *, allowed_special: Selection = (), text_field: FieldName = "text",
    document: Document = "file", input_format: SourceFormat | None = None, threads: int | None = None,
    progress: bool | Report | None = None,
) -> TokenCounts:  # fmt: skip
    r"""Count the documents, tokens and bytes of a corpus.

    Args:
        files: As in `shard`, and so are the other arguments.
        tokenizer: The tokenizer.
        allowed_special: As in `shard`.
        text_field: As in `shard`.
        document: As in `shard`.
        input_format: As in `shard`.
        threads: The number of threads; by default one for each core.
        progress: As in `shard`.

    Returns:
        The numbers.

    Raises:
        CorpusError: A file cannot be read as text.
        ValueError: An argument has a wrong value.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}\n{"text": "lower"}')
        ...     print(bbpe.count_tokens(folder, tok))
        2 documents, 4 tokens, 2.00 bytes each

    """
    policy = make_policy(
        tokenizer, allowed_special=allowed_special, text_field=text_field, document=document,
        input_format=input_format, empty="keep",
    )  # fmt: skip
    encoder, count = DocumentEncoder(tokenizer, policy), thread_count(threads)
    try:
        found_files = corpus_files(files, policy.input_format, policy.field)
    except FileNotFoundError as error:
        problem = f"{error.strerror}; a text is counted by Tokenizer.count_tokens(text)"
        raise FileNotFoundError(error.errno, problem, error.filename) from None
    sources = [source for part in parts_of(found_files, policy) for source in part]
    total, done, found = sum(source.read for source in sources), 0, TokenCounts(0, 0, 0)
    with reporting(progress) as report:
        for source in sources:
            for piece in encoder.pieces(source, count, None):
                done += piece.read
                report(Progress("count", done, total, "bytes"))
                found = TokenCounts(
                    found.documents + len(piece.lengths),
                    found.tokens + int(piece.lengths.sum()),
                    found.bytes + piece.text,
                    found.unknown + piece.unknown,
                )
    return found
