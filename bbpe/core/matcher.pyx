"""Tokens looked for in texts (csrc/pipeline/matcher.h): special and added ones, by the policy of a call."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from bbpe.core.budget cimport SALT
from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_memory_zeroed
from bbpe.core.c_pipeline cimport (
    BBPE_MATCHER_TOKEN, _Bool, bbpe_matcher, bbpe_matcher_find, bbpe_matcher_free, bbpe_matcher_init,
    bbpe_matcher_linear, bbpe_matcher_linear_best, bbpe_matcher_linear_find, bbpe_matcher_linear_free,
    bbpe_matcher_linear_init, bbpe_matches,
)
from bbpe.core.c_tables cimport (
    bbpe_pretoken_entry, bbpe_pretoken_table, bbpe_pretoken_table_add, bbpe_pretoken_table_free,
    bbpe_pretoken_table_init,
)
from bbpe.core.status cimport check


cdef class TokenMatcher:
    """Finds tokens in bytes: the longest at each place, from left to right.

    `tokens`: different byte strings, none of them empty; a token's number is its index.
    """
    cdef bbpe_matcher c
    cdef size_t *lengths
    cdef readonly object tokens  # stub: tuple[bytes, ...]
    cdef dict made  # what a slow text needs, made once

    def __cinit__(self, tokens: Iterable[bytes]):
        cdef bbpe_pretoken_table table
        cdef size_t i, count
        self.tokens, self.made = tuple(tokens), {}
        count = len(self.tokens)
        self.lengths = <size_t *>bbpe_memory_new(count, sizeof(size_t))
        if self.lengths == NULL:
            raise MemoryError("bbpe could not allocate memory")
        for i in range(count):
            self.lengths[i] = len(<bytes?>self.tokens[i])
        _fill(&table, self.tokens)
        try:
            check(bbpe_matcher_init(&self.c, &table, count))
        finally:
            bbpe_pretoken_table_free(&table)

    def __dealloc__(self):
        bbpe_matcher_free(&self.c)
        bbpe_memory_free(self.lengths)

    @property
    def longest(self) -> int:
        """The bytes of the longest token."""
        return self.c.longest

    def policy(self, numbers: Iterable[int]) -> Policy:
        """The policy that looks for the tokens of these numbers alone."""
        return Policy(self, numbers)


cdef class Policy:
    """A set of a matcher's tokens, which it looks for; `longest` is the length of the longest one in bytes."""
    cdef TokenMatcher matcher
    cdef uint64_t *bits
    cdef dict made
    cdef readonly size_t longest

    def __cinit__(self, TokenMatcher matcher not None, numbers: Iterable[int]):
        cdef size_t number
        self.matcher, self.made, self.longest = matcher, {}, 0
        self.bits = <uint64_t *>bbpe_memory_zeroed(matcher.c.count // 64 + 1, sizeof(uint64_t))
        if self.bits == NULL:
            raise MemoryError("bbpe could not allocate memory")
        for number in numbers:
            if number >= matcher.c.count:
                raise IndexError(f"token {number} of a matcher of {matcher.c.count}")
            self.bits[number // 64] |= <uint64_t>1 << (number % 64)
            self.longest = max(self.longest, matcher.lengths[number])

    def __dealloc__(self):
        bbpe_memory_free(self.bits)

    def find(
        self, data: bytes | bytearray | memoryview, size_t start=0, most: int | None = None
    ) -> list[tuple[int, int, int]]:
        """The matches in data[start:], `most` at most: start, end and number of the token."""
        cdef const uint8_t[::1] view = data
        cdef bbpe_matches found
        cdef bbpe_status status
        cdef _Bool is_slow = False
        cdef size_t n = len(view), at = min(start, n), limit = <size_t>-1 if most is None else most, i
        cdef const uint8_t *text = &view[0] if n > 0 else NULL
        memset(&found, 0, sizeof(found))
        if self.longest == 0 or n == 0:
            return []
        try:
            with nogil:
                status = bbpe_matcher_find(
                    &self.matcher.c, self.bits, text, n, limit, &at, &is_slow, &found
                )
            check(status)
            if is_slow:
                self._find_linear(text, n, limit, &at, &found)
            return [(found.items[i].start, found.items[i].end, found.items[i].token) for i in range(found.count)]
        finally:
            bbpe_memory_free(found.items)

    cdef int _find_linear(self, const uint8_t *text, size_t n, size_t most, size_t *at, bbpe_matches *found) except -1:
        cdef Linear linear = self.matcher.made.get("linear")
        if linear is None:
            linear = self.matcher.made.setdefault("linear", Linear(self.matcher))
        cdef Best best = self.made.get("best")
        if best is None:
            best = self.made.setdefault("best", Best(linear, self))
        cdef bbpe_status status
        with nogil:
            status = bbpe_matcher_linear_find(
                &linear.c, best.tokens, self.matcher.lengths, self.longest, text, n, most, at, found
            )
        check(status)
        return 0


cdef class Linear:
    """The automaton over the reversed tokens of a matcher."""
    cdef bbpe_matcher_linear c

    def __cinit__(self, TokenMatcher matcher not None):
        cdef bbpe_pretoken_table table
        _fill(&table, [token[::-1] for token in matcher.tokens])
        try:
            check(bbpe_matcher_linear_init(&self.c, &table, matcher.c.count))
        finally:
            bbpe_pretoken_table_free(&table)

    def __dealloc__(self):
        bbpe_matcher_linear_free(&self.c)


cdef class Best:
    """The longest token of a policy that ends in each state of the automaton."""
    cdef uint32_t *tokens

    def __cinit__(self, Linear linear not None, Policy policy not None):
        self.tokens = <uint32_t *>bbpe_memory_new(linear.c.trie.slot_count, sizeof(uint32_t))
        if self.tokens == NULL:
            raise MemoryError("bbpe could not allocate memory")
        bbpe_matcher_linear_best(&linear.c, policy.bits, self.tokens)

    def __dealloc__(self):
        bbpe_memory_free(self.tokens)


cdef int _fill(bbpe_pretoken_table *table, tokens) except -1:
    """Initialise a table of the numbers of tokens; the caller's to free."""
    cdef bbpe_pretoken_entry *entry = NULL
    cdef const uint8_t *data
    cdef bytes token
    cdef uint64_t number = 0
    check(bbpe_pretoken_table_init(table, SALT))
    try:
        for token in tokens:
            data = token
            check(bbpe_pretoken_table_add(table, data, len(token), &entry))
            entry.value = BBPE_MATCHER_TOKEN | number
            number += 1
    except BaseException:
        bbpe_pretoken_table_free(table)
        raise
    return 0
