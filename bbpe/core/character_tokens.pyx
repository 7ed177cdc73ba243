"""The tokens of a model of bytes for a vocabulary of characters (bbpe/spec/characters.py), without an object for each."""
from libc.stdint cimport uint8_t, uint32_t

from bbpe.core.c_models cimport (
    bbpe_merge, bbpe_merge_list_add, bbpe_merge_list_reserve, bbpe_vocab_add, bbpe_vocab_get, bbpe_vocab_index,
    bbpe_vocab_reserve,
)
from bbpe.core.c_tables cimport bbpe_pretoken_entry
from bbpe.core.merge_list cimport MergeList
from bbpe.core.status cimport check
from bbpe.core.token_table cimport Marks, TokenTable, is_character

from array import array

from bbpe.core.merge_list import NO_ID as _NO_ID
from bbpe.errors import VocabularyError

cdef enum:
    BYTES = 256
    TOKENS = 3   # that build a character of four bytes, itself among them
    WRITTEN = 9  # ids that these three are written as at most

# stub: _Rows: TypeAlias = tuple[array[int], array[int]]


cdef class _Builder:
    """A model to which bytes, characters and tokens are added, in this order."""

    cdef TokenTable tokens
    cdef MergeList fixed
    cdef uint32_t[::1] inner, starts, written
    cdef const uint32_t[::1] of_bytes
    cdef size_t used

    cdef uint32_t add(self, const uint8_t *token, size_t n) except? 0:
        """Add a token, after which its ids are written; returns its id in the model."""
        cdef uint32_t found = 0, made = <uint32_t>self.tokens.c.tokens.count
        check(bbpe_vocab_add(&self.tokens.c, made, token, n, &found))
        if found != made:
            raise VocabularyError(f"token {bytes(token[:n])!r} has two ids in the model of bytes; expected one")
        return made

    cdef int write(self, uint32_t token_id) except -1:
        self.written[self.used] = token_id
        self.used += 1
        return 0

    cdef int end(self) except -1:
        """End the ids that the last token is written as."""
        self.starts[self.tokens.c.tokens.count] = <uint32_t>self.used
        return 0

    cdef int write_bytes(self, const uint8_t *token, size_t n) except -1:
        cdef size_t i
        for i in range(n):
            self.write(self.of_bytes[token[i]])
        return self.end()

    cdef uint32_t build(self, const uint8_t *char, size_t n) except? 0:
        """Add a character of several bytes and what of its first bytes is not there yet; returns its id."""
        cdef uint32_t left = char[0], made = 0, found
        cdef bbpe_merge merge
        cdef size_t end, count
        check(bbpe_merge_list_reserve(&self.fixed.c, n))
        for end in range(2, n + 1):
            count = self.tokens.c.tokens.count
            found = 0
            check(bbpe_vocab_add(&self.tokens.c, <uint32_t>count, char, end, &found))
            made = found
            if found == count:
                merge.left, merge.right, merge.made = left, char[end - 1], made
                bbpe_merge_list_add(&self.fixed.c, merge)
                if end < n:
                    self.write_bytes(char, end)
            left = made
        return made


def character_tokens(
    TokenTable vocab not None, const uint32_t[::1] of_bytes not None: Buffer, unused: Iterable[int],
    const uint32_t[::1] order: Buffer | None
) -> tuple[TokenTable, MergeList, memoryview[int], memoryview[int], _Rows, int]:
    """All bytes, then the characters of a vocabulary with what builds them, then its tokens of several characters.

    `of_bytes`: uint32[256], the id that each byte is written as.  `unused`: ids of characters that are written as their
    bytes.  `order`: the ids of the tokens of several characters as they follow one another; None: that of the vocabulary.

    Returns the tokens, the merges that build characters, the ids in the model by id, the ids by id in the model, `NO_ID`
    where there is none; what a token is written as: where its ids begin, for one more than there are, and these; and the first
    id in the model of a token of several characters.  `VocabularyError` on an id of `order` that is not in the vocabulary, and
    on one that is there twice.
    """
    cdef const bbpe_pretoken_entry *entry
    cdef const uint8_t *arena = vocab.c.tokens.arena
    cdef Marks no_tokens = Marks(vocab.c.id_count, [number for number in unused if number < <object>vocab.c.id_count])
    cdef _Builder self = _Builder()
    cdef uint8_t single[BYTES]
    cdef size_t i, singles = 0, count = vocab.c.tokens.count, first
    cdef size_t others = count if order is None else <size_t>order.shape[0]
    cdef uint32_t token_id, made, none = _NO_ID
    if of_bytes.shape[0] != BYTES:
        raise ValueError(f"found the ids of {of_bytes.shape[0]} bytes; expected {BYTES}")
    for i in range(count):
        singles += is_character(arena + vocab.c.tokens.entries[i].start, vocab.c.tokens.entries[i].length)
    self.tokens, self.fixed, self.of_bytes = TokenTable({}), MergeList(), of_bytes
    inner, outer = array("I", (_NO_ID,)) * vocab.c.id_count, array("I", (_NO_ID,)) * (BYTES + TOKENS * singles + others)
    starts, written = array("I", (0,)) * (len(outer) + 1), array("I", (0,)) * (BYTES + WRITTEN * singles + others + 1)
    self.inner, self.starts, self.written = inner, starts, written
    cdef uint32_t[::1] to = outer
    check(bbpe_vocab_reserve(&self.tokens.c, <size_t>len(outer), BYTES + vocab.c.tokens.arena_used))
    for i in range(<size_t>BYTES):
        single[i] = <uint8_t>i
        self.add(single + i, 1)
        self.write_bytes(single + i, 1)
    for i in range(count):
        entry = vocab.c.tokens.entries + i
        if not is_character(arena + entry.start, entry.length):
            continue
        token_id = <uint32_t>entry.value
        if entry.length == 1:
            made = arena[entry.start]
            if not no_tokens.marks[token_id]:
                self.written[made] = token_id  # of bytes, each is written as one
        else:
            made = self.build(arena + entry.start, entry.length)
            if no_tokens.marks[token_id]:
                self.write_bytes(arena + entry.start, entry.length)
            else:
                self.write(token_id)
                self.end()
        self.inner[token_id], to[made] = made, token_id
    first = self.tokens.c.tokens.count
    for i in range(others):
        if order is None and self.inner[vocab.c.tokens.entries[i].value] != none:
            continue
        token_id = <uint32_t>vocab.c.tokens.entries[i].value if order is None else order[i]
        entry = bbpe_vocab_get(&vocab.c, token_id)
        if entry == NULL:
            raise VocabularyError(f"{token_id} is the id of no token; expected one of the vocabulary")
        made = self.add(arena + entry.start, entry.length)
        self.write(token_id)
        self.end()
        self.inner[token_id], to[made] = made, token_id
    check(bbpe_vocab_index(&self.tokens.c))
    count = self.tokens.c.tokens.count
    self.fixed._close()
    return (self.tokens, self.fixed, memoryview(inner), memoryview(outer)[:count], (starts[:count + 1], written[:self.used + 1]), first)
