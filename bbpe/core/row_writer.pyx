"""Ids of texts -> rows: templates, pairs, truncation and padding (csrc/pipeline/template.h)."""
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from bbpe.lazy import np

cimport cython
from bbpe.core.c_base cimport BBPE_OK, bbpe_status
from bbpe.core.c_encode cimport bbpe_encode_state, bbpe_encode_state_loan, bbpe_encode_state_reserve
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_zeroed
from bbpe.core.c_pipeline cimport (
    BBPE_LONGEST_FIRST, BBPE_ONLY_FIRST, BBPE_ONLY_SECOND, BBPE_ROWS_FINE, BBPE_ROWS_NO_SECOND, BBPE_ROWS_STRIDE,
    BBPE_TEMPLATE_FIRST, BBPE_TEMPLATE_ID, BBPE_TEMPLATE_SECOND, bbpe_padded, bbpe_row_details, bbpe_row_rules,
    bbpe_row_texts, bbpe_rows, bbpe_rows_describe, bbpe_rows_free, bbpe_rows_join, bbpe_rows_plan, bbpe_rows_write,
    bbpe_template, bbpe_template_item,
)
from bbpe.core.encoder cimport Encoder
from bbpe.core.int_objects cimport IntObjects
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.status cimport check, had
from bbpe.core.text_group cimport GROUP, TextGroup
from bbpe.core.text_view cimport text_at

cdef enum:
    FEW_IDS = 1 << 17  # an upper bound of the ids of texts that are not worth threads
    MOST_TYPE = 255

# stub: _Rules: TypeAlias = tuple[int | None, str, str, int | None, int, int, str, int, int, np.dtype[Any]]


def texts_of_pairs(
    list items not None: list[Text | tuple[Text, Text]]
) -> tuple[list[Text], npt.NDArray[np.uint8]] | None:
    """The texts of items one after another, and how many each item has, uint8[n]; `None` if no item is a tuple."""
    cdef Py_ssize_t i, n = len(items)
    cdef uint8_t[::1] out
    cdef list texts = []
    for i in range(n):
        if PyTuple_Check(text_at(items, i)):
            break
    else:
        return None
    sizes = np.empty(n, np.uint8)
    out = sizes
    for i in range(n):
        item = text_at(items, i)
        if not PyTuple_Check(item):
            out[i] = 1
            texts.append(item)
        elif PyTuple_GET_SIZE(item) == 2:
            out[i] = 2
            texts += item
            for part in <tuple>item:
                if not hasattr(part, "__len__"):
                    raise TypeError(
                        f"item {i} of the batch, counted from 0: a text is str or bytes-like, not {type(part).__name__}")
        else:
            raise TypeError(f"item {i} of the batch is a tuple of {len(item)}; expected a text or a tuple of two texts")
    return texts, sizes


