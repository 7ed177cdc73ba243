"""A str as UTF-8, block by block: no UTF-8 copy of the whole is made or kept."""
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND
from libc.stdint cimport uint8_t

from bbpe.core.c_base cimport BBPE_NO_MEMORY
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_reserve
from bbpe.core.c_text cimport bbpe_transcode, bbpe_transcode_utf8, bbpe_transcode_variant
from bbpe.core.status cimport check


cdef tuple _available():
    cdef const char *name
    cdef list names = []
    while bbpe_transcode_variant(len(names), &name) != NULL:
        names.append(name.decode())
    return tuple(names)


#: The instruction sets that this machine can run, slowest first.
ISAS: tuple[str, ...] = _available()


cdef bbpe_transcode _select(str isa) except NULL:
    cdef const char *name
    if isa == "auto":
        return bbpe_transcode_utf8
    if isa not in ISAS:
        raise ValueError(f"isa is {isa!r}; this machine has 'auto', {', '.join(map(repr, ISAS))}")
    return bbpe_transcode_variant(ISAS.index(isa), &name)


def utf8_blocks(str text not None, size_t most, *, str isa not None="auto") -> list[bytes]:
    """Cut a text into blocks of UTF-8 of at most `most` bytes, whole characters each, as many as fit.

    A surrogate pair becomes its code point, in one block, and a lone surrogate U+FFFD.  `isa` is "auto" or one of
    `ISAS`.  `ValueError` when `most` is less than 16 or this machine lacks `isa`.

    >>> utf8_blocks("Zürich, 東京, Αθήνα", 16)
    [b'Z\\xc3\\xbcrich, \\xe6\\x9d\\xb1\\xe4\\xba\\xac,', b' \\xce\\x91\\xce\\xb8\\xce\\xae\\xce\\xbd\\xce\\xb1']
    """
    cdef bbpe_transcode transcode = _select(isa)
    cdef const void *units = PyUnicode_DATA(text)
    cdef unsigned kind = PyUnicode_KIND(text)
    cdef size_t n = PyUnicode_GET_LENGTH(text), start = 0, capacity = 0, size
    cdef uint8_t *out
    cdef list blocks = []
    if most < 16:
        raise ValueError(f"most is {most}; expected at least 16 bytes")
    most = min(most, max(<size_t>16, n * (kind if kind == 4 else kind + 1)))  # no more than the whole text needs
    out = <uint8_t *>bbpe_memory_reserve(NULL, &capacity, most, 1)
    if out == NULL:
        check(BBPE_NO_MEMORY)
    try:
        while start < n:
            size = transcode(units, kind, start, n, &start, out, most)
            blocks.append(PyBytes_FromStringAndSize(<const char *>out, size))
    finally:
        bbpe_memory_free(out)
    return blocks
