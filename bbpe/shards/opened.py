"""`open_shards`: the ids that some program wrote, as documents."""

from __future__ import annotations

import glob
import os
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any, Literal, SupportsIndex, TypeAlias, get_args, overload

from ..corpus.files import expanded
from ..errors import CorpusError
from ..files import local_path
from ..lazy import lazy_property, lazy_re, np, npt
from ..records import choice, dataclass, dtype_of, index_of, kind, names_folder, whole
from ..text import counted
from ..tokenizer import Tokenizer, checked_tokenizer
from .file_ids import FileIds
from .formats import Lengths
from .formats.format import Ids
from .ids import check_documents
from .load import Folder, Shards, load_shards
from .plan import ShardPlan
from .policy import Token, id_of
from .readers import READ_FORMATS, IdBlock, IdFile, IdReading, OnMissing, ReadFormat, suffixed
from .windows import RowSource

ReadFormatName: TypeAlias = Literal[
    "megatron", "nanogpt", "llmc", "automodel", "olmo", "datatrove", "numpy", "parquet", "mds", "litdata", "bbpe",
]  # fmt: skip
#: Names of files of ids, or a folder of shards.
IdPaths: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Folder"
#: The most ids of any dtype.
_MOST = 1 << 63
_DIGITS = lazy_re(r"([0-9]+)")


@dataclass(frozen=True, eq=False)
class ShardFiles(RowSource):
    """Files of ids that some program wrote, as `open_shards` returns them.

    `len` is the number of documents; iteration and `source[i]` give the ids of documents in the order of the files, as
    views of mapped files if the format allows it.  A pickled one is the names of its files.

    Attributes:
        files: The files of ids, in order.
        reading: How they are read.
        tokenizer: The tokenizer that made the ids, `None` if it is not known.
        folder: The folder, if bbpe wrote the files.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import numpy as np
        >>> with TemporaryDirectory() as folder:
        ...     np.array([5, 6, 0, 7, 0], np.uint16).tofile(folder + "/train.bin")
        ...     source = bbpe.open_shards(folder + "/train.bin", format="nanogpt", dtype="uint16", eos=0)
        ...     len(source), source.tokens, source[1].tolist()
        (2, 5, [7, 0])

    """

    files: tuple[Path, ...]
    reading: IdReading
    tokenizer: Tokenizer | None = None
    folder: Path | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardFiles, (self.files, self.reading, self.tokenizer, self.folder)

    def __len__(self) -> int:
        return self._firsts[-1]

    def __repr__(self) -> str:
        return f"<bbpe.ShardFiles: {counted(len(self.files), 'file')} of {self.reading.format}>"

    @property
    def documents(self) -> int:
        """The number of documents; if only EOS or BOS divides them, all files are read once."""
        return len(self)

    @lazy_property
    def tokens(self) -> int:
        """The number of ids."""
        return sum(self._open(number).tokens for number in range(len(self.files)))

    def part(self, number: int) -> tuple[Ids, Lengths]:
        """Return the ids of a file, mapped into memory if possible, and the number of ids of each document.

        Args:
            number: The number of the file, as in `files`.

        Returns:
            The ids, and their lengths, int64[n].

        Raises:
            CorpusError: The file is damaged, or a document lacks its EOS or BOS.
            ValueError: There is no such file.
        """
        file = self._open(whole("number", number, 0, len(self.files) - 1))
        mapped_ids = getattr(file, "ids", None)
        if mapped_ids is not None:
            deque(self._blocks(number), maxlen=0)  # which checks them
            return mapped_ids, file.all_lengths()
        blocks = list(self._blocks(number))
        ids = np.concatenate([np.empty(0, file.dtype), *(block.ids for block in blocks)])
        return ids, np.concatenate([np.empty(0, np.int64), *(block.lengths for block in blocks)])

    def _row_parts(self) -> FileIds:
        return FileIds(self.files, self.reading, self._open)

    @property
    def _row_tokenizer(self) -> Tokenizer | None:
        return self.tokenizer

    def _open(self, number: int) -> IdFile:
        """Return an open file; the last one stays open."""
        held = self.__dict__.get("_held")
        if held is None or held[0] != number:
            held = number, READ_FORMATS[self.reading.format].open(self.files[number], self.reading)
            self.__dict__["_held"] = held
        file: IdFile = held[1]
        return file

    def _blocks(self, number: int) -> Iterator[IdBlock]:
        """Yield the documents of a file, which are as they were promised."""
        for block in self._open(number).blocks():
            check_documents(self.files[number], block, self.reading)
            yield block

    @lazy_property
    def _firsts(self) -> list[int]:
        """The number of the first document of each file, and of all documents."""
        firsts = [0]
        for number in range(len(self.files)):
            firsts.append(firsts[-1] + self._open(number).documents)
        return firsts

    def __iter__(self) -> Iterator[npt.NDArray[np.integer[Any]]]:
        for number in range(len(self.files)):
            for block in self._blocks(number):
                at = 0
                for length in block.lengths.tolist():
                    yield block.ids[at : at + length]
                    at += length

    @overload
    def __getitem__(self, document: SupportsIndex) -> npt.NDArray[np.integer[Any]]: ...

    @overload
    def __getitem__(self, document: slice) -> list[npt.NDArray[np.integer[Any]]]: ...

    def __getitem__(self, document: SupportsIndex | slice) -> Any:
        if isinstance(document, slice):
            return [self[number] for number in range(*document.indices(len(self)))]
        number, count = index_of("document", document), len(self)
        if not -count <= number < count:
            raise IndexError(f"document {number} of {count}")
        number %= count
        file = bisect_right(self._firsts, number) - 1
        return self._document(file, number - self._firsts[file])

    def _document(self, number: int, within: int) -> npt.NDArray[np.integer[Any]]:
        file = self._open(number)
        found = getattr(file, "document", None)
        if found is not None:
            document: npt.NDArray[np.integer[Any]] = found(within)
            block = IdBlock(document, np.array([len(document)]), document=within)
            check_documents(self.files[number], block, self.reading)
            return document
        held = self.__dict__.get("_bounds")
        if held is None or held[0] != number:
            ids, lengths = self.part(number)
            held = number, ids, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            self.__dict__["_bounds"] = held
        return held[1][int(held[2][within]) : int(held[2][within + 1])]