@cython.no_gc_clear
cdef class TextIds:
    """The ids of texts, uint32[total], and the beginning of each text's, int64[texts + 1]."""
    cdef const uint32_t *ids
    cdef const int64_t *offsets
    cdef size_t count, total           # texts, ids
    cdef const uint32_t[::1] id_view   # that these are of,
    cdef const int64_t[::1] offset_view
    cdef Encoder encoder               # or the encoder and its state
    cdef bbpe_encode_state *state
    cdef int64_t few[GROUP + 1]

    def __dealloc__(self):
        if self.state != NULL:
            self.encoder.states.give_back(self.state)

    @classmethod
    def of(cls, const uint32_t[::1] ids not None, const int64_t[::1] offsets not None) -> TextIds:
        """Return the ids and offsets that two arrays have."""
        cdef TextIds self = TextIds.__new__(TextIds)
        if offsets.shape[0] == 0:
            raise ValueError("there are no offsets; expected one more than texts")
        self.id_view, self.offset_view = ids, offsets
        self.ids, self.total = &ids[0] if ids.shape[0] else NULL, ids.shape[0]
        self.offsets, self.count = &offsets[0], offsets.shape[0] - 1
        return self

    @classmethod
    def encoded(cls, Encoder encoder not None, texts: Texts) -> TextIds | None:
        """Return the ids of texts without special tokens, encoded by this thread; `None` if several threads pay."""
        cdef TextIds self
        cdef TextGroup group
        cdef size_t i, n = len(texts)
        if n > GROUP or encoder.splitter is None:
            return None
        group, self = TextGroup(), TextIds.__new__(TextIds)
        try:
            group.open(texts, 0, n)
            if group.c.count < n or group.c.bound > FEW_IDS:
                return None
            self.encoder, self.state = encoder, encoder.states.borrow(group.c.bound)
            check(bbpe_encode_state_reserve(self.state, group.c.bound))
            group.encode(encoder.states.encoder(), self.state, bbpe_encode_state_loan(self.state).ids)
            self.few[0] = 0
            for i in range(n):
                self.few[i + 1] = self.few[i] + <int64_t>group.c.counts[i]
        except TypeError:
            return None  # whoever encodes the batch names the text
        finally:
            group.close()
        self.ids, self.total = bbpe_encode_state_loan(self.state).ids, self.few[n]
        self.offsets, self.count = self.few, n
        return self

    def arrays(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Copies of the ids and of their offsets."""
        cdef uint32_t[::1] ids
        cdef int64_t[::1] offsets
        first, second = np.empty(self.total, np.uint32), np.empty(self.count + 1, np.int64)
        ids, offsets = first, second
        if self.total:
            memcpy(&ids[0], self.ids, self.total * sizeof(uint32_t))
        memcpy(&offsets[0], self.offsets, (self.count + 1) * sizeof(int64_t))
        return first, second


cdef object empty = None, ID = None, FLAG = None, TYPE = None  # these take time to look up


cdef int look_up() except -1:
    global empty, ID, FLAG, TYPE
    if empty is None:
        ID, FLAG, TYPE, empty = np.int64, np.bool_, np.uint8, np.empty
    return 0


cdef size_t put_form(bbpe_template *form, bbpe_template_item *items, object given, bint adds) except? 0:
    """Make a form of the items of a template, with its own ids or without; returns the highest type id."""
    cdef size_t highest = 0
    memset(form, 0, sizeof(bbpe_template))
    form.items = items
    for item, type_id in given:
        highest = max(highest, <size_t>type_id)
        items.type = <uint8_t>min(<size_t>type_id, <size_t>MOST_TYPE)
        if item == "A" or item == "B":
            items.kind = BBPE_TEMPLATE_FIRST if item == "A" else BBPE_TEMPLATE_SECOND
            form.uses[item == "B"] += 1
            form.has_second_before |= item == "B" and form.uses[0] == 0
        elif adds:
            items.kind, items.id = BBPE_TEMPLATE_ID, item
            form.added += 1
        else:
            continue
        form.count += 1
        items += 1
    return highest


cdef class RowWriter:
    """Writes rows of ids by the forms of a template, of one text and of a pair, which are sequences of `(item, type id)` as in
    `Template`; immutable, shared by any number of threads.  All ids are below `id_count`.

    Methods get the ids of all texts of a batch, the number of texts of each item, uint8[items], or None for one each, and
    whether the template's own ids are added.
    """
    cdef bbpe_template_item *items
    cdef bbpe_template forms[2][2]  # without and with their own ids: of one text, of a pair
    cdef IntObjects ints
    cdef readonly size_t highest_type

    def __cinit__(
        self, single: Sequence[tuple[int | str, int]], pair: Sequence[tuple[int | str, int]], size_t id_count
    ):
        cdef size_t at = 0, adds
        self.ints = IntObjects(id_count)
        self.items = <bbpe_template_item *>had(bbpe_memory_zeroed(2 * (len(single) + len(pair)), sizeof(bbpe_template_item)))
        for adds in range(2):
            for i, form in enumerate((single, pair)):
                self.highest_type = max(
                    self.highest_type, put_form(&self.forms[adds][<int>i], self.items + at, form, adds))
                at += len(form)

    def __dealloc__(self):
        bbpe_memory_free(self.items)

    def added(self, bint pair) -> int:
        """The number of ids that a template adds to one text, or to a pair."""
        return self.forms[1][pair].added

    cdef int _plan(self, bbpe_rows *rows, bbpe_row_rules *rules, TextIds ids, const uint8_t[::1] sizes, bint adds) except -1:
        cdef bbpe_row_texts texts
        cdef bbpe_status status
        rules.single, rules.pair = &self.forms[adds][0], &self.forms[adds][1]
        texts.offsets, texts.text_count = ids.offsets, ids.count
        texts.item_count = ids.count if sizes is None else <size_t>sizes.shape[0]
        texts.sizes = &sizes[0] if sizes is not None and sizes.shape[0] else NULL
        memset(rows, 0, sizeof(bbpe_rows))
        held = let_go(ids.total)
        status = bbpe_rows_plan(rows, rules, &texts, ids.total)
        take_back(held)
        if status == BBPE_OK and rows.problem == BBPE_ROWS_FINE:
            return 0
        problem = problem_of(rows, rules)
        bbpe_rows_free(rows)
        check(status)
        raise ValueError(problem)

    def join(
        self, TextIds ids not None, const uint8_t[::1] sizes: npt.NDArray[np.uint8] | None, bint adds
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The rows one after another, uint32[total], and the beginning of each, int64[items + 1]."""
        cdef bbpe_rows rows
        cdef bbpe_row_rules rules
        cdef uint32_t[::1] out
        cdef int64_t[::1] starts
        memset(&rules, 0, sizeof(rules))
        rules.limit = <size_t>-1
        self._plan(&rows, &rules, ids, sizes, adds)
        try:
            joined, offsets = np.empty(rows.total, np.uint32), np.empty(rows.count + 1, np.int64)
            out, starts = joined, offsets
            with nogil:
                bbpe_rows_join(&rows, &rules, ids.ids, &out[0] if rows.total else NULL, &starts[0])
            return joined, offsets
        finally:
            bbpe_rows_free(&rows)

    def lists(
        self, TextIds ids not None, const uint8_t[::1] sizes: npt.NDArray[np.uint8] | None, bint adds
    ) -> list[list[int]]:
        """The rows as lists of int."""
        cdef const uint32_t[::1] joined
        cdef const int64_t[::1] starts
        cdef const uint32_t *source
        cdef Py_ssize_t i
        cdef list rows = []
        cdef size_t count
        joined, starts = self.join(ids, sizes, adds)
        source = &joined[0] if joined.shape[0] else NULL
        for i in range(starts.shape[0] - 1):
            count = <size_t>(starts[i + 1] - starts[i])
            self.ints.add_lists(rows, source, &count, 1)
            source += count
        IntObjects.track_lists(rows)
        return rows

    def padded(
        self, TextIds ids not None, const uint8_t[::1] sizes: npt.NDArray[np.uint8] | None, bint adds, rules: _Rules
    ) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.bool_], RowDetails]:
        """The rows as arrays of one length by the fields of `RowRules`: the ids, a mask that is false at padding, and the
        arrays that callers seldom ask for."""
        cdef RowDetails details = RowDetails.__new__(RowDetails)
        cdef bbpe_row_rules *c = &details.rules
        cdef bbpe_row_details *to = &details.to
        limit, strategy, cut_side, stride, pad_id, pad_type_id, side, length, multiple, dtype = rules
        c.limit = <size_t>-1 if limit is None else limit
        c.strategy = (BBPE_LONGEST_FIRST if strategy == "longest_first" else
                      BBPE_ONLY_FIRST if strategy == "only_first" else BBPE_ONLY_SECOND)
        c.from_left, c.continues = cut_side == "left", stride is not None
        c.stride = 0 if stride is None else stride
        self._plan(&details.rows, c, ids, sizes, adds)
        details.writer = self  # has the templates
        to.pads_left, to.pad_type = side == "left", pad_type_id
        to.width = max(details.rows.longest, <size_t>length)
        to.width += (<size_t>multiple - to.width % <size_t>multiple) % <size_t>multiple
        padded, mask = details.written(ids.ids, pad_id, dtype)
        return padded, mask, details


