"""Tokens looked for in texts (csrc/pipeline/matcher.h): special and added ones, by the policy of a call."""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from bbpe.core.budget cimport SALT
from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_memory_zeroed
from bbpe.core.c_pipeline cimport (
    BBPE_MATCHER_TOKEN, BBPE_TOKEN_LSTRIP, BBPE_TOKEN_RSTRIP, BBPE_TOKEN_SINGLE_WORD, _Bool, bbpe_added_token,
    bbpe_matcher_find, bbpe_matcher_free, bbpe_matcher_init, bbpe_matcher_linear_best, bbpe_matcher_linear_find,
    bbpe_matcher_linear_free, bbpe_matcher_linear_init, bbpe_matches, bbpe_token_search, bbpe_token_search_in_turn,
)
from bbpe.core.c_tables cimport (
    bbpe_pretoken_entry, bbpe_pretoken_table, bbpe_pretoken_table_add, bbpe_pretoken_table_free,
    bbpe_pretoken_table_init,
)
from bbpe.core.status cimport check, had

LSTRIP: int = BBPE_TOKEN_LSTRIP
RSTRIP: int = BBPE_TOKEN_RSTRIP
SINGLE_WORD: int = BBPE_TOKEN_SINGLE_WORD


cdef class TokenMatcher:
    """Finds tokens in bytes: the longest at each place, from left to right.

    `tokens`: different byte strings, none of them empty; a token's number is its index.  `ids`: the id of each, by default
    its number.  `options`: what each may take of the text around it, the sum of `LSTRIP`, `RSTRIP` and `SINGLE_WORD`.
    `words`: the characters of words, one bit for each code point, which a token with `SINGLE_WORD` needs.
    """

    def __cinit__(
        self, tokens: Iterable[bytes], ids: Sequence[int] | None = None, options: Sequence[int] | None = None,
        words: bytes | None = None,
    ):
        cdef bbpe_pretoken_table table
        cdef size_t i, count
        self.tokens = tuple(tokens)
        count = len(self.tokens)
        self.lengths = <size_t *>had(bbpe_memory_new(count, sizeof(size_t)))
        self.added = <bbpe_added_token *>had(bbpe_memory_zeroed(count, sizeof(bbpe_added_token)))
        for i in range(count):
            self.lengths[i] = len(<bytes?>self.tokens[i])
            self.added[i].id = i if ids is None else ids[i]
            if options is not None:
                self.added[i].options = options[i]
                self.has_options |= options[i] != 0
                self.has_words |= (options[i] & BBPE_TOKEN_SINGLE_WORD) != 0
        if self.has_words:
            self.words = <bytes?>words
        _fill(&table, self.tokens)
        try:
            check(bbpe_matcher_init(&self.c, &table, count))
        finally:
            bbpe_pretoken_table_free(&table)

    def __dealloc__(self):
        bbpe_matcher_free(&self.c)
        bbpe_memory_free(self.lengths)
        bbpe_memory_free(self.added)

    @property
    def longest(self) -> int:
        """The bytes of the longest token."""
        return self.c.longest

    def policy(self, numbers: Iterable[int], then: Policy | None = None) -> Policy:
        """The policy that looks for the tokens of these numbers alone, and after that for those of `then` between them."""
        return Policy(self, numbers, then)