def open_shards(
    files: IdPaths, *, format: ReadFormatName, dtype: npt.DTypeLike | None = None,  # noqa: A002
    eos: Token | None = None, bos: Token | None = None, tokenizer: Tokenizer | None = None,
    vocab_size: int | None = None, column: str = "input_ids", id_field: str | None = None,
    masks: bool | str | None = None, on_missing: OnMissing = "error",
) -> ShardFiles:  # fmt: skip
    """Open files of ids that some program wrote, as documents.

    bbpe guesses nothing: if the files do not say the dtype of ids, or where documents end, you must. Each document
    that is not empty must have the EOS or BOS that you name, and keeps it as one of its ids.

    Args:
        files: The path of a file, its path without the suffix, a glob or a folder, or a list of these; a glob or a
            folder gives its files by name, 2 before 10, or as its `index.json` lists them.  A path that ends with a
            slash is a folder.  With "bbpe" a folder that bbpe wrote, or its shards.
        format: What wrote them: "megatron" (`.bin` with `.idx`), "olmo" (`.npy` without a header, `.csv.gz`),
            "datatrove" (`.ds`), "llmc" or "automodel" (`.bin` with a header), "nanogpt" (`.bin` without one), "numpy"
            (`.npy` with a header), "parquet", "mds" (mosaicml-streaming), "litdata" or "bbpe".
        dtype: The dtype of ids; required for "nanogpt", "olmo", "mds" with columns of bytes, and "datatrove" without
            metadata. If files name one, it must be the same.
        eos: The token, or its id, that each document ends with.
        bos: The token, or its id, that each document begins with.  If files do not say where documents end, one of
            `eos` and `bos` is required.
        tokenizer: The tokenizer that made the ids; needed for `eos` and `bos` by their texts, and kept with converted
            shards. An id that it does not have is an error.
        vocab_size: The number of ids of its vocabulary, without a tokenizer.
        column: The column of ids, of "parquet" and "mds".
        id_field: The column with the id of each document, of "parquet"; "id" reads the ids in the table of "olmo". None
            is read by default.
        masks: Whether to read the masks of what a model learns, of "megatron" (`.mask.bin`), "olmo" (`.mask`) and
            "datatrove" (`.ds.loss`), or the column of "parquet" with them.  By default bbpe reads masks if there are
            any.
        on_missing: What to do with a document without its EOS or BOS, such as one that the end of a file cuts off:
            "error", or "keep" it as it is.

    Returns:
        The documents; the first file is opened now, the others when they are read.

    Raises:
        CorpusError: A file is not what `format` says, or its dtype or the ends of documents are not known.
        ValueError: An argument has a wrong value, or `files` is a URL.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import numpy as np
        >>> with TemporaryDirectory() as folder:
        ...     np.array([1, 5, 6, 1, 7], np.uint32).tofile(folder + "/part-0.npy")
        ...     source = bbpe.open_shards(folder, format="olmo", dtype="uint32", bos=1)
        ...     source, [ids.tolist() for ids in source]
        (<bbpe.ShardFiles: 1 file of olmo>, [[1, 5, 6], [1, 7]])

    """
    choice("format", format, get_args(ReadFormatName))
    choice("on_missing", on_missing, get_args(OnMissing))
    if format == "bbpe":
        given = (dtype, eos, bos, tokenizer, vocab_size, id_field, masks)
        if given != (None,) * len(given) or (column, on_missing) != ("input_ids", "error"):
            raise ValueError("format is 'bbpe'; the plan of the folder says the rest: give the folder alone")
        return own_shards(files)
    chosen = READ_FORMATS[format]
    if tokenizer is not None:
        checked_tokenizer(tokenizer)
        if vocab_size is not None:
            raise ValueError("tokenizer and vocab_size are given; the tokenizer has its own: give one of them")
    ids = tokenizer.vocab_size if tokenizer is not None else _size_of(vocab_size)
    if column != "input_ids":
        kind("column", column, str, "a str")
        if not chosen.has_columns:
            raise ValueError(f"column is {column!r}; the format {format!r} has no columns, 'parquet' and 'mds' have")
    _check_id_field(chosen, id_field)
    paths = _paths(files, chosen)
    reading = IdReading(
        format=format, dtype=None if dtype is None else _dtype(dtype), bos=_token("bos", bos, tokenizer, ids),
        eos=_token("eos", eos, tokenizer, ids), on_missing=on_missing, column=column, id_field=id_field, ids=ids,
        masks=_masks_of(masks, chosen, paths),
    )  # fmt: skip
    if reading.dtype is None and not chosen.says_dtype:
        raise ValueError(f"dtype is None; files of {format!r} do not say how wide ids are: give one, such as 'uint16'")
    found = ShardFiles(tuple(paths), reading, tokenizer)
    found._open(0)
    return found


