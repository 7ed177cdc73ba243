"""The pieces of a SentencePiece model in a few arrays, and the vocabulary and the order of merges that they make."""
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy

from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_memory_reserve, bbpe_memory_zeroed
from bbpe.core.c_models cimport BBPE_VOCAB_MAX_ID, bbpe_vocab_add, bbpe_vocab_index, bbpe_vocab_reserve
from bbpe.core.c_tables cimport bbpe_pretoken_entry
from bbpe.core.c_text cimport bbpe_utf8_decode
from bbpe.core.status cimport check, had
from bbpe.core.token_table cimport Marks, TokenTable, is_character, is_utf8

from array import array

from bbpe.errors import VocabularyError

# stub: _Table = TypeVar("_Table", bound=TokenTable)

cdef enum:
    NORMAL = 1
    POINTS = 0x110000

cdef struct piece:
    size_t start  # of its text
    double score
    uint32_t length
    int kind

cdef struct scored:
    double score
    uint32_t length, place, token_id


cdef int precedes(const void *one, const void *other) noexcept nogil:
    """The highest score first, then the longest token, then the first one."""
    cdef const scored *a = <const scored *>one
    cdef const scored *b = <const scored *>other
    if a.score != b.score:
        return -1 if a.score > b.score else 1
    if a.length != b.length:
        return -1 if a.length > b.length else 1
    return (a.place > b.place) - (a.place < b.place)


cdef bint is_run(const uint8_t *token, size_t n) noexcept nogil:
    """Whether a token is one character several times."""
    cdef size_t first = 0
    bbpe_utf8_decode(token, 0, n, &first)
    return first < n and n % first == 0 and memcmp(token, token + first, n - first) == 0


cdef const uint8_t *MARK = <const uint8_t *>b"\xe2\x96\x81"  # U+2581


cdef size_t write_token(const uint8_t *text, size_t n, bint marks_blanks, uint8_t *out) noexcept nogil:
    """Write the token of a text, with blanks for U+2581; returns its bytes."""
    cdef size_t i = 0, used = 0
    while i < n:
        if marks_blanks and text[i] == MARK[0] and n - i >= 3 and memcmp(text + i, MARK, 3) == 0:
            out[used] = c" "
            i += 3
        else:
            out[used] = text[i]
            i += 1
        used += 1
    return used


