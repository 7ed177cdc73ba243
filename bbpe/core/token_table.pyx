"""Ids to bytes in a few arrays (csrc/models/vocab/vocab.h): what a vocabulary keeps, and models are made of."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.number cimport PyIndex_Check
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy, memset

from bbpe.core.budget cimport SALT
from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_zeroed
from bbpe.core.c_models cimport (
    BBPE_RANK_FILE_CANONICAL, BBPE_RANK_FILE_UNUSUAL, BBPE_VOCAB_MAX_ID, bbpe_keys_read, bbpe_keys_to_bytes,
    bbpe_keys_to_texts, bbpe_rank_file_kind, bbpe_rank_file_read, bbpe_scored_rows_read, bbpe_tekken_rows_read,
    bbpe_vocab_add, bbpe_vocab_free, bbpe_vocab_get, bbpe_vocab_index, bbpe_vocab_init, bbpe_vocab_reserve, bbpe_vocab_visit,
)
from bbpe.core.c_pipeline cimport bbpe_token_extent, bbpe_token_extent_of
from bbpe.core.c_split cimport c_bool
from bbpe.core.c_tables cimport bbpe_image, bbpe_pretoken_entry, bbpe_pretoken_table_find
from bbpe.core.ends cimport bbpe_ends_part
from bbpe.core.image cimport image_begin, image_end, image_measured, image_of
from bbpe.core.status cimport check, had

from operator import index

from bbpe.lazy import np

from bbpe.errors import VocabularyError

MAX_ID: int = BBPE_VOCAB_MAX_ID


cdef inline bytes token_of(TokenTable table, const bbpe_pretoken_entry *entry):
    return PyBytes_FromStringAndSize(<const char *>table.c.tokens.arena + entry.start, entry.length)


cdef class Marks:
    """A byte for each id, 0 or 1; ids that are far apart take no memory between them."""

    def __cinit__(self, size_t id_count, ids: Iterable[int] = ()):
        self.marks = <uint8_t *>had(bbpe_memory_zeroed(id_count, 1))
        for token_id in ids:
            if not 0 <= token_id < <object>id_count:
                raise ValueError(f"id {token_id} is not below {id_count}")
            self.marks[<size_t>token_id] = 1

    def __dealloc__(self):
        bbpe_memory_free(self.marks)


cdef class TokenTable:
    """Ids and bytes of tokens, in order; immutable, shared by any number of threads.

    `vocab` maps ids to bytes.  `TypeError` on anything else, `VocabularyError` on an id out of range and on two ids of
    one token.
    """

    def __cinit__(self, vocab: Mapping[int, bytes]):
        cdef size_t total = 0
        check(bbpe_vocab_init(&self.c, SALT))
        for token in vocab.values():
            total += <size_t>len(token) if isinstance(token, bytes) else 0
        check(bbpe_vocab_reserve(&self.c, len(vocab), total))
        for token_id, token in vocab.items():
            self._add(token_id, token)
        check(bbpe_vocab_index(&self.c))

    def __dealloc__(self):
        if not self.is_opened:
            bbpe_vocab_free(&self.c)

    cdef int _add(self, token_id, token) except -1:
        cdef int overflow = 0
        cdef uint32_t found = 0
        if type(token_id) is not int or not isinstance(token, bytes):
            raise TypeError(f"a vocabulary maps int to bytes; found {token_id!r}: {token!r}")
        cdef int64_t number = PyLong_AsLongLongAndOverflow(token_id, &overflow)
        if overflow or not 0 <= number <= <int64_t>BBPE_VOCAB_MAX_ID:
            raise VocabularyError(f"token {token!r} has id {token_id}; expected 0 to {MAX_ID}")
        check(bbpe_vocab_add(
            &self.c, <uint32_t>number, <const uint8_t *>PyBytes_AS_STRING(token), <size_t>len(token), &found))
        if found != <uint32_t>number:
            raise VocabularyError(f"token {token!r} has two ids, {found} and {token_id}; expected one")
        return 0

    @classmethod
    def of_rows(cls, const uint8_t[::1] data not None, const int64_t[::1] offsets not None) -> Self:
        """The tokens data[offsets[i]:offsets[i + 1]], uint8[total] and int64[n + 1], with the ids 0 to n - 1."""
        cdef TokenTable table = cls({})
        cdef uint32_t found = 0
        cdef size_t start, end
        cdef Py_ssize_t i, n = offsets.shape[0] - 1
        if n < 0 or offsets[0] < 0 or offsets[n] > data.shape[0] or n > <Py_ssize_t>BBPE_VOCAB_MAX_ID:
            raise ValueError(f"{n + 1} offsets do not fit {data.shape[0]} bytes")
        check(bbpe_vocab_reserve(&table.c, <size_t>n, <size_t>data.shape[0]))
        for i in range(n):
            if not bbpe_ends_part(&offsets[i], &offsets[i + 1], <size_t>data.shape[0], &start, &end) or start == end:
                raise ValueError(
                    f"offset {i} is {offsets[i]}, the next one {offsets[i + 1]}; expected a larger one within the bytes")
            check(bbpe_vocab_add(&table.c, <uint32_t>i, &data[start], end - start, &found))
            if found != <uint32_t>i:
                raise VocabularyError(
                    f"token {bytes(data[start:end])!r} has two ids, {found} and {i}; expected one")
        check(bbpe_vocab_index(&table.c))
        return table

    @classmethod
    def of_rank_text(cls, bytes text not None) -> tuple[Self, bool] | None:
        """The tokens of the text of a rank file, and whether its lines are canonical and in order of ids; None when the
        text is out of the ordinary or wrong."""
        cdef TokenTable table = cls({})
        cdef bbpe_rank_file_kind kind = BBPE_RANK_FILE_UNUSUAL
        cdef const uint8_t *data = text
        cdef size_t n = len(text)
        cdef bbpe_status status
        with nogil:
            status = bbpe_rank_file_read(data, n, &table.c, &kind)
        check(status)
        return None if kind == BBPE_RANK_FILE_UNUSUAL else (table, kind == BBPE_RANK_FILE_CANONICAL)

    @classmethod
    def of_tekken(cls, bytes text not None, size_t start, size_t end, uint32_t first, size_t most) -> Self | None:
        """The tokens of the first `most` rows of the array text[start:end] of a tekken.json, with the ids `first` and up;
        None when the text is out of the ordinary or wrong."""
        cdef TokenTable table = cls({})
        cdef const uint8_t *data = text
        cdef c_bool is_usual = False
        cdef bbpe_status status
        if not start <= end <= <size_t>len(text):
            raise ValueError(f"{start} to {end} is not within {len(text)} bytes")
        with nogil:
            status = bbpe_tekken_rows_read(data + start, end - start, first, most, &table.c, &is_usual)
        check(status)
        return table if is_usual else None

    @classmethod
    def of_json(cls, bytes text not None, size_t start, size_t end) -> Self | None:
        """The keys of the JSON object text[start:end] of keys and ids as UTF-8; None when the text is out of the ordinary or
        wrong."""
        cdef TokenTable table = cls({})
        cdef const uint8_t *data = text
        cdef c_bool is_usual = False
        cdef bbpe_status status
        if not start <= end <= <size_t>len(text):
            raise ValueError(f"{start} to {end} is not within {len(text)} bytes")
        with nogil:
            status = bbpe_keys_read(data + start, end - start, &table.c, &is_usual)
        check(status)
        return table if is_usual else None

    @classmethod
    def of_scored_rows(cls, bytes text not None, size_t start, size_t end) -> tuple[Self, bytes] | None:
        """The keys of the JSON array text[start:end] of keys and scores as UTF-8, and the scores, float64[n]; None when the
        text is out of the ordinary or wrong."""
        cdef TokenTable table = cls({})
        cdef const uint8_t *data = text
        cdef double *scores = NULL
        cdef c_bool is_usual = False
        cdef bbpe_status status
        if not start <= end <= <size_t>len(text):
            raise ValueError(f"{start} to {end} is not within {len(text)} bytes")
        try:
            with nogil:
                status = bbpe_scored_rows_read(data + start, end - start, &table.c, &scores, &is_usual)
            check(status)
            if not is_usual:
                return None
            return table, PyBytes_FromStringAndSize(<const char *>scores, <Py_ssize_t>(table.c.tokens.count * sizeof(double)))
        finally:
            bbpe_memory_free(scores)

    @classmethod
    def of_changed(cls, TokenTable tokens not None, left_out: Iterable[int], more: Mapping[int, bytes]) -> Self:
        """The tokens without those of some ids, and after them others, whose ids and bytes are new."""
        cdef TokenTable table = cls({})
        cdef Marks left = Marks(tokens.c.id_count, left_out)
        cdef const bbpe_pretoken_entry *entry
        cdef uint32_t found = 0
        cdef size_t i
        check(bbpe_vocab_reserve(&table.c, tokens.c.tokens.count, tokens.c.tokens.arena_used))
        for i in range(tokens.c.tokens.count):
            entry = tokens.c.tokens.entries + i
            if not left.marks[entry.value]:
                check(bbpe_vocab_add(
                    &table.c, <uint32_t>entry.value, tokens.c.tokens.arena + entry.start, entry.length, &found))
        for token_id, token in more.items():
            table._add(token_id, token)
        check(bbpe_vocab_index(&table.c))
        return table

    def is_text(self) -> bool:
        """Whether all tokens are UTF-8."""
        cdef const bbpe_pretoken_entry *entry
        cdef size_t i
        for i in range(self.c.tokens.count):
            entry = self.c.tokens.entries + i
            if not is_utf8(self.c.tokens.arena + entry.start, entry.length):
                return False
        return True

    def has_byte(self, uint8_t byte) -> bool:
        """Whether some token holds a byte."""
        return self.c.tokens.arena_used > 0 and memchr(self.c.tokens.arena, byte, self.c.tokens.arena_used) != NULL

    @classmethod
    def of_keys(cls, TokenTable keys not None, left_out: Iterable[int] = ()) -> Self | None:
        """The tokens of keys in the byte alphabet, without those of some ids; None when a key is not in the alphabet."""
        cdef TokenTable table = cls({})
        cdef Marks left = Marks(keys.c.id_count, left_out)
        cdef c_bool is_usual = False
        cdef bbpe_status status
        with nogil:
            status = bbpe_keys_to_bytes(&keys.c, left.marks, &table.c, &is_usual)
        check(status)
        return table if is_usual else None

    @classmethod
    def of_texts(cls, TokenTable keys not None, left_out: Iterable[int], bint marks_blanks) -> Self | None:
        """The tokens of keys that are texts, without those of some ids; None when a key is empty or no text."""
        cdef TokenTable table = cls({})
        cdef Marks left = Marks(keys.c.id_count, left_out)
        cdef c_bool is_usual = False
        cdef bbpe_status status
        with nogil:
            status = bbpe_keys_to_texts(&keys.c, left.marks, marks_blanks, &table.c, &is_usual)
        check(status)
        return table if is_usual else None

    @classmethod
    def of_data(cls, bytes data not None) -> Self:
        """The tokens of `data()`; `ValueError` on anything else."""
        cdef TokenTable table = cls({})
        cdef const uint8_t *start = data
        cdef const uint8_t *token
        cdef uint64_t count = 0, total = 0
        cdef uint32_t row[2]
        cdef uint32_t found = 0
        cdef size_t i, size = len(data)
        if size >= sizeof(count):
            memcpy(&count, start, sizeof(count))
        if size < sizeof(count) or count > (size - sizeof(count)) // sizeof(row):
            raise ValueError(f"found {size} bytes; expected those of a vocabulary")
        token = start + sizeof(count) + count * sizeof(row)
        total = size - sizeof(count) - count * sizeof(row)
        check(bbpe_vocab_reserve(&table.c, count, total))
        for i in range(count):
            memcpy(row, start + sizeof(count) + i * sizeof(row), sizeof(row))
            if row[0] > BBPE_VOCAB_MAX_ID or row[1] > total:
                raise ValueError(f"token {i} has id {row[0]} and {row[1]} bytes; expected an id, and bytes that are there")
            check(bbpe_vocab_add(&table.c, row[0], token, row[1], &found))
            token += row[1]
            total -= row[1]
        check(bbpe_vocab_index(&table.c))
        if total or table.c.tokens.count < count or not table.c.is_unique:
            raise ValueError("bytes are left, or a token or an id is there twice; expected those of a vocabulary")
        return table

    @classmethod
    def of_image(cls, const uint8_t[::1] data not None: Buffer) -> Self:
        """The tokens of `image()`, in place: `data` is kept, and must not change; `ValueError` on other sizes."""
        cdef TokenTable table = cls({})
        cdef bbpe_image image = image_of(data)
        bbpe_vocab_free(&table.c)
        table.is_opened, table.data_of_image = True, data
        bbpe_vocab_visit(&table.c, &image)
        image_end(&image)
        return table

    def image(self) -> bytes:
        """The table as it is in memory."""
        cdef bbpe_vocab copy = self.c
        cdef bbpe_image image = image_measured()
        bbpe_vocab_visit(&copy, &image)
        made = image_begin(&image)
        bbpe_vocab_visit(&copy, &image)
        return made

    def data(self) -> bytes:
        """All tokens: their number, uint64; their ids and lengths, uint32[n, 2]; their bytes."""
        cdef const bbpe_pretoken_entry *entry
        cdef uint64_t count = self.c.tokens.count
        cdef uint32_t row[2]
        cdef size_t i
        cdef bytes made = PyBytes_FromStringAndSize(
            NULL, <Py_ssize_t>(sizeof(count) + count * sizeof(row) + self.c.tokens.arena_used))
        cdef char *out = PyBytes_AS_STRING(made)
        memcpy(out, &count, sizeof(count))
        out += sizeof(count)
        for i in range(count):
            entry = self.c.tokens.entries + i
            row[0], row[1] = <uint32_t>entry.value, entry.length
            memcpy(out, row, sizeof(row))
            out += sizeof(row)
        if self.c.tokens.arena_used:
            memcpy(out, self.c.tokens.arena, self.c.tokens.arena_used)
        return made

    cdef const bbpe_pretoken_entry *_entry(self, key) except? NULL:
        """The entry of an id, or NULL."""
        cdef int overflow = 0
        if not PyIndex_Check(key):
            return NULL
        cdef int64_t number = PyLong_AsLongLongAndOverflow(index(key), &overflow)
        if overflow or number < 0:
            return NULL
        return bbpe_vocab_get(&self.c, <size_t>number)

    def __len__(self) -> int:
        return self.c.tokens.count

    @property
    def id_count(self) -> int:
        """The highest id plus one."""
        return self.c.id_count

    def __contains__(self, token_id: object) -> bool:
        return self._entry(token_id) != NULL

    def __getitem__(self, token_id: int) -> bytes:
        cdef const bbpe_pretoken_entry *entry = self._entry(token_id)
        if entry == NULL:
            raise KeyError(token_id)
        return token_of(self, entry)

    def __iter__(self) -> Iterator[int]:
        cdef size_t i
        return iter([self.c.tokens.entries[i].value for i in range(self.c.tokens.count)])

    def id_of(self, token: object) -> int:
        """The id of bytes; `KeyError` when no token has them."""
        cdef const bbpe_pretoken_entry *entry = NULL
        if isinstance(token, bytes):
            entry = bbpe_pretoken_table_find(
                &self.c.tokens, <const uint8_t *>PyBytes_AS_STRING(token), <size_t>len(token))
        if entry == NULL:
            raise KeyError(token)
        return entry.value

    def has_token(self, bytes token not None) -> bool:
        """Whether there is a token of these bytes."""
        return bbpe_pretoken_table_find(&self.c.tokens, <const uint8_t *>PyBytes_AS_STRING(token),
                                        <size_t>len(token)) != NULL

    def lengths(self) -> npt.NDArray[np.uint32]:
        """The bytes of the token of each id up to the highest, 0 where none is: uint32[id_count]."""
        result = np.zeros(self.c.id_count, dtype=np.uint32)
        cdef uint32_t[::1] out = result
        cdef size_t i
        for i in range(self.c.tokens.count):
            out[self.c.tokens.entries[i].value] = <uint32_t>self.c.tokens.entries[i].length
        return result

    def extents(self) -> npt.NDArray[np.uint8]:
        """The bytes and characters of each id's token up to the highest id, a `bbpe_token_extent` each: uint8[id_count, 2]."""
        result = np.zeros((self.c.id_count, 2), dtype=np.uint8)
        cdef uint8_t[:, ::1] out = result
        cdef const bbpe_pretoken_entry *entry
        cdef bbpe_token_extent extent
        cdef size_t i
        for i in range(self.c.tokens.count):
            entry = self.c.tokens.entries + i
            extent = bbpe_token_extent_of(self.c.tokens.arena + entry.start, entry.length)
            out[entry.value, 0], out[entry.value, 1] = extent.bytes, extent.characters
        return result

    def characters(self) -> list[tuple[int, bytes]]:
        """Ids and bytes of the tokens that are one character, in order."""
        cdef const bbpe_pretoken_entry *entry
        cdef size_t i
        found = []
        for i in range(self.c.tokens.count):
            entry = self.c.tokens.entries + i
            if is_character(self.c.tokens.arena + entry.start, entry.length):
                found.append((entry.value, token_of(self, entry)))
        return found

    def joined_bytes(self) -> bytes:
        """The pairs of adjacent bytes in tokens, and those within a character: a bit for first << 8 | second, lowest first."""
        cdef bytes made = PyBytes_FromStringAndSize(NULL, (1 << 16) // 8)
        cdef uint8_t *bits = <uint8_t *>PyBytes_AS_STRING(made)
        cdef const bbpe_pretoken_entry *entry
        cdef const uint8_t *data
        cdef size_t i, k, pair
        memset(bits, 0, (1 << 16) // 8)
        for pair in range(1 << 16):
            if 0x80 <= (pair & 0xFF) < 0xC0:
                bits[pair >> 3] |= <uint8_t>(1 << (pair & 7))
        for i in range(self.c.tokens.count):
            entry = self.c.tokens.entries + i
            data = self.c.tokens.arena + entry.start
            for k in range(1, entry.length):
                pair = <size_t>data[k - 1] << 8 | data[k]
                bits[pair >> 3] |= <uint8_t>(1 << (pair & 7))
        return made

    def pairs(self) -> list[tuple[int, bytes]]:
        """Ids and bytes, in order."""
        cdef size_t i
        return [
            (self.c.tokens.entries[i].value, token_of(self, self.c.tokens.entries + i))
            for i in range(self.c.tokens.count)
        ]