def own_shards(folder: Any) -> ShardFiles:
    """Return the documents of a folder that bbpe wrote."""
    kind("files", folder, str | os.PathLike | Shards | ShardPlan, "a folder of shards, or bbpe.Shards")
    shards = load_shards(folder)
    plan, policy = shards.plan, shards.plan.policy
    is_parquet = policy.format == "parquet"
    form, own = ("parquet", None) if is_parquet else ("bbpe", policy.format)
    suffix = READ_FORMATS[form].suffix
    stems = [plan.stem(number) for number in range(len(plan))]
    masks = "assistant_masks" if is_parquet else ""
    reading = IdReading(
        format=form, own=own, dtype=policy.dtype, bos=policy.bos, eos=policy.eos, ids=plan.identity["ids"],
        id_field=None if policy.id_field is None else "id", masks=masks if policy.has_masks else None,
        # what lacked them once lacks them still
        on_missing="error" if policy.reading is None else policy.reading.on_missing,
    )  # fmt: skip
    files = tuple(stem.with_name(stem.name + suffix) for stem in stems)
    return ShardFiles(files, reading, plan.tokenizer if plan.has_tokenizer else None, plan.folder)


def _size_of(vocab_size: Any) -> int | None:
    return None if vocab_size is None else whole("vocab_size", vocab_size, 1, _MOST, expected="an int or None")


def _dtype(dtype: npt.DTypeLike) -> str:
    """Return the name of a dtype of ids; `ValueError` or `TypeError` when it is none."""
    found = dtype_of(dtype, "one of integers, such as 'uint16'")
    if found.kind not in "iu":
        raise ValueError(f"dtype is {found.name!r}; expected one of integers, such as 'uint16'")
    return found.str


def _token(name: str, token: Token | None, tokenizer: Tokenizer | None, ids: int | None) -> int | None:
    """Return the id of EOS or BOS."""
    if tokenizer is not None:
        return id_of(tokenizer, name, token)
    if isinstance(token, str):
        raise ValueError(f"{name} is {token!r} and tokenizer is None; give tokenizer=, which knows its id, or the id")
    most = (_MOST if ids is None else ids) - 1
    return None if token is None else whole(name, token, 0, most, expected="a token or its id")


