"""Windows: rows of n ids one after another, whatever documents they belong to; and the methods that make rows."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.row_views import RowMaker, WindowMaker
from ..lazy import npt
from ..tokenizer import Tokenizer
from .bins import Bins, Method, OnLong
from .policy import Token
from .row_set import Column, IdParts, Labels, RowSet


class Windows(RowSet):
    """Rows of n ids of all documents one after another, as `Shards.windows` returns them.

    Row i has the ids from `i * n` on.  With `labels="shift"` its labels are the ids from `i * n + 1` on: it reads
    n + 1 ids, and the last label is the first id of the next row.  Ids after the last whole row are in none; they are
    `dropped_tokens`.

    A row without other columns, masks or a dtype is a view of the mapped file, and cannot be written to.

    Attributes:
        n: The ids of a row.
        epoch: The epoch whose order rows have.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "abcdefgh"}')
        ...     rows = bbpe.shard(folder + "/a.jsonl", folder + "/out", tok).windows(3)
        ...     rows, rows[0]["input_ids"].tolist(), rows[0]["labels"].tolist(), rows.dropped_tokens
        (<bbpe.Windows: 2 rows of 3 tokens>, [64, 65, 66], [65, 66, 67], 1)

    """

    _method = "windows"

    def __len__(self) -> int:
        return max(self.tokens - self._shifted, 0) // self.n

    @property
    def _shifted(self) -> bool:
        return self._labels == "shift" and "labels" in self._columns

    @property
    def dropped_tokens(self) -> int:
        """The number of ids after the last row, without the first of them if it is the last label of the row."""
        rows = len(self)
        return self.tokens - rows * self.n - (self._shifted and rows > 0)

    def _made(self) -> RowMaker:
        return WindowMaker(self._open, self._before, None, self.n, self._columns, self._dtype, self._shifted)


class RowSource:
    """Documents of ids that give rows for training."""

    def _row_parts(self) -> IdParts:
        """Return the ids that rows are made of."""
        raise NotImplementedError

    @property
    def _row_tokenizer(self) -> Tokenizer | None:
        """The tokenizer that says which id pads, `None` if nobody named one."""
        raise NotImplementedError

    def windows(
        self, n: int, *, shuffle: int | None = None, labels: Labels = "shift",
        columns: Sequence[Column] = ("input_ids", "labels"), dtype: npt.DTypeLike | None = None,
        masks: bool | None = None,
    ) -> Windows:  # fmt: skip
        """Return rows of n ids, of all documents one after another.

        Nothing is written: rows are made when they are asked for, and only the numbers of ids of parts are read now.

        Args:
            n: The ids of a row.
            shuffle: The seed of an order of rows, which depends on it, the epoch and the number of rows alone; None is
                for the order of the corpus.
            labels: "shift" has the next id for each, "same" the same ids, for models that shift them.
            columns: The columns of a row: "input_ids", "labels", "position_ids" (from 0 in each document, and at the
                beginning of the row), "document_ids" (the documents of the row, from 0) and "cu_seqlens" (where
                documents begin in the row, and n).
            dtype: The dtype of ids and labels, such as "int64" for torch.  By default rows are views of mapped files,
                in the dtype of the files, which cannot be written to; with masks or other columns, int32 where ids
                fit.
            masks: Whether labels are -100 where a chat has nothing to learn; by default wherever documents are chats.

        Returns:
            The rows.

        Raises:
            CorpusError: A part is missing or damaged.
            ValueError: An argument has a wrong value, or `masks` is True and documents are texts.
            TypeError: An argument has the wrong type.
        """
        return Windows(
            self, self._row_parts(), n, shuffle=shuffle, labels=labels, columns=columns, dtype=dtype,
            masks=masks,
        )  # fmt: skip

    def bins(
        self, n: int, *, method: Method = "best_fit", shuffle: int | None = None, on_long: OnLong = "cut",
        pad: Token | None = None, ragged: bool = False, labels: Labels = "shift",
        columns: Sequence[Column] = ("input_ids", "labels", "position_ids", "document_ids"),
        dtype: npt.DTypeLike | None = None, masks: bool | None = None,
    ) -> Bins:  # fmt: skip
        """Return rows of at most n ids, of whole documents.

        Nothing is written.  The lengths of all documents are read now, and packed into an index of 8 bytes for each row
        and 2 for each document.

        Args:
            n: The most ids of a row.
            method: "best_fit" packs 65,536 documents that follow one another at a time, the longest first, each into
                the row with the least room that has enough; "greedy" keeps the order of documents, and begins a row
                where one does not fit.
            shuffle: The seed of an order of rows, as for `windows`.
            on_long: What becomes of documents of more than n ids: "cut" has rows of n ids, and packs the rest, "error"
                names the first one, "drop" leaves them out and counts them.
            pad: The token, or its id, for the rest of a row; None takes the one of the tokenizer, as `encode_padded`.
            ragged: Rows are as long as their documents, without padding.
            labels: "shift" has the next id of the document, and -100 at its end; "same" the same ids, for models that
                shift them.
            columns: The columns of a row, as for `windows`; "cu_seqlens" has another length in each row.
            dtype: The dtype of ids and labels; by default int32 where ids fit.
            masks: Whether labels are -100 where a chat has nothing to learn, as for `windows`.

        Returns:
            The rows; `efficiency` is the share of ids in them.

        Raises:
            CorpusError: A part is missing or damaged.
            ValueError: An argument has a wrong value, a document is too long, or there is no token to pad with.
            TypeError: An argument has the wrong type.
        """
        return Bins(
            self, self._row_parts(), None if ragged else self._row_tokenizer, n, method=method, on_long=on_long,
            pad=pad, ragged=ragged, shuffle=shuffle, labels=labels, columns=columns, dtype=dtype, masks=masks,
        )  # fmt: skip