@cython.no_gc_clear
cdef class RowDetails:
    """The arrays of padded rows that callers seldom ask for, made at their first use."""
    cdef RowWriter writer
    cdef bbpe_rows rows
    cdef bbpe_row_rules rules
    cdef bbpe_row_details to
    cdef tuple arrays

    def __dealloc__(self):
        bbpe_rows_free(&self.rows)

    @classmethod
    def of(cls, *arrays: npt.NDArray[Any]) -> RowDetails:
        """The details that have these arrays: the type ids, the special mask, the items and the lengths."""
        cdef RowDetails self = RowDetails.__new__(RowDetails)
        self.arrays = arrays
        return self

    def __reduce__(self):  # -> tuple[Any, ...]
        return RowDetails.of, self.all()

    cdef tuple written(self, const uint32_t *ids, uint64_t pad_id, object dtype):
        """The ids and the mask."""
        cdef bbpe_padded to
        cdef Py_buffer views[2]
        cdef tuple arrays, shape = (self.rows.count, self.to.width)
        look_up()
        arrays = empty(shape, dtype), empty(shape, FLAG)
        to.width, to.pads_left, to.pad_id, to.id_size = self.to.width, self.to.pads_left, pad_id, dtype.itemsize
        open_buffers(arrays, views)
        to.ids, to.mask = views[0].buf, <uint8_t *>views[1].buf
        held = let_go(self.rows.total)
        bbpe_rows_write(&self.rows, &self.rules, ids, &to)
        take_back(held)
        close_buffers(views, 2)
        return arrays

    cpdef tuple all(self):  # -> tuple[npt.NDArray[Any], ...]
        """The type ids, uint8[n, m]; a mask that is true at padding and at ids of the template, bool[n, m]; each row's item
        and number of ids, int64[n]."""
        cdef Py_buffer views[4]
        cdef bbpe_row_details to = self.to
        if self.arrays is not None:
            return self.arrays
        look_up()
        shape, count = (self.rows.count, to.width), self.rows.count
        arrays = empty(shape, TYPE), empty(shape, FLAG), empty(count, ID), empty(count, ID)
        open_buffers(arrays, views)
        to.types, to.special = <uint8_t *>views[0].buf, <uint8_t *>views[1].buf
        to.items, to.counts = <int64_t *>views[2].buf, <int64_t *>views[3].buf
        with nogil:
            bbpe_rows_describe(&self.rows, &self.rules, &to)
        close_buffers(views, 4)
        if self.arrays is None:  # another thread may have been first
            self.arrays = arrays
        return self.arrays


