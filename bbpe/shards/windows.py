"""Windows: rows of n ids one after another, whatever documents they belong to."""

from __future__ import annotations

from ..core.row_views import RowMaker, WindowMaker
from .row_set import RowSet


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
    def dropped_tokens(self) -> int:  # type: ignore[override]
        """The ids after the last row; the one after it is its last label, and counts as used."""
        rows = len(self)
        return self.tokens - rows * self.n - (self._shifted and rows > 0)

    def _made(self) -> RowMaker:
        return WindowMaker(self._open, self._before, None, self.n, self._columns, self._dtype, self._shifted)
