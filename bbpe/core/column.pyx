"""Texts in a column of Arrow, without an object for each (csrc/text/text_column.h), and the size of any batch of texts."""
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from bbpe.core.arrow cimport ArrowChunks
from bbpe.core.c_encode cimport bbpe_encode_bound, bbpe_encode_text
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_text cimport (
    BBPE_COLUMN_FINE, BBPE_COLUMN_OTHER, BBPE_ROW_FINE, BBPE_ROW_NULL, bbpe_arrow_array, bbpe_row_state,
    bbpe_text_column, bbpe_text_column_ends, bbpe_text_column_init, bbpe_text_column_row,
)
from bbpe.core.status cimport had
from bbpe.core.text_view cimport text_at, text_unit_size, text_view

from bbpe.core.arrow import is_arrow, type_name

# stub: Texts: TypeAlias = list[Text] | Column


def text_column(given: object) -> Column | None:
    """The texts of a column of Arrow; `None` if an object is none, `TypeError` if it holds no texts."""
    cdef Column self = Column()
    if not is_arrow(given) or not self.chunks.open(given):
        return None
    self._look()
    return self


cdef class Column:
    """The texts of a column, which is a sequence of their bytes: strings are UTF-8."""

    def __cinit__(self):
        self.chunks = ArrowChunks()

    def __dealloc__(self):
        bbpe_memory_free(self.parts)
        bbpe_memory_free(self.starts)

    def _look(self):
        """Make a column of each array."""
        cdef size_t i, n = self.chunks.count
        cdef bbpe_arrow_array empty
        self.parts = <bbpe_text_column *>had(bbpe_memory_new(n + 1, sizeof(bbpe_text_column)))
        self.starts = <size_t *>had(bbpe_memory_new(n + 1, sizeof(size_t)))
        memset(&empty, 0, sizeof(bbpe_arrow_array))
        if bbpe_text_column_init(&self.parts[n], &self.chunks.schema, &empty) == BBPE_COLUMN_OTHER:
            raise TypeError(
                f"a column of texts has strings or bytes, not the Arrow type {type_name(self.chunks.schema.format)}")
        self.starts[0] = 0
        for i in range(n):
            if bbpe_text_column_init(&self.parts[i], &self.chunks.schema, &self.chunks.arrays[i]) != BBPE_COLUMN_FINE:
                raise ValueError(f"chunk {i} of the column, counted from 0, does not have the buffers of its Arrow type")
            self.starts[i + 1] = self.starts[i] + self.parts[i].rows
        self.rows = self.starts[n]

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, size_t row) -> bytes:
        cdef text_view view
        self.open(&view, row)
        return PyBytes_FromStringAndSize(<const char *>view.text.units, view.length)

    def __iter__(self) -> Iterator[bytes]:
        return (self[row] for row in range(self.rows))

    cdef int open(self, text_view *view, size_t row) except -1:
        """Look at a text, as `text_open` does."""
        cdef size_t low = 0, high = self.chunks.count, middle
        cdef const uint8_t *text = NULL
        cdef bbpe_row_state problem
        if row >= self.rows:
            raise IndexError(f"row {row} of {self.rows}")
        while high - low > 1:
            middle = (low + high) // 2
            if self.starts[middle] <= row:
                low = middle
            else:
                high = middle
        view.length, view.has_buffer = 0, False
        problem = bbpe_text_column_row(&self.parts[low], row - self.starts[low], &text, &view.length)
        if problem != BBPE_ROW_FINE:
            raise self.problem(row, problem)
        view.text = bbpe_encode_text(text, 0)
        return 0

    cdef int64_t ends(self, int64_t *ends) except -1:
        """Put the bytes of all texts up to each one in `ends`; returns those of all."""
        cdef size_t i, row = 0
        cdef int64_t total = 0
        cdef bbpe_row_state problem = BBPE_ROW_FINE
        with nogil:
            for i in range(self.chunks.count):
                row = self.starts[i] + bbpe_text_column_ends(&self.parts[i], ends + self.starts[i], &total, &problem)
                if row < self.starts[i + 1]:
                    break
        if row < self.rows:
            raise self.problem(row, problem)
        return total

    cdef object problem(self, size_t row, bbpe_row_state problem):
        if problem == BBPE_ROW_NULL:
            return TypeError(
                f"text {row} of the batch, counted from 0, is null; expected a text: drop nulls or fill them first")
        return ValueError(f"text {row} of the batch, counted from 0, is not within the buffers of its Arrow column")


cpdef size_t most_ids(text: Text, size_t length):
    """How many ids so many characters or bytes of a text have at most."""
    if PyUnicode_Check(text):
        return bbpe_encode_bound(text_unit_size(text), length)
    return length


def extent(texts: Texts, int64_t[::1] ends not None) -> tuple[int, int]:
    """How long texts are together, in characters or bytes, and how many ids they have at most.

    What the latter is for all texts up to each one goes to `ends`, int64[n].  `TypeError` naming the first that is no text.
    """
    cdef Py_ssize_t i, n = len(texts)
    cdef int64_t length = 0, most = 0, own
    cdef int64_t *out = &ends[0] if n and n == ends.shape[0] else NULL
    if ends.shape[0] != n:
        raise ValueError(f"{ends.shape[0]} places for the ends of {n} texts")
    if isinstance(texts, Column):
        length = (<Column>texts).ends(out) if n else 0
        return length, length
    for i in range(n):
        text = text_at(texts, i)
        try:
            own = len(text)
        except TypeError:
            raise TypeError(
                f"text {i} of the batch, counted from 0: a text is str or bytes-like, not {type(text).__name__}") from None
        most += most_ids(text, own)
        length += own
        out[i] = most
    return length, most