cdef int open_buffers(tuple arrays, Py_buffer *views) except -1:
    """Lend the memory of arrays."""
    cdef size_t count = 0
    try:
        for array in arrays:
            PyObject_GetBuffer(array, &views[count], PyBUF_WRITABLE)
            count += 1
    except BaseException:
        close_buffers(views, count)
        raise
    return 0


cdef void close_buffers(Py_buffer *views, size_t count) noexcept:
    cdef size_t i
    for i in range(count):
        PyBuffer_Release(&views[i])


cdef str problem_of(const bbpe_rows *rows, const bbpe_row_rules *rules):
    """Return the message about an item that cannot be truncated."""
    item = rows.problem_item
    if rows.problem == BBPE_ROWS_STRIDE:
        return (f"stride is {rules.stride}, but rows have room for {rows.problem_room} ids of a text of item {item} of the "
                "batch; expected less, or a larger max_length")
    name = "only_first" if rules.strategy == BBPE_ONLY_FIRST else "only_second"
    if rows.problem == BBPE_ROWS_NO_SECOND:
        return (f'truncation is "only_second", but item {item} of the batch is one text and has more than {rules.limit} ids; '
                "expected pairs, or another truncation")
    return (f'truncation is "{name}", but item {item} of the batch has more than max_length = {rules.limit} ids without that '
            'text; expected "longest_first", or a larger max_length')
