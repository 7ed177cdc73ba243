"""Texts of a batch, some of them at a time: looked at, encoded under one release of the GIL, and let go."""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_encode cimport bbpe_encode_bound, bbpe_encode_state, bbpe_encode_texts, bbpe_encoder
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.column cimport Column
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.status cimport check, had
from bbpe.core.text_view cimport text_at, text_close, text_open, text_view

cdef enum:
    GROUP_IDS = 1 << 19


cdef class TextGroup:
    """Memory for what is seen of some texts, too large for a thread's stack; for one call at a time."""

    def __cinit__(self):
        self.c = <text_group *>had(bbpe_memory_new(1, sizeof(text_group)))
        self.c.count = 0

    def __dealloc__(self):
        bbpe_memory_free(self.c)

    cdef int open(self, object texts, size_t start, size_t end) except -1:
        """Look at the first of texts[start:end), of a list or a column; `close` ends it, after an error too."""
        cdef text_group *c = self.c
        cdef Column column = None if type(texts) is list else texts
        cdef text_view *view
        c.count = c.bound = 0
        while start + c.count < end and c.count < GROUP and c.bound < GROUP_IDS:
            view = &c.views[c.count]
            if column is None:
                text_open(view, text_at(texts, start + c.count))
            else:
                column.open(view, start + c.count)
            c.texts[c.count], c.lengths[c.count] = view.text, view.length
            c.bound += bbpe_encode_bound(view.text.unit_size, view.length)
            c.count += 1
        return 0

    cdef void close(self) noexcept:
        cdef size_t i
        for i in range(self.c.count):
            text_close(&self.c.views[i])
        self.c.count = 0

    cdef int encode(self, const bbpe_encoder *encoder, bbpe_encode_state *state, uint32_t *ids) except -1:
        """Encode what is open; then signals are heard.  NULL: the numbers of ids are all that is wanted."""
        cdef text_group *c = self.c
        cdef bbpe_status status
        held = let_go(c.bound)
        status = bbpe_encode_texts(encoder, state, c.texts, c.lengths, c.count, ids, c.counts)
        take_back(held)
        check(status)
        PyErr_CheckSignals()
        return 0

    cdef size_t encode_to(
        self, const bbpe_encoder *encoder, bbpe_encode_state *state, object texts, size_t start, size_t end, uint32_t *ids,
        size_t most
    ) except 0:
        """Encode the next texts of a batch; returns how many texts these are.

        The numbers of ids are in `c.counts`, and the ids, at most so many, where the caller chooses.
        """
        try:
            self.open(texts, start, end)
            if self.c.bound > most:
                raise RuntimeError(f"texts from {start} on were replaced: the batch was changed while it was encoded")
            self.encode(encoder, state, ids)
            return self.c.count
        finally:
            self.close()


cdef int check_rows(size_t start, size_t end, const int64_t[::1] lengths) except -1:
    """Refuse rows for whose lengths there is no room."""
    if not start <= end <= <size_t>lengths.shape[0]:
        raise ValueError(f"{start}:{end} is not within {lengths.shape[0]} rows")
    return 0
