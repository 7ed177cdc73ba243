"""Merges as ids in one array (csrc/models/vocab/merge_list.h): what a list of merges keeps, and models are made of."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_models cimport (
    BBPE_VOCAB_MAX_ID, bbpe_merge, bbpe_merge_keys, bbpe_merge_list, bbpe_merge_list_add, bbpe_merge_list_free,
    bbpe_merge_list_mark_used, bbpe_merge_list_reserve, bbpe_merge_list_trim, bbpe_merges_read_json,
    bbpe_merges_read_lines, bbpe_merge_list_visit, bbpe_vocab_get,
)
from bbpe.core.c_split cimport c_bool
from bbpe.core.c_tables cimport bbpe_image
from bbpe.core.image cimport image_begin, image_end, image_measured, image_of
from bbpe.core.status cimport check
from bbpe.core.token_table cimport Marks, TokenTable

from operator import index

from bbpe.errors import VocabularyError


cdef inline tuple triple_of(const bbpe_merge *merge):
    return merge.left, merge.right, merge.made


#: What `MergeList.mapped` takes for no id.
NO_ID: int = 0xFFFFFFFF


cdef inline bint is_id(number) except -1:
    cdef int overflow = 0
    cdef int64_t value
    if type(number) is not int:
        return False
    value = PyLong_AsLongLongAndOverflow(number, &overflow)
    return overflow == 0 and 0 <= value <= BBPE_VOCAB_MAX_ID


ctypedef bbpe_status (*merges_reader)(
    const uint8_t *text, size_t n, bbpe_merge_keys names, bbpe_merge_list *found, c_bool *is_usual) noexcept nogil


cdef MergeList read_merges(
    merges_reader read, MergeList found, bytes text, size_t start, size_t end, TokenTable keys, bytes prefix
):
    """Read text[start:end] into an empty list; None when the text is unusual or wrong."""
    cdef bbpe_merge_keys names
    cdef const uint8_t *data = text
    cdef c_bool is_usual = False
    cdef bbpe_status status
    if not start <= end <= <size_t>len(text):
        raise ValueError(f"{start} to {end} is not within {len(text)} bytes")
    names.keys, names.prefix, names.prefix_length = &keys.c, prefix, <size_t>len(prefix)
    with nogil:
        status = read(data + start, end - start, names, &found.c, &is_usual)
    check(status)
    found._close()
    return found if is_usual else None


cdef class MergeList:
    """Merges as (left id, right id, id) in order of priority; immutable, shared by any number of threads.

    `VocabularyError` on a number that is no id.
    """

    def __cinit__(self, merges: Iterable[tuple[int, int, int]] = ()):
        for merge in merges:
            self._add(merge)
        self._close()

    def __dealloc__(self):
        if not self.is_opened:
            bbpe_merge_list_free(&self.c)

    cdef int _add(self, merge) except -1:
        cdef bbpe_merge row
        left, right, made = merge
        if not (is_id(left) and is_id(right) and is_id(made)):
            raise VocabularyError(f"found the merge {merge!r}; expected ids from 0 to {BBPE_VOCAB_MAX_ID}")
        row.left, row.right, row.made = left, right, made
        check(bbpe_merge_list_reserve(&self.c, 1))
        bbpe_merge_list_add(&self.c, row)
        return 0

    cdef void _count_ids(self) noexcept:
        cdef const bbpe_merge *merge
        cdef size_t i
        for i in range(self.c.count):
            merge = self.c.merges + i
            self.id_count = max(self.id_count, max(merge.made, max(merge.left, merge.right)) + <size_t>1)

    cdef int _close(self) except -1:
        self._count_ids()
        bbpe_merge_list_trim(&self.c)
        return 0

    @classmethod
    def of_json(cls, bytes text not None, size_t start, size_t end, TokenTable keys not None, bytes prefix=b"") -> Self | None:
        """Return the merges of the JSON array text[start:end] of pairs of `keys`; None when it is unusual or wrong."""
        return read_merges(bbpe_merges_read_json, cls(), text, start, end, keys, prefix)

    @classmethod
    def of_lines(cls, bytes text not None, size_t start, size_t end, TokenTable keys not None) -> Self | None:
        """Return the merges of the lines text[start:end] of two `keys` each; None when they are unusual or wrong."""
        return read_merges(bbpe_merges_read_lines, cls(), text, start, end, keys, b"")

    @classmethod
    def of_image(cls, const uint8_t[::1] data not None: Buffer) -> Self:
        """The merges of `image()`, in place: `data` is kept, and must not change; `ValueError` on other sizes."""
        cdef MergeList made = cls()
        cdef bbpe_image image = image_of(data)
        bbpe_merge_list_free(&made.c)
        made.is_opened, made.data_of_image = True, data
        bbpe_merge_list_visit(&made.c, &image)
        image_end(&image)
        made._count_ids()
        return made

    def image(self) -> bytes:
        """The list as it is in memory."""
        cdef bbpe_merge_list copy = self.c
        cdef bbpe_image image = image_measured()
        bbpe_merge_list_visit(&copy, &image)
        made = image_begin(&image)
        bbpe_merge_list_visit(&copy, &image)
        return made

    @classmethod
    def of_data(cls, bytes data not None) -> Self:
        """The merges of `data()`; `ValueError` on anything else."""
        cdef MergeList made = cls()
        cdef size_t i, count = <size_t>len(data) // sizeof(bbpe_merge)
        cdef const bbpe_merge *merge
        if count * sizeof(bbpe_merge) != <size_t>len(data):
            raise ValueError(f"found {len(data)} bytes; expected {sizeof(bbpe_merge)} for each merge")
        check(bbpe_merge_list_reserve(&made.c, count))
        if count:
            memcpy(made.c.merges, PyBytes_AS_STRING(data), count * sizeof(bbpe_merge))
        made.c.count = count
        for i in range(count):
            merge = made.c.merges + i
            if max(merge.made, max(merge.left, merge.right)) > BBPE_VOCAB_MAX_ID:
                raise ValueError(f"merge {i} is {triple_of(merge)}; expected ids")
        made._close()
        return made

    @classmethod
    def mapped(
        cls, MergeList merges not None, ids: Buffer, MergeList before: MergeList | None = None, *, uint32_t least=0
    ) -> Self:
        """The merges of `before`, and after them those of a list with the id `ids[i]`, uint32, for each id i.

        A merge with an id that `ids` does not have, or for which it has `NO_ID`, is left out, and so is one that makes
        an id below `least`.
        """
        cdef MergeList made = cls()
        cdef const uint32_t[::1] to = ids
        cdef const bbpe_merge *merge
        cdef bbpe_merge row
        cdef size_t i, first = 0 if before is None else before.c.count
        check(bbpe_merge_list_reserve(&made.c, first + merges.c.count))
        for i in range(first):
            bbpe_merge_list_add(&made.c, before.c.merges[i])
        for i in range(merges.c.count):
            merge = merges.c.merges + i
            if merge.made < least or max(merge.made, max(merge.left, merge.right)) >= <size_t>to.shape[0]:
                continue
            row.left, row.right, row.made = to[merge.left], to[merge.right], to[merge.made]
            if max(row.made, max(row.left, row.right)) <= BBPE_VOCAB_MAX_ID:
                bbpe_merge_list_add(&made.c, row)
        made._close()
        return made

    def data(self) -> bytes:
        """All ids, uint32[n, 3]."""
        return PyBytes_FromStringAndSize(<const char *>self.c.merges, <Py_ssize_t>(self.c.count * sizeof(bbpe_merge)))

    def __len__(self) -> int:
        return self.c.count

    def __getitem__(self, key: int) -> tuple[int, int, int]:
        cdef Py_ssize_t i, count = <Py_ssize_t>self.c.count
        i = index(key)
        i += count if i < 0 else 0
        if not 0 <= i < count:
            raise IndexError(f"there are {count} merges, and none of the number {key}")
        return triple_of(self.c.merges + i)

    def rows(self) -> list[tuple[int, int, int]]:
        """All merges."""
        cdef size_t i
        return [triple_of(self.c.merges + i) for i in range(self.c.count)]

    def is_same(self, MergeList other not None) -> bool:
        """Whether these are the merges of another list, in the same order."""
        return self.c.count == other.c.count and self.data() == other.data()

    def uses(self, ids: Iterable[int]) -> set[int]:
        """Return which of some ids are part or result of a merge."""
        cdef Marks used = Marks(self.id_count)
        bbpe_merge_list_mark_used(&self.c, used.marks, self.id_count)
        return {
            token_id for token_id in ids if 0 <= token_id < <object>self.id_count and used.marks[<size_t>token_id]
        }

    def joins(self, uint32_t token_id) -> bool:
        """Whether an id is part of a merge."""
        cdef size_t i
        for i in range(self.c.count):
            if self.c.merges[i].left == token_id or self.c.merges[i].right == token_id:
                return True
        return False

    def unused(self, TokenTable tokens not None) -> list[int]:
        """The ids of tokens that are neither part nor result of a merge, in order."""
        cdef size_t i, token_id, size = max(self.id_count, tokens.c.id_count)
        cdef Marks used = Marks(size)
        bbpe_merge_list_mark_used(&self.c, used.marks, size)
        found = []
        for i in range(tokens.c.tokens.count):
            token_id = tokens.c.tokens.entries[i].value
            if not used.marks[token_id]:
                found.append(token_id)
        return found

    def fits(self, TokenTable tokens not None) -> bool:
        """Whether all parts and results are tokens."""
        cdef const bbpe_merge *merge
        cdef size_t i
        for i in range(self.c.count):
            merge = self.c.merges + i
            if (bbpe_vocab_get(&tokens.c, merge.left) == NULL or bbpe_vocab_get(&tokens.c, merge.right) == NULL
                    or bbpe_vocab_get(&tokens.c, merge.made) == NULL):
                return False
        return True
