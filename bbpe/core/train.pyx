"""The merge loop: always merge the best pair, and update only what that changes.

All unique pretokens stand in one array of symbols (csrc/symbols.h), in an order in which a symbol's weight,
the count of its pretoken, comes from a short table of segments.  Every pair has its count and the
positions where it was born; a position that no longer holds the pair is skipped when it is read.  A lazy
heap gives the best pair: counts only fall after a pair's birth, so an item whose count is out of date is
put back with the true one.  Merging at a position changes just the pairs with the two neighbours, as in
SentencePiece's trainer; these changes are gathered by neighbour first, so that hashing is per distinct
neighbour and not per occurrence.
"""
from libc.stdint cimport UINT32_MAX, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from bbpe.core.c_common cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_heap cimport (
    bbpe_heap, bbpe_heap_free, bbpe_heap_item, bbpe_heap_less, bbpe_heap_less_plain, bbpe_heap_pop, bbpe_heap_push,
    bbpe_heap_reserve,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_memory_reserve
from bbpe.core.c_pair_table cimport (
    bbpe_pair_key, bbpe_pair_table, bbpe_pair_table_find, bbpe_pair_table_free, bbpe_pair_table_init,
    bbpe_pair_table_reserve, bbpe_pair_table_set,
)
from bbpe.core.c_pretoken_table cimport bbpe_pretoken_entry
from bbpe.core.c_symbols cimport BBPE_SYMBOLS_BORDER, bbpe_symbols_splice
from bbpe.core.count cimport PretokenTable
from bbpe.core.neighbours cimport (
    change, neighbours, neighbours_clear, neighbours_free, neighbours_init, neighbours_note, neighbours_place,
)
from bbpe.core.segments cimport segments, segments_append, segments_find, segments_free, segments_init
from bbpe.core.status cimport check
from bbpe.core.token_strings cimport (
    token_strings, token_strings_compare, token_strings_free, token_strings_init, token_strings_join,
)

cdef enum tie_rule:
    TIE_IDS    # lowest pair of ids
    TIE_BYTES  # greatest pair of byte strings
    TIE_FIRST  # earliest first occurrence

TIE_RULES = {"ids": TIE_IDS, "bytes": TIE_BYTES, "first": TIE_FIRST}

cdef struct pair:
    uint64_t key
    int64_t count
    uint32_t *positions  # of its left symbol, ascending; owned
    uint32_t born        # how many positions there are
    uint32_t first       # the first one that may still be valid

cdef struct occurrence:
    uint32_t position, left, right  # of the merged pair, and the ids beside it

# What the tie rules look at.
cdef struct tie_context:
    token_strings tokens
    pair *pairs


cdef bint less_bytes(const void *context, const bbpe_heap_item *a, const bbpe_heap_item *b) noexcept nogil:
    """The greater pair of byte strings comes first among equal counts."""
    cdef const tie_context *ties = <const tie_context *>context
    cdef uint64_t x, y
    cdef int order
    if a.primary != b.primary:
        return a.primary < b.primary
    x, y = ties.pairs[a.payload].key, ties.pairs[b.payload].key
    order = token_strings_compare(&ties.tokens, <uint32_t>(x >> 32), <uint32_t>(y >> 32))
    if order == 0:
        order = token_strings_compare(&ties.tokens, <uint32_t>x, <uint32_t>y)
    return order > 0


cdef class Trainer:
    """Learns merges from counted pretokens; `step` until it returns True.

    `byte_order` gives the bytes of ids 0 to 255; merge k makes id 256 + k.  After `MemoryError` the trainer
    must not be used again.
    """

    cdef uint32_t *slots
    cdef size_t slot_count
    cdef segments weights
    cdef tie_context ties
    cdef bbpe_pair_table index  # key of a pair -> its number in `pairs`
    cdef pair *pairs
    cdef size_t pair_count, pair_capacity
    cdef size_t queued  # the pairs before it have been put on the heap
    cdef bbpe_heap queue
    cdef bbpe_heap_less less
    cdef tie_rule rule
    cdef neighbours lefts
    cdef neighbours rights
    cdef occurrence *found
    cdef size_t found_capacity
    cdef uint64_t *merged  # keys of the merges, in order
    cdef readonly size_t merge_count, merge_limit
    cdef int64_t min_frequency
    cdef uint32_t longest

    def __cinit__(
        self, PretokenTable table not None, bytes byte_order not None, *, size_t merge_limit, str tie_break not None,
        int64_t min_frequency, uint32_t max_token_length,
    ):
        merge_limit = min(merge_limit, table.table.arena_used)  # each merge takes at least one symbol away
        cdef size_t ids = 256 + merge_limit
        if len(byte_order) != 256:
            raise ValueError(f"byte_order has {len(byte_order)} bytes; expected 256")
        self.rule = TIE_RULES[tie_break]
        self.less = less_bytes if self.rule == TIE_BYTES else bbpe_heap_less_plain
        self.merge_limit, self.min_frequency, self.longest = merge_limit, max(min_frequency, 1), max_token_length
        check(bbpe_pair_table_init(&self.index, 1 << 16))
        check(token_strings_init(&self.ties.tokens, ids, byte_order))
        check(neighbours_init(&self.lefts, ids))
        check(neighbours_init(&self.rights, ids))
        self.merged = <uint64_t *>bbpe_memory_new(merge_limit, sizeof(uint64_t))
        if self.merged == NULL:
            raise MemoryError("bbpe could not allocate memory")
        self._lay_out(table, byte_order)
        cdef bbpe_status status
        with nogil:
            status = self._find_pairs()
        check(status)

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.pair_count):
            bbpe_memory_free(self.pairs[i].positions)
        bbpe_memory_free(self.pairs)
        bbpe_pair_table_free(&self.index)
        bbpe_heap_free(&self.queue)
        bbpe_memory_free(self.slots)
        segments_free(&self.weights)
        token_strings_free(&self.ties.tokens)
        neighbours_free(&self.lefts)
        neighbours_free(&self.rights)
        bbpe_memory_free(self.found)
        bbpe_memory_free(self.merged)

    @staticmethod
    def merge_memory(table_bytes, pretokens, merge_limit):
        """An upper estimate of the bytes that merging unique pretokens of so many bytes takes."""
        return 24 * table_bytes + 12 * pretokens + 64 * merge_limit + (8 << 20)

    def merges(self):
        """The merges so far: uint32[n, 2], the ids of their left and right parts."""
        result = np.empty((self.merge_count, 2), dtype=np.uint32)
        cdef uint32_t[:, ::1] out = result
        cdef size_t i
        for i in range(self.merge_count):
            out[i, 0], out[i, 1] = <uint32_t>(self.merged[i] >> 32), <uint32_t>self.merged[i]
        return result

    def step(self, size_t visits):
        """Merge until about `visits` positions were looked at; True when there is nothing left to merge."""
        cdef size_t seen = 0, best
        cdef bbpe_status status = BBPE_OK
        cdef bint done = False
        with nogil:
            while seen < visits and status == BBPE_OK:
                if self.merge_count == self.merge_limit or not self._best(&best):
                    done = True
                    break
                seen += self.pairs[best].born
                status = self._merge(best)
        check(status)
        return done

    cdef int _lay_out(self, PretokenTable table, bytes byte_order) except -1:
        """Write the symbols of all pretokens, and the segments of equal count."""
        counts = table.counts()
        if len(counts) and int(counts.max()) * max(int(table.table.arena_used), 1) >= 2**63:
            weighted = sum(count * len(pretoken) for pretoken, count in table.items())
            if weighted >= 2**63:
                raise OverflowError(f"the corpus has {weighted} bytes by its counts; expected less than 2**63")
        # "first" needs the text's own order; the others take the order that makes the fewest segments
        cdef const int64_t[::1] order
        if self.rule == TIE_FIRST:
            order = np.arange(len(counts), dtype=np.int64)
        else:
            order = np.argsort(counts, kind="stable")[::-1].astype(np.int64)
        cdef size_t total = table.table.arena_used + table.table.count + 2, i, p = 1
        if total >= UINT32_MAX:
            raise OverflowError(f"the unique pretokens have {total} bytes; expected less than {UINT32_MAX}")
        self.slots = <uint32_t *>bbpe_memory_new(total, sizeof(uint32_t))
        if self.slots == NULL:
            raise MemoryError("bbpe could not allocate memory")
        check(segments_init(&self.weights, table.table.count))
        cdef uint32_t ids[256]
        for i, byte in enumerate(byte_order):
            ids[<uint8_t>byte] = <uint32_t>i
        cdef const bbpe_pretoken_entry *entry
        cdef size_t k
        self.slots[0] = BBPE_SYMBOLS_BORDER
        with nogil:
            for i in range(table.table.count):
                entry = table.table.entries + order[i]
                if entry.length < 2 or entry.value == 0:
                    continue  # it has no pair
                segments_append(&self.weights, <uint32_t>p, <int64_t>entry.value)
                for k in range(entry.length):
                    self.slots[p + k] = ids[table.table.arena[entry.start + k]]
                p += entry.length
                self.slots[p] = BBPE_SYMBOLS_BORDER
                p += 1
        self.slot_count = p
        return 0

    cdef bbpe_status _find_pairs(self) noexcept nogil:
        """Count all pairs of bytes, then note where they are."""
        cdef uint64_t *number
        cdef bbpe_status status
        cdef size_t p, s, stop
        cdef uint64_t key
        cdef pair *found
        if self.longest < 2:
            return BBPE_OK
        for s in range(self.weights.count):
            stop = self.weights.starts[s + 1] if s + 1 < self.weights.count else self.slot_count
            for p in range(self.weights.starts[s], stop - 1):
                if self.slots[p] == BBPE_SYMBOLS_BORDER or self.slots[p + 1] == BBPE_SYMBOLS_BORDER:
                    continue
                key = bbpe_pair_key(self.slots[p], self.slots[p + 1])
                number = bbpe_pair_table_find(&self.index, key)
                if number == NULL:
                    status = self._reserve_pairs(1)
                    if status != BBPE_OK:
                        return status
                    self._new_pair(key)
                    found = self.pairs + self.pair_count - 1
                else:
                    found = self.pairs + number[0]
                found.count += self.weights.counts[s]
                found.born += 1
        for s in range(self.pair_count):
            self.pairs[s].positions = <uint32_t *>bbpe_memory_new(self.pairs[s].born, sizeof(uint32_t))
            if self.pairs[s].positions == NULL:
                return BBPE_NO_MEMORY
        for p in range(1, self.slot_count - 1 if self.slot_count else 0):
            if self.slots[p] == BBPE_SYMBOLS_BORDER or self.slots[p + 1] == BBPE_SYMBOLS_BORDER:
                continue
            found = self.pairs + bbpe_pair_table_find(&self.index, bbpe_pair_key(self.slots[p], self.slots[p + 1]))[0]
            found.positions[found.first] = <uint32_t>p  # `first` counts up here
            found.first += 1
        for s in range(self.pair_count):
            self.pairs[s].first = 0
        self._queue_new_pairs()
        return BBPE_OK

    cdef bbpe_status _reserve_pairs(self, size_t more) noexcept nogil:
        cdef void *pairs = bbpe_memory_reserve(
            self.pairs, &self.pair_capacity, self.pair_count + more, sizeof(pair))
        if pairs == NULL:
            return BBPE_NO_MEMORY
        self.pairs = self.ties.pairs = <pair *>pairs
        cdef bbpe_status status = bbpe_heap_reserve(&self.queue, self.pair_count - self.queued + more)
        if status != BBPE_OK:
            return status
        return bbpe_pair_table_reserve(&self.index, more)

    cdef void _new_pair(self, uint64_t key) noexcept nogil:
        self.pairs[self.pair_count] = pair(key, 0, NULL, 0, 0)
        bbpe_pair_table_set(&self.index, key, self.pair_count)
        self.pair_count += 1

    cdef void _queue(self, size_t number) noexcept nogil:
        cdef pair *self_pair = self.pairs + number
        cdef uint64_t tie = self_pair.positions[self_pair.first] if self.rule == TIE_FIRST else self_pair.key
        bbpe_heap_push(
            &self.queue, bbpe_heap_item(UINT64_MAX - <uint64_t>self_pair.count, tie, number), self.less, &self.ties)

    cdef bint _best(self, size_t *number) noexcept nogil:
        """Take the best pair off the heap; False when none reaches the minimum frequency."""
        cdef bbpe_heap_item item
        cdef pair *best
        while self.queue.count:
            item = bbpe_heap_pop(&self.queue, self.less, &self.ties)
            best = self.pairs + item.payload
            if best.count < self.min_frequency:
                continue
            if UINT64_MAX - <uint64_t>best.count != item.primary:
                if self.rule == TIE_FIRST:
                    self._skip_invalid(best)
                self._queue(item.payload)
                continue
            if self.rule == TIE_FIRST:
                self._skip_invalid(best)
                if best.positions[best.first] != item.tie:
                    self._queue(item.payload)
                    continue
            number[0] = item.payload
            return True
        return False

    cdef inline bint _is_valid(self, uint64_t key, uint32_t p) noexcept nogil:
        cdef uint32_t left = <uint32_t>(key >> 32)
        return self.slots[p] == left and self.slots[p + self.ties.tokens.lengths[left]] == <uint32_t>key

    cdef void _skip_invalid(self, pair *self_pair) noexcept nogil:
        # a pair with a positive count has a valid position, so this stays within the list
        while not self._is_valid(self_pair.key, self_pair.positions[self_pair.first]):
            self_pair.first += 1

    cdef bbpe_status _merge(self, size_t number) noexcept nogil:
        """Make a pair one token everywhere."""
        cdef uint64_t key = self.pairs[number].key
        cdef uint32_t left = <uint32_t>(key >> 32), right = <uint32_t>key
        cdef uint32_t token = <uint32_t>(256 + self.merge_count)
        cdef size_t found
        cdef bbpe_status status = token_strings_join(&self.ties.tokens, token, left, right)
        if status == BBPE_OK:
            status = self._splice_all(number, token, &found)
        if status == BBPE_OK:
            status = self._reserve_pairs(self.lefts.count + self.rights.count)
        if status == BBPE_OK:
            self._subtract(left, right, token)
            status = self._add_new_pairs(token)
        if status != BBPE_OK:
            return status
        self._note_positions(found)
        self._queue_new_pairs()
        neighbours_clear(&self.lefts)
        neighbours_clear(&self.rights)
        bbpe_memory_free(self.pairs[number].positions)
        self.pairs[number].positions = NULL
        self.pairs[number].count = 0
        self.merged[self.merge_count] = key
        self.merge_count += 1
        return BBPE_OK

    cdef bbpe_status _splice_all(self, size_t number, uint32_t token, size_t *found) noexcept nogil:
        """Merge at every valid position, left to right, and gather what that does to the neighbours."""
        cdef pair *merged = self.pairs + number
        cdef uint32_t left_length = self.ties.tokens.lengths[<uint32_t>(merged.key >> 32)]
        cdef uint32_t length = self.ties.tokens.lengths[token]
        cdef size_t i, segment = 0
        cdef uint32_t p, before, after
        cdef void *room = bbpe_memory_reserve(self.found, &self.found_capacity, merged.born, sizeof(occurrence))
        if room == NULL:
            return BBPE_NO_MEMORY
        self.found = <occurrence *>room
        found[0] = 0
        for i in range(merged.first, merged.born):
            p = merged.positions[i]
            if not self._is_valid(merged.key, p):
                continue
            segment = segments_find(&self.weights, p, segment)
            before, after = self.slots[p - 1], self.slots[p + length]
            bbpe_symbols_splice(self.slots, p, p + left_length, p + length, token)
            if before != BBPE_SYMBOLS_BORDER:
                neighbours_note(&self.lefts, before, self.weights.counts[segment])
            if after != BBPE_SYMBOLS_BORDER:
                neighbours_note(&self.rights, after, self.weights.counts[segment])
            self.found[found[0]] = occurrence(p, before, after)
            found[0] += 1
        return BBPE_OK

    cdef void _subtract(self, uint32_t left, uint32_t right, uint32_t token) noexcept nogil:
        """Take away the pairs that the merge broke up."""
        cdef size_t i
        cdef uint32_t other
        for i in range(self.lefts.count):
            other = self.lefts.ids[i]
            if other != token:
                self._lower(bbpe_pair_key(other, left), self.lefts.by_id[other].count)
        for i in range(self.rights.count):
            other = self.rights.ids[i]
            self._lower(bbpe_pair_key(right, other), self.rights.by_id[other].count)
        # in "abab" the first merge makes the pair (ab, a), which the second one breaks up again
        if self.lefts.by_id[token].born:
            self.rights.by_id[left].count -= self.lefts.by_id[token].count

    cdef inline void _lower(self, uint64_t key, int64_t count) noexcept nogil:
        cdef uint64_t *number = bbpe_pair_table_find(&self.index, key)
        if number != NULL:  # NULL: the pair was born with no chance to be merged
            self.pairs[number[0]].count -= count

    cdef bbpe_status _add_new_pairs(self, uint32_t token) noexcept nogil:
        """Make the pairs with the new token that may yet be merged, with room for their positions."""
        cdef bbpe_status status = BBPE_OK
        cdef size_t i
        cdef uint32_t other
        for i in range(self.lefts.count):
            other = self.lefts.ids[i]
            if status == BBPE_OK:
                status = self._add_new_pair(&self.lefts.by_id[other], other, token)
        for i in range(self.rights.count):
            other = self.rights.ids[i]
            if status == BBPE_OK:
                status = self._add_new_pair(&self.rights.by_id[other], token, other)
        return status

    cdef bbpe_status _add_new_pair(self, change *made, uint32_t left, uint32_t right) noexcept nogil:
        cdef uint32_t length = self.ties.tokens.lengths[left] + self.ties.tokens.lengths[right]
        # a count never rises after this, so a pair below the minimum needs no record
        if made.count < self.min_frequency or length > self.longest:
            return BBPE_OK
        made.positions = <uint32_t *>bbpe_memory_new(made.born, sizeof(uint32_t))
        if made.positions == NULL:
            return BBPE_NO_MEMORY
        self._new_pair(bbpe_pair_key(left, right))
        self.pairs[self.pair_count - 1].count = made.count
        self.pairs[self.pair_count - 1].born = made.born
        self.pairs[self.pair_count - 1].positions = made.positions
        return BBPE_OK

    cdef void _note_positions(self, size_t found) noexcept nogil:
        cdef size_t i
        cdef occurrence at
        for i in range(found):
            at = self.found[i]
            if at.left != BBPE_SYMBOLS_BORDER:
                neighbours_place(&self.lefts, at.left, at.position - self.ties.tokens.lengths[at.left])
            if at.right != BBPE_SYMBOLS_BORDER:
                neighbours_place(&self.rights, at.right, at.position)

    cdef void _queue_new_pairs(self) noexcept nogil:
        while self.queued < self.pair_count:
            self._queue(self.queued)
            self.queued += 1