cdef class Policy:
    """A set of a matcher's tokens, which it looks for in the whole text before it looks for those of `then`.

    `longest` is the length of the longest token in bytes; with `then` the sum of both, which is as far as a token may
    change what is found before it.
    """

    def __cinit__(self, TokenMatcher matcher not None, numbers: Iterable[int], Policy then=None):
        cdef size_t number
        self.matcher, self.longest = matcher, 0
        self.bits = <uint64_t *>had(bbpe_memory_zeroed(matcher.c.count // 64 + 1, sizeof(uint64_t)))
        for number in numbers:
            if number >= matcher.c.count:
                raise IndexError(f"token {number} of a matcher of {matcher.c.count}")
            self.bits[number // 64] |= <uint64_t>1 << (number % 64)
            self.longest = max(self.longest, matcher.lengths[number])
        self.own_longest = self.longest
        if then is not None:
            self.then, self.longest = then, self.longest + then.longest
            self.make_linear()
            then.make_linear()
            self.then_search = then.search()

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
        cdef bbpe_token_search search
        if self.longest == 0 or n == 0:
            return []
        search = self.search()
        try:
            with nogil:
                if self.then is not None:
                    status = bbpe_token_search_in_turn(&search, text, n, limit, &at, &found)
                else:
                    status = bbpe_matcher_find(
                        &self.matcher.c, self.bits, text, n, limit, &at, &is_slow, &found
                    )
            check(status)
            if is_slow:
                self._find_linear(text, n, limit, &at, &found)
            limit = min(limit, found.count)
            return [(found.items[i].start, found.items[i].end, found.items[i].token) for i in range(limit)]
        finally:
            bbpe_memory_free(found.items)

    cdef int _find_linear(self, const uint8_t *text, size_t n, size_t most, size_t *at, bbpe_matches *found) except -1:
        cdef bbpe_status status
        cdef bbpe_token_search search
        self.make_linear()
        search = self.search()
        with nogil:
            status = bbpe_matcher_linear_find(
                search.linear, search.best, search.lengths, search.longest, text, n, most, at, found
            )
        check(status)
        return 0

    cdef int make_linear(self) except -1:
        """Make what texts need on which walks are long."""
        # made once: another thread may search by what is here
        with cython.critical_section(self.matcher):
            if self.matcher.linear is None:
                self.matcher.linear = Linear(self.matcher)
        with cython.critical_section(self):
            if self.best is None:
                self.best = Best(self.matcher.linear, self)
        return 0

    cdef bbpe_token_search search(self) noexcept:
        """The search for these tokens, which this object must outlive, and `make_linear` makes complete."""
        cdef TokenMatcher matcher = self.matcher
        cdef bbpe_token_search search
        memset(&search, 0, sizeof(search))
        search.matcher, search.policy, search.tokens = &matcher.c, self.bits, matcher.added
        search.lengths, search.longest, search.has_options = matcher.lengths, self.own_longest, matcher.has_options
        if matcher.has_words:
            search.word_characters = <const uint64_t *>PyBytes_AS_STRING(matcher.words)
        if self.best is not None:
            search.linear, search.best = &matcher.linear.c, self.best.tokens
        if self.then is not None:
            search.then = &self.then_search
        return search


cdef class TokenLevels:
    """The tokens that count in ranges of a text, by the level of each range.

    `tokens`: for each level those of the matcher that searches a text as given, and `normalized`, which may be empty, those of
    the matcher that searches it as normalized.
    """

    def __cinit__(self, tokens: Sequence[Policy], normalized: Sequence[Policy] = ()):
        cdef size_t i
        self.kept = (*tokens, *normalized)
        self.count = len(tokens)
        if normalized and len(normalized) != len(tokens):
            raise ValueError(f"{len(tokens)} levels, and {len(normalized)} of normalized text; expected as many")
        self.tokens = <const uint64_t **>had(bbpe_memory_zeroed(self.count + 1, sizeof(uint64_t *)))
        self.normalized = <const uint64_t **>had(bbpe_memory_zeroed(self.count + 1, sizeof(uint64_t *)))
        for i in range(self.count):
            self.tokens[i] = (<Policy?>tokens[i]).bits
            if normalized:
                self.normalized[i] = (<Policy?>normalized[i]).bits

    def __dealloc__(self):
        bbpe_memory_free(self.tokens)
        bbpe_memory_free(self.normalized)


cdef class Linear:
    """The automaton over the reversed tokens of a matcher."""

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

    def __cinit__(self, Linear linear not None, Policy policy not None):
        self.tokens = <uint32_t *>had(bbpe_memory_new(linear.c.trie.slot_count, sizeof(uint32_t)))
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