def _check_id_field(form: ReadFormat, id_field: Any) -> None:
    if id_field is None:
        return
    kind("id_field", id_field, str, "a str or None")
    if not form.has_keys:
        raise ValueError(f"id_field is {id_field!r}; files of {form.name!r} have no ids of documents")
    if not form.has_columns and id_field != "id":
        raise ValueError(f"id_field is {id_field!r}; the table of {form.name!r} has only 'id'")


def _masks_of(masks: Any, form: ReadFormat, paths: list[Path]) -> str | None:
    """Return how masks are read: the column, "" for files of their own, or `None`."""
    if form.has_columns:
        if masks is True or not isinstance(masks, str | bool | None):
            raise TypeError(f"masks is {masks!r}; expected the column of {form.name!r} with the masks, or None")
        if masks and form.name != "parquet":
            raise ValueError(f"masks is {masks!r}; only files of 'parquet' have columns of masks")
        return masks if isinstance(masks, str) and masks else None
    if not isinstance(masks, bool | None):
        raise TypeError(f"masks is {masks!r}; expected True, False or None: files of {form.name!r} have no columns")
    if masks is False:
        return None
    have = [form.has_masks(path) for path in paths]
    if masks is None and any(have) and not all(have):
        which, other = paths[have.index(True)], paths[have.index(False)]
        raise CorpusError(f"{which} has masks beside it, {other} has none; masks=False reads ids alone")
    if masks and not all(have):
        wanted = " and ".join(form.mask_files) or "such file at all"
        raise CorpusError(f"{paths[have.index(False)]}: masks is True, but there is no {wanted} beside it")
    return "" if have and all(have) else None


def _paths(files: Any, form: ReadFormat) -> list[Path]:
    """Return the files of ids that names stand for; raises as `expanded` does, and `CorpusError` for other files."""
    names = [files] if isinstance(files, str | os.PathLike) else files
    # the order of a set differs from run to run
    if isinstance(names, bytes | Mapping | Set | Shards | ShardPlan) or not isinstance(names, Iterable):
        raise TypeError(f"files is {type(files).__name__}; expected a path, a glob, a folder, or a list of these")
    found: list[Path] = []
    for number, name in enumerate(names):
        kind(f"files[{number}]", name, str | os.PathLike, "a str or a path")
        found += _paths_of(os.fspath(name), form)
    if not found:
        raise ValueError("files is empty; expected a path, a glob, a folder, or a list of these")
    return found


def _paths_of(name: str, form: ReadFormat) -> list[Path]:
    problem = "files of ids are mapped, so they must be on this machine"
    is_folder = names_folder(name)
    name = str(local_path(name, problem, "copy them", argument="files"))
    path, whole_name = Path(name), Path(name + form.suffix)
    if whole_name.is_file() and not is_folder:
        if path.is_dir():
            raise CorpusError(f"{name}: there is {whole_name}, too; add {form.suffix}, or a slash for this folder")
        return [whole_name]
    if path.is_dir() and form.listed is not None and (path / "index.json").is_file():
        return form.listed(path)
    if path.is_file():
        if not path.name.endswith(form.suffix):
            raise CorpusError(f"{path}: expected a {form.suffix} file, as {form.name!r} has them; sidecars are found")
        return [path]
    if not path.exists() and not glob.has_magic(name):
        problem = "no such folder" if is_folder else f"no such file, nor with the suffix {form.suffix}"
        raise FileNotFoundError(2, problem, name)
    below = [Path(str(each)) for each in expanded(name, as_text=True)]
    found = [each for each in below if each.name.endswith(form.suffix)]
    # a pair with masks has the suffixes of ids, too
    others = {suffixed(form.stem(each), more) for each in found for more in form.beside if more.endswith(form.suffix)}
    kept = [each for each in found if each not in others]
    if not kept:
        raise CorpusError(f"{name}: there is no {form.suffix} file, as {form.name!r} has them")
    return sorted(kept, key=_natural)


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a key by which 2 is before 10, as programs number their files."""
    parts = _DIGITS.split(str(path))
    return [(int(part) if number % 2 else 0, part) for number, part in enumerate(parts)]
