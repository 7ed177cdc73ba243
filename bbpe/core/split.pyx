"""Compiled splitters, and the byte lengths of pretokens that a regex found."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from bbpe.lazy import np

from bbpe.core.c_base cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_reserve
from bbpe.core.c_split cimport (
    BBPE_CONTRACTION_LEAD, BBPE_CONTRACTION_LEAD_FOLD, BBPE_CONTRACTION_NONE, BBPE_CONTRACTION_SUFFIX_FOLD,
    BBPE_ISA_AUTO, BBPE_ISA_AVX2, BBPE_ISA_AVX512, BBPE_ISA_NEON, BBPE_ISA_SCALAR, BBPE_SET_CJK, BBPE_SET_HAN,
    BBPE_SET_L, BBPE_SET_LM, BBPE_SET_M, BBPE_SET_N, BBPE_SET_PREFIX, BBPE_SET_PREFIX_NO_PUNCT, BBPE_SET_PS,
    BBPE_SET_REST, BBPE_SET_SPACE, BBPE_SPLIT_NO_CUT, BBPE_TAIL_NEWLINES, BBPE_TAIL_NEWLINES_SLASH, BBPE_TAIL_NONE,
    BBPE_WORDS_BERT, BBPE_WORDS_BERT_APART, BBPE_WORDS_BLANK, BBPE_WORDS_NONE, BBPE_WORDS_SPACE, bbpe_scheme,
    bbpe_split_cut, bbpe_split_row, bbpe_split_select, bbpe_split_unicode_version, c_bool,
)
from bbpe.core.status cimport check

UNICODE_VERSION: str = (<bytes>bbpe_split_unicode_version()).decode()

cdef dict _ISA_CODES = {
    "auto": BBPE_ISA_AUTO,
    "scalar": BBPE_ISA_SCALAR,
    "avx2": BBPE_ISA_AVX2,
    "avx512": BBPE_ISA_AVX512,
    "neon": BBPE_ISA_NEON,
}
cdef dict _CONTRACTIONS = {
    "none": BBPE_CONTRACTION_NONE,
    "lead": BBPE_CONTRACTION_LEAD,
    "lead_fold": BBPE_CONTRACTION_LEAD_FOLD,
    "suffix_fold": BBPE_CONTRACTION_SUFFIX_FOLD,
}
cdef dict _PREFIXES = {"space": BBPE_SET_SPACE, "any": BBPE_SET_PREFIX, "no_punct": BBPE_SET_PREFIX_NO_PUNCT}
cdef dict _WORDS = {"L": BBPE_SET_L, "LM": BBPE_SET_LM}
cdef dict _RESTS = {"not_sLN": BBPE_SET_REST, "not_sLMN": BBPE_SET_REST & ~BBPE_SET_M, "PS": BBPE_SET_PS}
cdef dict _WORDS_OF = {
    "none": BBPE_WORDS_NONE, "space": BBPE_WORDS_SPACE, "blank": BBPE_WORDS_BLANK, "bert": BBPE_WORDS_BERT,
    "bert_apart": BBPE_WORDS_BERT_APART,
}
cdef dict _TAILS = {
    "none": BBPE_TAIL_NONE, "newlines": BBPE_TAIL_NEWLINES, "newlines_slash": BBPE_TAIL_NEWLINES_SLASH,
}


cdef bbpe_scheme _row_of(scheme) except *:
    """A `bbpe.splitting.scheme.Scheme` as the C code has it: sets of classes for the names of sets."""
    return bbpe_scheme(
        contraction=_CONTRACTIONS[scheme.contraction],
        han_run=scheme.han_run,
        prefix=_PREFIXES[scheme.prefix],
        word=_WORDS[scheme.word] & ~(BBPE_SET_HAN if scheme.han_run else 0),
        cased=scheme.cased,
        number_max=scheme.number_max,
        number_space=scheme.number_space,
        rest=_RESTS[scheme.rest],
        tail=_TAILS[scheme.tail],
        newline=scheme.newline,
        end_first=scheme.end_first,
        apart=(BBPE_SET_N if scheme.numbers_apart else 0) | (BBPE_SET_CJK if scheme.cjk_apart else 0),
        ascii_word=scheme.ascii_word,
        words=_WORDS_OF[scheme.words],
        by_line=scheme.by_line,
        unused=0,
        joins=NULL,
    )


cdef object _name_of(const bbpe_scheme *scheme):
    cdef const char *name
    cdef const bbpe_scheme *row
    cdef size_t index = 0
    while True:
        row = bbpe_split_row(index, &name)
        if row == NULL:
            return None
        if memcmp(row, scheme, sizeof(bbpe_scheme)) == 0:
            return name.decode()
        index += 1


cdef class Splitter:
    """Splits by a scheme, with one instruction set; immutable, shared by any number of threads.

    `isa` is "auto", "scalar", "avx2", "avx512" or "neon"; `ValueError` when this machine lacks it.
    `specialised` names the row of the scheme table that it is compiled for; None: the row is read at run time.
    """

    def __cinit__(self, scheme not None: Scheme, str isa not None="auto"):
        if isa not in _ISA_CODES:
            raise ValueError(f"isa is {isa!r}; expected one of {', '.join(map(repr, _ISA_CODES))}")
        self.row = _row_of(scheme)
        if scheme.joins is not None:
            if len(scheme.joins) != sizeof(self.joins):
                raise ValueError(f"joins are {len(scheme.joins)} bytes; expected {sizeof(self.joins)}")
            memcpy(self.joins, <const char *>scheme.joins, sizeof(self.joins))
            self.row.joins = self.joins
        self.fill = bbpe_split_select(&self.row, _ISA_CODES[isa])
        if self.fill == NULL:
            raise ValueError(f"this machine, or this build, lacks {isa}")
        self.scheme, self.isa, self.specialised = scheme, isa, _name_of(&self.row)

    def __reduce__(self):
        return Splitter, (self.scheme, self.isa)

    def spans(self, data: Buffer) -> npt.NDArray[np.int64]:
        """Cut a bytes-like text; returns the int64[n + 1] offsets of its n pretokens and its end."""
        cdef Py_buffer view
        cdef size_t *ends = NULL
        cdef size_t count = 0, capacity = 0, start = 0, got, length
        cdef c_bool wide = False
        cdef bbpe_status status = BBPE_OK
        cdef void *grown
        cdef int64_t[::1] out
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            length = <size_t>view.len
            with nogil:
                while start < length:
                    grown = bbpe_memory_reserve(ends, &capacity, count + 4096, sizeof(size_t))
                    if grown == NULL:
                        status = BBPE_NO_MEMORY
                        break
                    ends = <size_t *>grown
                    got = self.fill(&self.row, <const uint8_t *>view.buf, start, length, ends + count, capacity - count, &wide)
                    count += got
                    start = ends[count - 1]
            check(status)
            offsets = np.zeros(count + 1, dtype=np.int64)
            out = offsets
            for got in range(count):
                out[got + 1] = <int64_t>ends[got]
            return offsets
        finally:
            bbpe_memory_free(ends)
            PyBuffer_Release(&view)


    def count(self, data: Buffer) -> int:
        """How many pretokens a bytes-like text has; their ends are not kept."""
        cdef Py_buffer view
        cdef size_t ends[1024]
        cdef size_t count = 0, start = 0, got
        cdef c_bool wide = False
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                while start < <size_t>view.len:
                    got = self.fill(&self.row, <const uint8_t *>view.buf, start, view.len, ends, 1024, &wide)
                    count += got
                    start = ends[got - 1]
            return count
        finally:
            PyBuffer_Release(&view)


    def safe_cut(self, data: Buffer, size_t start, size_t window=1 << 20) -> int:
        """The first place at or after `start` where cutting changes no pretoken, or -1.

        The pretokens of data[:cut] and data[cut:] are then those of `data`.  Looks at most `window` bytes far;
        there is no such place within one endless word, say.
        """
        cdef Py_buffer view
        cdef size_t cut
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if start > <size_t>view.len:
                raise ValueError(f"start is {start}, the text has {view.len} bytes")
            with nogil:
                cut = bbpe_split_cut(&self.row, <const uint8_t *>view.buf, start, view.len, window)
            return -1 if cut == BBPE_SPLIT_NO_CUT else cut
        finally:
            PyBuffer_Release(&view)


def _available():
    cdef const char *name
    cdef const bbpe_scheme *row = bbpe_split_row(0, &name)
    return tuple(
        isa for isa, code in _ISA_CODES.items() if isa != "auto" and bbpe_split_select(row, code) != NULL)


#: The instruction sets that this machine can run.
ISAS: tuple[str, ...] = _available()


def utf8_ends(list pretokens not None: list[str]) -> npt.NDArray[np.int64]:
    """The int64[n] ends, in bytes, of strings that are joined and encoded with "surrogateescape"."""
    ends = np.empty(len(pretokens), dtype=np.int64)
    cdef int64_t[::1] out = ends
    cdef int64_t total = 0
    cdef Py_ssize_t i
    cdef Py_UCS4 char
    cdef str pretoken
    for i in range(len(pretokens)):
        pretoken = pretokens[i]
        for char in pretoken:
            if char < 0x80 or 0xDC80 <= char <= 0xDCFF:
                total += 1  # ASCII, or a byte that is not UTF-8
            else:
                total += 2 if char < 0x800 else 3 if char < 0x10000 else 4
        out[i] = total
    return ends
