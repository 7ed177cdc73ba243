"""Ids -> bytes and text: measure what the ids decode to, make the output, fill it in place."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from bbpe.core.budget cimport keep_freed
from bbpe.core.c_decode cimport (
    bbpe_id_array, bbpe_text_size, bbpe_text_unit, bbpe_token_bytes_arena, bbpe_token_bytes_free, bbpe_token_bytes_get,
    bbpe_token_bytes_init, bbpe_token_bytes_join, bbpe_token_bytes_measure, bbpe_token_bytes_set, bbpe_token_text_fill,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_zeroed, bbpe_pages_collapse
from bbpe.core.c_tables cimport bbpe_pretoken_table
from bbpe.core.id_source cimport IdSource
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.status cimport check, had
from bbpe.core.token_table cimport TokenTable

from functools import partial

from bbpe.lazy import np

from bbpe.core.id_source import as_int
from bbpe.errors import TokenIdError

cdef extern from "base/atomic.h" nogil:
    uint32_t BBPE_ATOMIC_LOAD(const uint32_t *word)

cdef extern from *:
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 highest)
    void *PyUnicode_DATA(object text)

cdef enum:
    RANGE = 1 << 18   # ids that are worth a thread


cdef inline Py_UCS4 _highest(const bbpe_text_size *size) noexcept nogil:
    """The highest code point that a text of this size may have, in the steps of PyUnicode_New."""
    if size.leads == 0:
        return 0x7F
    return 0xFF if bbpe_text_unit(size) == 1 else 0xFFFF if bbpe_text_unit(size) == 2 else 0x10FFFF


cdef inline bint _fits(const bbpe_text_size *size, uint32_t seen) noexcept nogil:
    """Whether a text of this size needs its width, having these characters: a str is never wider than it must be."""
    return size.leads == 0 or seen > (0x7F if _highest(size) == 0xFF else 0xFF if _highest(size) == 0xFFFF else 0xFFFF)


# stub: _Run: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


cdef class TokenBytes:
    """The bytes of every id of a vocabulary and of special tokens; immutable, shared by any number of threads."""

    def __cinit__(self, vocab: Mapping[int, bytes], specials: Mapping[int, bytes] | None = None):
        cdef bint is_table = isinstance(vocab, TokenTable)
        cdef TokenTable tokens = vocab if is_table else TokenTable({})
        cdef dict others = dict(specials or {}) if is_table else {**vocab, **(specials or {})}
        cdef const bbpe_pretoken_table *table = &tokens.c.tokens
        cdef size_t id_count = tokens.c.id_count, arena = 0, i
        cdef bytes token
        for token_id, token in others.items():
            arena += bbpe_token_bytes_arena(len(token))
            id_count = max(id_count, 1 + <size_t>token_id)
        for i in range(table.count):
            arena += bbpe_token_bytes_arena(table.entries[i].length)
        check(bbpe_token_bytes_init(&self.table, id_count, arena))
        for i in range(table.count):
            bbpe_token_bytes_set(&self.table, <size_t>table.entries[i].value, table.arena + table.entries[i].start,
                                 table.entries[i].length)
        for token_id, token in others.items():
            bbpe_token_bytes_set(
                &self.table, <size_t>token_id, <const uint8_t *>PyBytes_AS_STRING(token), len(token))

    def __dealloc__(self):
        bbpe_token_bytes_free(&self.table)

    @property
    def id_count(self) -> int:
        """The highest id plus one."""
        return self.table.id_count

    def token(self, token_id: int) -> bytes:
        """The bytes of one id; `TokenIdError` when there is no such id."""
        cdef size_t length = 0
        cdef const uint8_t *found = NULL
        token_id = as_int(token_id)
        if 0 <= token_id < self.table.id_count:
            found = bbpe_token_bytes_get(&self.table, <size_t>token_id, &length)
        if found == NULL:
            raise self._error(token_id)
        return PyBytes_FromStringAndSize(<const char *>found, length)

    def spans(self, const uint32_t[::1] ids not None) -> npt.NDArray[np.int64]:
        """Where each of ids, uint32[n], begins and ends in the bytes of all: int64[n, 2]; `TokenIdError` as ever."""
        cdef size_t i, n = ids.shape[0], length = 0
        cdef int64_t at = 0
        cdef uint32_t token_id = 0
        result = np.empty((n, 2), dtype=np.int64)
        cdef int64_t[:, ::1] out = result
        with nogil:
            for i in range(n):
                token_id = BBPE_ATOMIC_LOAD(&ids[i])
                if token_id >= self.table.id_count or bbpe_token_bytes_get(&self.table, token_id, &length) == NULL:
                    break
                out[i, 0] = at
                at += <int64_t>length
                out[i, 1] = at
            else:
                i = n
        if i < n:
            raise self._error(token_id)
        return result

    def lengths(self, const uint32_t[::1] ids not None) -> npt.NDArray[np.int64]:
        """The bytes of each of ids, uint32[n]: int64[n]; `TokenIdError` as ever."""
        spans = self.spans(ids)
        return spans[:, 1] - spans[:, 0]

    def join(self, ids: _Ids, run: _Run = map) -> bytes:
        """The bytes of ids, one after another: a sequence of int or any integer array of one dimension.

        `run(function, ranges)` is an ordered map, over threads say; it is called when there are many ids.
        `TokenIdError` names the first bad id.
        """
        return self._join(IdSource(ids), run)

    def rows(
        self, ids: _Ids, const int64_t[::1] starts not None, const int64_t[::1] ends not None,
        heads: Sequence[bytes] | None = None
    ) -> tuple[bytes, npt.NDArray[np.int64]]:
        """The bytes of rows, one after another, and where each of them ends in these, int64[rows].

        Row i is ids[starts[i]:ends[i]], after the bytes heads[i]; rows are in order and do not overlap.  `TokenIdError`
        names the first bad id."""
        cdef IdSource source = IdSource(ids)
        cdef Py_ssize_t i, n = starts.shape[0]
        cdef size_t count = source.array.count, place = 0, first
        cdef list given = [] if heads is None else list(heads)
        cdef bytes result, before = b"".join(given)
        cdef const uint8_t *head = <const uint8_t *>PyBytes_AS_STRING(before)
        cdef uint8_t *out
        cdef int64_t at = 0
        cdef bbpe_text_size size = bbpe_text_size(0, 0, 0)
        cdef bint good = True
        if ends.shape[0] != n or (heads is not None and len(given) != n):
            raise ValueError(f"{n} starts of rows, and other numbers of ends or heads; expected as many")
        # where rows begin and end, and the bytes before each
        bounds = np.zeros((n, 3), np.int64)
        stops = np.empty(n, np.int64)
        cdef int64_t[:, ::1] own = bounds
        cdef int64_t[::1] sizes = stops
        for i in range(n):
            own[i, 0], own[i, 1] = starts[i], ends[i]
            if not at <= own[i, 0] <= own[i, 1] <= <int64_t>count:
                raise ValueError(f"row {i} is ids {own[i, 0]} to {own[i, 1]}; expected a part of {count} ids after {at}")
            at = own[i, 1]
            if given:
                own[i, 2] = len(given[i])
        with nogil:
            for i in range(n):
                size.bytes += <size_t>own[i, 2]
                place = bbpe_token_bytes_measure(
                    &self.table, &source.array, <size_t>own[i, 0], <size_t>own[i, 1], &size)
                if place < <size_t>own[i, 1]:
                    break
                sizes[i] = <int64_t>size.bytes
            else:
                i = n
        if i < n:
            raise self._error(source.at(place))
        result = PyBytes_FromStringAndSize(NULL, size.bytes)
        out = <uint8_t *>PyBytes_AS_STRING(result)
        with nogil:
            i, at = 0, 0
            while i < n and good:
                memcpy(out + at, head, <size_t>own[i, 2])
                head += own[i, 2]
                at += own[i, 2]
                first = <size_t>own[i, 0]
                # rows side by side are joined at once
                while i + 1 < n and own[i + 1, 0] == own[i, 1] and own[i + 1, 2] == 0:
                    i += 1
                good = bbpe_token_bytes_join(
                    &self.table, &source.array, first, <size_t>own[i, 1], out + at, <size_t>(sizes[i] - at), False)
                at = sizes[i]
                i += 1
        _unchanged(good)
        return result, stops

    def text(self, ids: _Ids, errors: str = "replace", run: _Run = map, size_t start = 0) -> str:
        """The text of ids from `start` on, otherwise as `join`; `errors` as in `bytes.decode`."""
        cdef IdSource source = IdSource(ids)
        cdef bbpe_text_size size
        cdef uint32_t seen = 0
        cdef size_t count
        cdef void *out
        cdef bint good
        source.skip(start)
        count = source.array.count
        parts = self._measure(source, run, &size)
        result = PyUnicode_New(size.chars, _highest(&size))
        out = PyUnicode_DATA(result)
        bbpe_pages_collapse(out, size.chars * bbpe_text_unit(&size))
        if parts is not None:
            found = list(run(partial(self._fill_range, source, result, size.leads), parts))
            good = None not in found
            for part in found if good else ():
                seen |= <uint32_t>part
        else:
            held = let_go(count)
            good = self._fill(&source.array, 0, count, &size, out, size.chars, &seen)
            take_back(held)
        if good and _fits(&size, seen):
            return result
        return self._join(source, run).decode("utf-8", errors)

    def texts(self, ids: _Ids, offsets: npt.NDArray[np.int64], errors: str = "replace") -> list[str]:
        """The texts of rows: row i is ids[offsets[i]:offsets[i + 1]]; `offsets`: int64[rows + 1], never falling."""
        cdef IdSource source = IdSource(ids)
        cdef const int64_t[::1] ends = np.array(offsets, dtype=np.int64)
        cdef Py_ssize_t i, n = max(ends.shape[0] - 1, 0)
        cdef row *rows = <row *>had(bbpe_memory_zeroed(n, sizeof(row)))
        try:
            for i in range(n):
                if not 0 <= ends[i] <= ends[i + 1] <= <int64_t>source.array.count:
                    raise ValueError(
                        f"row {i} is ids {ends[i]} to {ends[i + 1]}; expected a part of {source.array.count} ids")
                rows[i].ids = source.array
                rows[i].ids.data = <const uint8_t *>source.array.data + ends[i] * source.array.stride
                rows[i].ids.count = <size_t>(ends[i + 1] - ends[i])
            return self._texts(rows, n, errors, lambda i, place: source.at(ends[i] + place))
        finally:
            bbpe_memory_free(rows)

    def texts_of(
        self, batch: Iterable[_Ids], errors: str = "replace", starts: Iterable[int] | None = None
    ) -> list[str]:
        """The texts of a sequence of rows, each of them ids as `join` takes them, without the first `starts[i]` ids."""
        cdef list sources = [IdSource(ids) for ids in batch]
        cdef Py_ssize_t i, n = len(sources)
        for source, start in zip(sources, starts or ()):
            (<IdSource>source).skip(start)
        cdef row *rows = <row *>had(bbpe_memory_zeroed(n, sizeof(row)))
        try:
            for i in range(n):
                rows[i].ids = (<IdSource>sources[i]).array
            return self._texts(rows, n, errors, lambda i, place: (<IdSource>sources[i]).at(place))
        finally:
            bbpe_memory_free(rows)

    cdef list _texts(self, row *rows, Py_ssize_t n, object errors, object id_at):
        cdef Py_ssize_t i, bad = -1
        cdef size_t place = 0
        cdef uint32_t seen
        cdef bytes joined
        with nogil:
            for i in range(n):
                place = bbpe_token_bytes_measure(&self.table, &rows[i].ids, 0, rows[i].ids.count, &rows[i].size)
                if place < rows[i].ids.count:
                    bad = i
                    break
        if bad >= 0:
            raise self._error(id_at(bad, place))
        result = []
        for i in range(n):
            text = PyUnicode_New(rows[i].size.chars, _highest(&rows[i].size))
            rows[i].out = PyUnicode_DATA(text)
            result.append(text)
        with nogil:
            for i in range(n):
                seen = 0
                rows[i].good = self._fill(
                    &rows[i].ids, 0, rows[i].ids.count, &rows[i].size, rows[i].out, rows[i].size.chars, &seen,
                ) and _fits(&rows[i].size, seen)
        for i in range(n):
            if not rows[i].good:
                joined = PyBytes_FromStringAndSize(NULL, rows[i].size.bytes)
                _unchanged(bbpe_token_bytes_join(
                    &self.table, &rows[i].ids, 0, rows[i].ids.count, <uint8_t *>PyBytes_AS_STRING(joined),
                    rows[i].size.bytes, False))
                result[i] = joined.decode("utf-8", errors)
        return result

    cdef object _measure(self, IdSource ids, object run, bbpe_text_size *size):
        """Measure all ids; the parts of the work when there are many, else None."""
        parts = self._measure_parts(ids, run, size)
        # the ids of a list, and bytes and a text of them
        keep_freed(ids.array.count * sizeof(uint32_t) + size.bytes + size.chars * bbpe_text_unit(size))
        return parts

    cdef object _measure_parts(self, IdSource ids, object run, bbpe_text_size *size):
        cdef size_t count = ids.array.count, good
        size[0] = bbpe_text_size(0, 0, 0)
        if count >= 2 * RANGE:
            ranges = [(start, min(start + RANGE, count)) for start in range(0, count, RANGE)]
            parts = []
            for (start, stop), (length, chars, leads) in zip(
                ranges, run(partial(self._measure_range, ids), ranges), strict=True
            ):
                parts.append((start, stop, size.bytes, length, size.chars, chars))
                size[0] = bbpe_text_size(size.bytes + <size_t>length, size.chars + <size_t>chars,
                                         size.leads | <uint32_t>leads)
            return parts
        held = let_go(count)
        good = bbpe_token_bytes_measure(&self.table, &ids.array, 0, count, size)
        take_back(held)
        if good < count:
            raise self._error(ids.at(good))
        return None

    cdef bint _fill(
        self, const bbpe_id_array *ids, size_t start, size_t stop, const bbpe_text_size *size, void *out,
        size_t chars, uint32_t *seen,
    ) noexcept nogil:
        """Fill in the characters of a part of a text whose size this is."""
        if size.leads == 0:
            return bbpe_token_bytes_join(&self.table, ids, start, stop, <uint8_t *>out, chars, True)
        return bbpe_token_text_fill(&self.table, ids, start, stop, out, chars, bbpe_text_unit(size), seen)

    cdef bytes _join(self, IdSource ids, object run):
        cdef bbpe_text_size size
        cdef size_t count = ids.array.count
        cdef bytes result
        cdef uint8_t *out
        cdef bint good
        parts = self._measure(ids, run, &size)
        result = PyBytes_FromStringAndSize(NULL, size.bytes)
        out = <uint8_t *>PyBytes_AS_STRING(result)
        bbpe_pages_collapse(out, size.bytes)
        if parts is not None:
            good = all(list(run(partial(self._join_range, ids, result), parts)))
        else:
            held = let_go(count)
            good = bbpe_token_bytes_join(&self.table, &ids.array, 0, count, out, size.bytes, False)
            take_back(held)
        _unchanged(good)
        return result

    # what threads do of one call; a result that nobody else has seen yet is filled in place

    def _measure_range(self, IdSource ids, part):
        cdef size_t start = part[0], stop = part[1], good
        cdef bbpe_text_size size = bbpe_text_size(0, 0, 0)
        with nogil:
            good = bbpe_token_bytes_measure(&self.table, &ids.array, start, stop, &size)
        if good < stop:
            raise self._error(ids.at(good))
        return size.bytes, size.chars, size.leads

    def _join_range(self, IdSource ids, bytes result, part):
        cdef size_t start = part[0], stop = part[1], at = part[2], length = part[3]
        cdef uint8_t *out = <uint8_t *>PyBytes_AS_STRING(result) + at
        cdef bint good
        with nogil:
            good = bbpe_token_bytes_join(&self.table, &ids.array, start, stop, out, length, False)
        return good

    def _fill_range(self, IdSource ids, str result, uint32_t leads, part):
        """The characters of a range, ORed; None when they are not what they should be."""
        cdef size_t start = part[0], stop = part[1], at = part[4], chars = part[5]
        cdef bbpe_text_size size = bbpe_text_size(0, 0, leads)
        cdef uint8_t *out = <uint8_t *>PyUnicode_DATA(result) + at * bbpe_text_unit(&size)
        cdef uint32_t seen = 0
        cdef bint good
        with nogil:
            good = self._fill(&ids.array, start, stop, &size, out, chars, &seen)
        return seen if good else None

    def _error(self, token_id):
        if 0 <= token_id < self.table.id_count:
            return TokenIdError(f"id {token_id} is a hole in the vocabulary; no token has it")
        return TokenIdError(f"id {token_id} is out of range; expected 0 to {self.table.id_count - 1}")


cdef int _unchanged(bint good) except -1:
    if not good:
        raise RuntimeError("the array of ids was written to while it was decoded")
    return 0
