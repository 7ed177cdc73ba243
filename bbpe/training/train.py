"""Training: text -> counted pretokens -> a model -> a tokenizer."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeAlias, TypeVar

from ..budget import check_resident
from ..core.count import PretokenTable
from ..corpus.files import CorpusPaths, corpus_paths
from ..counting.count import count_files, count_texts
from ..counting.counts import PretokenCounts
from ..counting.options import Counting, Report, counting_of, silent
from ..files import StrPath, check_replaceable, local_path, write_atomic
from ..lazy import np, npt, safe_import
from ..progress import Progress
from ..records import check_file_name, check_suffix, checked_path, choice, replace, whole
from ..spec.models import UnigramModel
from ..spec.spec import TokenizerSpec
from ..splitting.patterns import Pattern, get_pattern
from ..splitting.splitter import TextSplitter
from ..text import Text, counted, first_few, readable, shortened, text_bytes
from ..tokenizer import Tokenizer
from .bpe import BPE, BytePlan, WordPiece
from .unigram import Unigram, UnigramPlan

if TYPE_CHECKING:
    from .words import Merge, WordPlan

#: A model by its name, with its defaults, or with options.
Model: TypeAlias = Literal["bpe", "wordpiece", "unigram"] | BPE | WordPiece | Unigram

_MODELS: dict[str, type[BPE] | type[WordPiece] | type[Unigram]] = {
    "bpe": BPE,
    "wordpiece": WordPiece,
    "unigram": Unigram,
}
#: The bytes of the longest token that needs no warning: it is more than any word, and less than a line.
_LONG = 64
#: The suffixes of logs of merges.
LOGS = (".tsv", ".txt")
#: The columns of a log of merges.
_COLUMNS = ("rank", "left", "right", "count", "token")
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _placing_options(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Have a function name the object to which an option belongs that is not its own; `TypeError` as by Python."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def checked(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        for name, value in options.items():
            if name not in known:
                problem = f"{function.__name__}() got an unexpected keyword argument {name!r}"
                raise TypeError(problem + _place_of(name, value, known))
        return function(*args, **options)

    return checked


def _place_of(name: str, value: object, known: Sequence[str]) -> str:
    """Return the end of a message: the model or `Counting` that has an option, or an argument that is like it."""
    given = f"{name}={short_repr(value)}"
    models = [f"bbpe.{kind.__name__}" for kind in _MODELS.values() if name in kind.__dataclass_fields__]
    if models:
        return f"; it is an option of {' and '.join(models)}: model={models[0]}({given})"
    if name in Counting.__dataclass_fields__:
        place = "" if "counting" not in known else f": counting=bbpe.Counting({given})"
        return f"; it is an option of bbpe.Counting{place}"
    safe_import("difflib")
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


@_placing_options
def train(
    files: CorpusPaths,
    vocab_size: int,
    *,
    model: Model = "bpe",
    pattern: str | Sequence[str] | None = None,
    special_tokens: Sequence[str] = (),
    counting: Counting | None = None,
    log_merges: StrPath | None = None,
) -> Tokenizer:
    """Train a tokenizer on files.

    Training stops early, with fewer merges, when no pair occurs as often as the model asks.  Special tokens in the
    text separate it.

    Args:
        files: A path, glob or folder, or a list of them, of the kinds that `count` reads.  Bytes that are no UTF-8 are
            read as they are.
        vocab_size: The number of tokens in all, special tokens included.
        model: What to train: `BPE`, `WordPiece` or `Unigram` with options, or "bpe", "wordpiece" or "unigram" for the
            model's defaults.
        pattern: How to split texts, a name or a regex; by default "gpt2" for bytes, and the words or runs of the model
            for characters.
        special_tokens: The special tokens, in the order of their ids.
        counting: How to read and count the files, a `Counting`.
        log_merges: A file for the merges in their order, as lines of tab-separated values: rank, the two parts, how
            often they were neighbours when they merged, and the new token. BPE and WordPiece have merges. A suffix,
            if the name has one, is .tsv or .txt.

    Returns:
        The tokenizer.

    Raises:
        ValueError: An argument has a wrong value; `PatternError` names an unknown pattern.
        TypeError: An argument has the wrong type.
        CorpusError: There is no text, or a file cannot be read as text.
        MemoryLimitError: Merging would need more than `max_memory`; it names how much, and the `sample` that would fit.
        OSError: A file cannot be read, or that of the merges not written; the error names it.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("low lower lowest")
        ...     train(folder, 258, model=BPE(tie_break="first")).merges
        [(b'l', b'o'), (b'lo', b'w')]

    """
    log = MergeLog(log_merges, model)
    files = log.kept_apart(files)
    plan, how = model_of(model).plan(vocab_size, special_tokens, pattern), counting_of(counting)
    with how.reporting() as report:
        counts = count_files(files, how.task(plan.counted, plan.separators), report, partial(plan.check_memory, how))
        tokenizer = Tokenizer(log.learned(plan, counts, how, report))
        return tokenizer if report is silent else _noted(tokenizer, counts, vocab_size, report)


@_placing_options
def train_from_iterator(
    texts: Iterable[Text] | Iterable[Sequence[Text]],
    vocab_size: int,
    *,
    model: Model = "bpe",
    pattern: str | Sequence[str] | None = None,
    special_tokens: Sequence[str] = (),
    counting: Counting | None = None,
    log_merges: StrPath | None = None,
) -> Tokenizer:
    """Train a tokenizer on texts; no merge crosses from one text into the next.

    Args:
        texts: Texts, each `str` or bytes-like; or lists of texts, if the first item is one; or a column of Arrow.
        vocab_size: The number of tokens in all, as in `train`.
        model: What to train, as in `train`.
        pattern: How to split texts, as in `train`.
        special_tokens: The special tokens, in the order of their ids.
        counting: How to count the texts; the fields `text_field` and `format` are for files.
        log_merges: A file for the merges, as in `train`.

    Returns:
        The tokenizer.

    Raises:
        ValueError: As `train`.
        TypeError: As `train`; an item that is no text is named by its number.
        CorpusError: There is no text.

    Example:
        >>> train_from_iterator(["low lower lowest"], 257).merges
        [(b'l', b'o')]

    """
    log = MergeLog(log_merges, model)
    plan, how = model_of(model).plan(vocab_size, special_tokens, pattern), counting_of(counting)
    with how.reporting() as report:
        counts = count_texts(texts, how.task(plan.counted, plan.separators), report, partial(plan.check_memory, how))
        tokenizer = Tokenizer(log.learned(plan, counts, how, report))
        return tokenizer if report is silent else _noted(tokenizer, counts, vocab_size, report)


@_placing_options
def train_from_counts(
    counts: PretokenCounts | Mapping[bytes, int] | Mapping[str, int],
    vocab_size: int,
    *,
    model: Model = "bpe",
    pattern: str | Sequence[str] | None = None,
    special_tokens: Sequence[str] | None = None,
    max_memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | Report | None = None,
    log_merges: StrPath | None = None,
) -> Tokenizer:
    """Train a tokenizer on counted pretokens, in the order of their first appearance.

    Counting is done before, so only three fields of `Counting` remain, as arguments.

    Args:
        counts: What `count` or `load_counts` returned, or a mapping of pretokens, as `pattern` cuts them, to their
            counts, 0 to 2**63 - 1.
        vocab_size: The number of tokens in all, as in `train`.
        model: What to train, as in `train`; BPE of bytes or Unigram, which takes pretokens as they are.
        pattern: The pattern of the counts, which is the default; "gpt2" is that of a mapping.
        special_tokens: The special tokens, in the order of their ids; by default those of the counts.
        max_memory: The memory that the whole process may take. What a Unigram model will need is not known before, so
            only a process that takes more already is refused.
        threads: How many threads learn a Unigram model; by default one for each core.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.
        log_merges: A file for the merges, as in `train`.

    Returns:
        The tokenizer.

    Raises:
        ValueError: As `train`; or the counts have another pattern, or a mapping a key that the pattern cuts.
        TypeError: As `train`.
        CorpusError: There are no counts.
        MemoryLimitError: As `train`.

    Example:
        >>> train_from_counts({"low": 5, " lower": 2}, 257).merges
        [(b'l', b'o')]

    """
    chosen, how = model_of(model), Counting(max_memory=max_memory, threads=threads, progress=progress)
    if isinstance(counts, PretokenCounts):
        given, specials = counts, counts.special_tokens if special_tokens is None else special_tokens
        asked = given.spec if pattern is None else replace(given.spec, pattern=get_pattern(pattern))
        if different := given.spec.differences(asked):
            raise ValueError(f"the counts and the arguments differ: {', '.join(different)}")
    else:
        specials = () if special_tokens is None else special_tokens
        given = _counts_of(counts, "gpt2" if pattern is None else pattern, specials)
    plan = chosen.plan(vocab_size, specials, None)
    if not isinstance(plan, BytePlan | UnigramPlan):
        problem = "counts train BPE of bytes or Unigram; words are learned from texts: use train"
        raise ValueError(f"model is {model!r}; {problem}")
    log = MergeLog(log_merges, model)
    if how.max_memory is not None and isinstance(plan, UnigramPlan):
        check_resident(how.max_memory)  # merging of bytes says how much it needs besides
    with how.reporting() as report:
        tokenizer = Tokenizer(log.learned(plan, given, how, report))
        return tokenizer if report is silent else _noted(tokenizer, given, vocab_size, report)


class MergeLog:
    """The file for the merges of a training, or none.

    Raises `ValueError` for a model without merges, a URL and the name of another kind of file, `OSError` naming a file
    that cannot be written.
    """

    def __init__(self, path: StrPath | None, model: Model) -> None:
        self._path = None
        if path is None:
            return
        checked_path("log_merges", path)
        check_file_name(path, "the file for the merges")
        check_suffix(path, "the merges", LOGS)
        self._path = local_path(path, "the merges are not written to a URL", argument="log_merges")
        if isinstance(model_of(model), Unigram):
            raise ValueError(f"log_merges is {str(path)!r}, and Unigram has no merges; expected BPE or WordPiece")
        # before hours of work
        if not (folder := self._path.absolute().parent).is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder to write the merges in", str(folder))
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "this is a folder; expected the name of a file for the merges", path)
        check_replaceable(self._path)

    def kept_apart(self, files: CorpusPaths) -> CorpusPaths:
        """Return the names of a corpus; `ValueError` if the file for the merges is one of its files."""
        if self._path is None or not self._path.exists():
            return files
        listed: CorpusPaths = list(files) if isinstance(files, Iterator) else files
        for path in corpus_paths(listed):
            if isinstance(path, Path) and path.exists() and path.samefile(self._path):
                raise ValueError(f"{self._path}: the merges would replace a file of the corpus; choose another name")
        return listed

    def learned(
        self, plan: BytePlan | WordPlan | UnigramPlan, counts: PretokenCounts, how: Counting, report: Report
    ) -> TokenizerSpec:
        """Learn by a plan, and write the file."""
        if self._path is None or isinstance(plan, UnigramPlan):
            return plan.learn(counts, how, report)
        merges: list[Merge] = []
        spec = plan.learn(counts, how, report, merges)
        lines = ["\t".join(_COLUMNS)]
        for rank, (left, right, token, count) in enumerate(merges):
            lines.append(f"{rank}\t{_cell(left)}\t{_cell(right)}\t{count}\t{_cell(token)}")
        write_atomic(self._path, ("\n".join(lines) + "\n").encode())
        return spec


def _cell(token: bytes) -> str:
    r"""Return a token for a line of a table: bytes that are no characters in hex, and controls and backslashes escaped.

    >>> _cell(b" caf\xc3\xa9\n"), _cell(b"\xc3")
    (' café\\n', '<0xC3>')
    """
    return "".join(
        char if char.isprintable() and char != "\\" else char.encode("unicode_escape").decode("ascii")
        for char in readable(token)
    )


def model_of(model: Model) -> BPE | WordPiece | Unigram:
    """Return a model with its options.  Raises `ValueError` on an unknown name, `TypeError` on what is no model."""
    if isinstance(model, BPE | WordPiece | Unigram):
        return model
    if not isinstance(model, str):
        shown = repr(model) if isinstance(model, type) else type(model).__name__
        raise TypeError(f"model must be a name, or a BPE(), WordPiece() or Unigram(), not {shown}")
    choice("model", model, _MODELS)
    return _MODELS[model]()


def _counts_of(
    counts: Mapping[bytes, int] | Mapping[str, int], pattern: str | Sequence[str], special_tokens: Sequence[str]
) -> PretokenCounts:
    if not isinstance(counts, Mapping):
        raise TypeError(f"counts must be PretokenCounts or a mapping to counts, not {type(counts).__name__}")
    spec, table = Counting().task(pattern, special_tokens).spec, PretokenTable()
    for pretoken, count in counts.items():
        if whole(f"the count of {pretoken!r}", count, 0, 2**63 - 1):
            table.add(bytes(text_bytes(pretoken)), count)
    found = PretokenCounts.of_table(table, spec)
    _check_pretokens(found, spec.pattern)
    return found


def _check_pretokens(counts: PretokenCounts, pattern: Pattern) -> None:
    """Raise `ValueError` on what a named pattern cuts into parts, or makes no pretoken of: no text has such a pretoken.

    What a regex of the user makes of a pretoken may depend on the text around it.
    """
    if pattern.name is None:
        return
    keys, task = [pretoken for pretoken, _ in counts], Counting(threads=1).task(pattern)
    again = count_texts(keys, task, silent)
    if again.total == len(keys) and again.pretoken_bytes() == counts.pretoken_bytes():
        return
    splitter = TextSplitter(pattern)
    for key in keys:
        data, ends, _ = splitter.cut(key)
        parts = [data[start:end] for start, end in pairwise([0, *ends.tolist()])]
        if parts != [key]:
            made = first_few([shortened(part, quoted=True) for part in parts], 4)
            found = f"pattern {pattern.name!r} {f'cuts into {made}' if parts else 'drops'}"
            raise ValueError(
                f"counts has {shortened(key, quoted=True)}, which {found}; expected pretokens, as the "
                "pattern cuts them: count_from_iterator counts texts, and pattern='none' takes each key as it is"
            )


def _noted(tokenizer: Tokenizer, counts: object, wanted: int, report: Report) -> Tokenizer:
    """Report fewer tokens than wanted, the longest token, and tokens that no text of the training uses any more.

    Returns the tokenizer.  Only counts of a byte-level vocabulary give the uses.
    """
    spec = tokenizer.spec
    is_of_bytes = spec.model is None and spec.characters is None
    notes = []
    if len(tokenizer) < wanted:
        is_unigram = isinstance(spec.model, UnigramModel)
        why = "the texts have no more parts that repeat" if is_unigram else "no more pairs occur often enough"
        notes.append(f"{counted(len(tokenizer), 'token')}, not {wanted:,}: {why}")
    longest = max(spec.vocab.values(), key=len, default=b"")
    note = f"the longest token has {counted(len(longest), 'byte')}: {shortened(longest, quoted=True)}"
    notes.append(f"warning: {note}" if len(longest) > _LONG else note)
    if len(longest) > _LONG and is_of_bytes:
        notes.append("max_token_length (--max-token-length) keeps such tokens out")
    if isinstance(counts, PretokenCounts) and is_of_bytes:
        used = uses_in(tokenizer, counts)
        unused = sum(len(token) > 1 and not used[token_id] for token_id, token in spec.vocab.items())
        if unused:
            parts = counted(unused, "token", "is only a part", "are only parts")
            them = "it" if unused == 1 else "them"
            notes.append(f"{parts} of longer ones: the training text itself does not use {them}")
    for note in notes:
        report(Progress("vocabulary", 0, None, "tokens", note))
    return tokenizer


def uses_in(tokenizer: Tokenizer, counts: PretokenCounts) -> npt.NDArray[np.uint64]:
    """Return how often each id is used in counted pretokens, uint64[vocab_size]."""
    used = np.zeros(tokenizer.vocab_size, dtype=np.uint64)
    encoder = tokenizer._parts.encoder
    for rows in counts.batches():
        first, last = int(rows.offsets[0]), int(rows.offsets[-1])
        ends = np.ascontiguousarray(rows.offsets[1:] - first)
        ids = encoder.encode_pretokens(rows.data[first:last].tobytes(), ends)
        places = np.searchsorted(ends, tokenizer._parts.vocabulary.tokens.spans(ids)[:, 0], side="right")
        np.add.at(used, ids, rows.counts[places])
    return used