cdef class PieceList:
    """The text, the score and the type of each piece, by id; immutable."""

    cdef piece *rows
    cdef uint8_t *arena
    cdef size_t count, row_capacity, used, arena_capacity

    def __cinit__(self, pieces: Iterable[tuple[str, float, int]] = ()):
        for text, score, kind in pieces:
            data = text.encode()
            self._add(<const uint8_t *>PyBytes_AS_STRING(data), <size_t>len(data), score, kind)

    def __dealloc__(self):
        bbpe_memory_free(self.rows)
        bbpe_memory_free(self.arena)

    cdef int _add(self, const uint8_t *text, size_t n, double score, int kind) except -1:
        cdef piece *rows
        cdef uint8_t *arena
        if self.count > <size_t>BBPE_VOCAB_MAX_ID or n > <size_t>0xFFFFFFFF:
            raise MemoryError(f"{self.count} pieces, and one of {n} bytes, are too many")
        rows = <piece *>had(bbpe_memory_reserve(self.rows, &self.row_capacity, self.count + 1, sizeof(piece)))
        self.rows = rows
        arena = <uint8_t *>had(bbpe_memory_reserve(self.arena, &self.arena_capacity, self.used + n + 1, 1))
        self.arena = arena
        rows[self.count].start, rows[self.count].length = self.used, <uint32_t>n
        rows[self.count].score, rows[self.count].kind = score, kind
        if n:
            memcpy(arena + self.used, text, n)
        self.used += n
        self.count += 1
        return 0

    @classmethod
    def of_model(cls, bytes data not None) -> tuple[Self, int]:
        """The first pieces of a SentencePiece model, and where these end.

        They are those that are spelled as usual: a text and a score, and a type if it is not 1, in less than 128 bytes.
        """
        cdef PieceList made = cls()
        cdef const uint8_t *at = <const uint8_t *>PyBytes_AS_STRING(data)
        cdef const uint8_t *end = at + len(data)
        cdef size_t row, size, kind
        cdef float score
        while end - at > 2 and at[0] == 0x0A and at[1] < 0x80 and <size_t>(end - at) >= 2 + <size_t>at[1]:
            row = at[1]
            if row < 7 or at[2] != 0x0A:
                break
            size, kind = at[3], NORMAL
            if row == size + 9 and at[row] == 3 << 3 and at[row + 1] < 0x80:
                kind = at[row + 1]
            elif row != size + 7:
                break
            if at[4 + size] != 0x15 or not is_utf8(at + 4, size):
                break  # the general way names the problem
            memcpy(&score, at + 5 + size, sizeof(score))
            made._add(at + 4, size, score, <int>kind)
            at += 2 + row
        return made, at - <const uint8_t *>PyBytes_AS_STRING(data)

    cdef str _text(self, size_t i):
        return PyUnicode_DecodeUTF8(<const char *>self.arena + self.rows[i].start, self.rows[i].length, NULL)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> tuple[str, float, int]:
        if not 0 <= i < <object>self.count:
            raise IndexError(f"there are {self.count} pieces, and none of the number {i}")
        return self._text(i), self.rows[<size_t>i].score, self.rows[<size_t>i].kind

    def __iter__(self) -> Iterator[tuple[str, float, int]]:
        cdef size_t i
        return iter([(self._text(i), self.rows[i].score, self.rows[i].kind) for i in range(self.count)])

    def of_kind(self, int kind) -> list[int]:
        """The ids of the pieces of a type."""
        cdef size_t i
        return [i for i in range(self.count) if self.rows[i].kind == kind]

    def are_unique(self) -> bool:
        """Whether no text is empty or listed twice."""
        cdef TokenTable made = TokenTable({})
        cdef uint32_t found = 0
        cdef size_t i
        check(bbpe_vocab_reserve(&made.c, self.count, self.used))
        for i in range(self.count):
            check(bbpe_vocab_add(&made.c, <uint32_t>i, self.arena + self.rows[i].start, self.rows[i].length, &found))
            if found != i or self.rows[i].length == 0:
                return False
        return True

    def unusual(self, size_t longest, bint marks_blanks) -> list[int]:
        """The ids of the pieces that are not plainly tokens: of another type than NORMAL, with more bytes, with a blank, or
        without a number as score."""
        cdef const piece *row
        cdef size_t i, k
        found = []
        for i in range(self.count):
            row = self.rows + i
            if row.kind == NORMAL and row.length <= longest and row.score == row.score:
                k = 0
                while marks_blanks and k < row.length and self.arena[row.start + k] != c" ":
                    k += 1
                if not marks_blanks or k == row.length:
                    continue
            found.append(i)
        return found

    def tokens(self, kind: type[_Table], left_out: Iterable[int], bint marks_blanks) -> _Table:
        """The tokens of the pieces without those of some ids, as a table of this kind; U+2581 is a blank if it marks those.

        `VocabularyError` on two pieces of one token.
        """
        cdef TokenTable made = kind({})
        cdef Marks left = Marks(self.count, left_out)
        cdef const piece *row
        cdef uint32_t found = 0
        cdef size_t i, n
        cdef uint8_t *token = <uint8_t *>had(bbpe_memory_new(self.used, 1))
        try:
            check(bbpe_vocab_reserve(&made.c, self.count, self.used))
            for i in range(self.count):
                row = self.rows + i
                if left.marks[i]:
                    continue
                n = write_token(self.arena + row.start, row.length, marks_blanks, token)
                check(bbpe_vocab_add(&made.c, <uint32_t>i, token, n, &found))
                if found != i:
                    raise VocabularyError(f"token {bytes(token[:n])!r} has two ids, {found} and {i}; expected one")
            check(bbpe_vocab_index(&made.c))
            return made
        finally:
            bbpe_memory_free(token)

    def scores(self, ids: Iterable[int], size_t count) -> list[float]:
        """The scores of the pieces of some ids, and 0 for all others below `count`."""
        found = [0.0] * <Py_ssize_t>count
        for i in ids:
            found[i] = self.rows[<size_t>i].score if i < <object>self.count else 0.0
        return found

    def order(self, TokenTable vocab not None) -> tuple[array[int], list[tuple[int, int]], list[int]]:
        """The ids of the tokens of several characters, the highest score first, then the longest token, then the first one.

        And where several with one score begin and end, and the places of those that are one character several
        times.  `vocab` is what `tokens` made.
        """
        cdef const bbpe_pretoken_entry *entry
        cdef uint32_t[::1] ids
        cdef size_t i, first = 0, count = 0
        cdef bint is_ordered = True
        cdef scored *rows = <scored *>had(bbpe_memory_new(vocab.c.tokens.count, sizeof(scored)))
        try:
            for i in range(vocab.c.tokens.count):
                entry = vocab.c.tokens.entries + i
                if entry.length < 2 or is_character(vocab.c.tokens.arena + entry.start, entry.length):
                    continue
                rows[count].score, rows[count].length = self.rows[entry.value].score, entry.length
                rows[count].place, rows[count].token_id = <uint32_t>i, <uint32_t>entry.value
                is_ordered = is_ordered and (count == 0 or precedes(rows + count - 1, rows + count) < 0)
                count += 1
            if not is_ordered:
                qsort(rows, count, sizeof(scored), precedes)
            order, equal, runs = array("I", (0,)) * count, [], []
            ids = order
            for i in range(count):
                ids[i] = rows[i].token_id
                entry = vocab.c.tokens.entries + rows[i].place
                if is_run(vocab.c.tokens.arena + entry.start, entry.length):
                    runs.append(i)
                if i + 1 == count or rows[i + 1].score != rows[i].score:
                    if first < i:
                        equal.append((first, i + 1))
                    first = i + 1
            return order, equal, runs
        finally:
            bbpe_memory_free(rows)


def missing_character(TokenTable vocab not None) -> tuple[bytes, bytes] | None:
    """The first token with a character that is no token, and that character."""
    cdef const bbpe_pretoken_entry *entry
    cdef const uint8_t *token
    cdef uint32_t point
    cdef size_t i, k, next = 0
    cdef uint8_t *known = <uint8_t *>had(bbpe_memory_zeroed(POINTS + 1, 1))
    try:
        for i in range(vocab.c.tokens.count):
            entry = vocab.c.tokens.entries + i
            token = vocab.c.tokens.arena + entry.start
            if is_character(token, entry.length):
                known[bbpe_utf8_decode(token, 0, entry.length, &next)] = 1
        for i in range(vocab.c.tokens.count):
            entry = vocab.c.tokens.entries + i
            token, k = vocab.c.tokens.arena + entry.start, 0
            while k < entry.length:
                point = bbpe_utf8_decode(token, k, entry.length, &next)
                if not known[point]:
                    return bytes(token[:entry.length]), bytes(token[k:next])
                k = next
        return None
    finally:
        bbpe_memory_free(known)
