#include "count/sum.h"

#include "threads/threads.h"
#include "memory/memory.h"

enum {
    HINT_BITS = 8,
    STAGED = 64, /* slots at a time, so that what they may match is fetched before it is looked at */
    AHEAD = 96,  /* slots: without fetching them, reading a table from end to end took a sixth longer */
};

/* The slots of one part in one table, [first, end), and what they pushed after their end. */
typedef struct {
    const bbpe_count_table *table;
    size_t first, end, at;
} range;

/* The pretokens of one part in all tables but the first: codes + 1 by hash, 0 where there is none. */
typedef struct {
    uint64_t *codes;
    size_t mask;
} codes_table;

/* The result of a part: the ranks of pretokens that are kept elsewhere, and how many bytes these have. */
typedef struct {
    uint32_t *ranks;
    size_t count, capacity, bytes;
} found_out;

static range range_of(const bbpe_count_table *table, size_t part, size_t parts) {
    const size_t size = (table->mask + 1) / parts;
    return (range){table, part * size, (part + 1) * size, part * size};
}

typedef struct {
    bbpe_count_slot *slot;
    uint64_t hash;
} staged;

/* The next slots whose pretokens belong to the part, fewer than STAGED at the end only.  Which slots are empty no branch can
 * foresee, so there is no branch on it. */
static size_t next_slots(range *self, staged *slots) {
    const bbpe_count_table *table = self->table;
    size_t n = 0;
    for (; n < STAGED && self->at < self->end; self->at++) {
        bbpe_count_slot *slot = table->slots + self->at;
        BBPE_PREFETCH(table->slots + ((self->at + AHEAD) & table->mask));
        slots[n] = (staged){slot, bbpe_count_table_hash(table, slot)};
        const size_t home = bbpe_count_table_home(table, slots[n].hash);
        n += (size_t)(!bbpe_count_slot_is_empty(slot) & (home >= self->first) & (home < self->end));
    }
    /* after the end, up to the first slot that is empty: once around is enough */
    for (; n < STAGED; self->at++) {
        const size_t at = self->at & table->mask;
        bbpe_count_slot *slot = table->slots + at;
        if (bbpe_count_slot_is_empty(slot) || (at >= self->first && at < self->end)) break;
        slots[n] = (staged){slot, bbpe_count_table_hash(table, slot)};
        const size_t home = bbpe_count_table_home(table, slots[n].hash);
        n += (size_t)((home >= self->first) & (home < self->end));
    }
    return n;
}

static bbpe_status make_hints(bbpe_count_sum *self, size_t shard) {
    const bbpe_count_shard *given = self->shards + shard;
    const size_t count = given->starts[given->count];
    uint32_t *hints = self->hints[shard] = bbpe_memory_new((count >> HINT_BITS) + 1, sizeof *hints);
    if (hints == NULL) return BBPE_NO_MEMORY;
    uint32_t stretch = 0;
    for (size_t i = 0; i < count; i += (size_t)1 << HINT_BITS) {
        while (given->starts[stretch + 1] <= i) stretch++;
        hints[i >> HINT_BITS] = stretch;
    }
    return BBPE_OK;
}

bbpe_status bbpe_count_sum_init(bbpe_count_sum *self, const bbpe_count_shard *shards, size_t count) {
    memset(self, 0, sizeof *self);
    self->shards = shards;
    self->shard_count = count;
    for (size_t i = 0; i < count; i++) {
        if (shards[i].table->count >= UINT32_MAX - self->ranks) return BBPE_TOO_LARGE;
        self->ranks += shards[i].table->count;
    }
    const size_t words = self->ranks / 64 + 1;
    self->hints = bbpe_memory_zeroed(count, sizeof *self->hints);
    self->out = bbpe_memory_zeroed(words, sizeof *self->out);
    self->earlier = bbpe_memory_new(words, sizeof *self->earlier);
    if (!self->hints || !self->out || !self->earlier) return BBPE_NO_MEMORY;
    bbpe_status status = BBPE_OK;
    for (size_t i = 0; i < count && status == BBPE_OK; i++) status = make_hints(self, i);
    return status;
}

void bbpe_count_sum_free(bbpe_count_sum *self) {
    for (size_t i = 0; self->hints && i < self->shard_count; i++) bbpe_memory_free(self->hints[i]);
    bbpe_memory_free(self->hints);
    bbpe_memory_free(self->out);
    bbpe_memory_free(self->earlier);
    memset(self, 0, sizeof *self);
}

BBPE_INLINE uint32_t rank_of(const bbpe_count_sum *self, size_t shard, const bbpe_count_slot *slot) {
    const bbpe_count_shard *given = self->shards + shard;
    const uint32_t number = slot->number - 1;
    size_t stretch = self->hints[shard][number >> HINT_BITS];
    while (given->starts[stretch + 1] <= number) stretch++;
    return given->ranks[stretch] + (number - given->starts[stretch]);
}

static size_t code_of(const bbpe_count_sum *self, size_t shard, const bbpe_count_slot *slot) {
    return shard << BBPE_COUNT_SLOT_BITS | (size_t)(slot - self->shards[shard].table->slots);
}

static bbpe_count_slot *slot_of(const bbpe_count_sum *self, size_t code) {
    return bbpe_count_sum_table(self, code)->slots + bbpe_count_sum_slot(code);
}

/* Fetch where the same pretokens would be in the first table. */
static void fetch(const bbpe_count_table *first, const staged *slots, size_t n) {
    for (size_t i = 0; i < n; i++) BBPE_PREFETCH(first->slots + bbpe_count_table_home(first, slots[i].hash));
}

/* Fetch the bytes of long ones that are most likely the same, of both tables. */
static void fetch_long(const bbpe_count_table *first, const bbpe_count_table *table, const staged *slots, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const bbpe_count_slot *slot = slots[i].slot, *same = first->slots + bbpe_count_table_home(first, slots[i].hash);
        if (slot->hi < BBPE_COUNT_LONG || same->lo != slot->lo || same->hi != slot->hi) continue;
        BBPE_PREFETCH(table->arena + slot->start * BBPE_COUNT_STEP);
        BBPE_PREFETCH(first->arena + same->start * BBPE_COUNT_STEP);
    }
}

BBPE_INLINE bool is_same(const bbpe_count_table *a, const bbpe_count_slot *left, const bbpe_count_table *b,
                         const bbpe_count_slot *right) {
    if (left->lo != right->lo || left->hi != right->hi) return false;
    if (BBPE_LIKELY(left->hi < BBPE_COUNT_LONG)) return true;
    return memcmp(a->arena + left->start * BBPE_COUNT_STEP, b->arena + right->start * BBPE_COUNT_STEP,
                  left->hi - BBPE_COUNT_LONG) == 0;
}

/* The slot of a table that has the pretoken of another's, or NULL. */
BBPE_INLINE bbpe_count_slot *find(const bbpe_count_table *table, const bbpe_count_table *other,
                                  const bbpe_count_slot *wanted, uint64_t hash) {
    for (size_t i = bbpe_count_table_home(table, hash);; i = (i + 1) & table->mask) {
        bbpe_count_slot *slot = table->slots + i;
        if (is_same(table, slot, other, wanted)) return slot;
        if (bbpe_count_slot_is_empty(slot)) return NULL;
    }
}

/* The code of the same pretoken in a table between the first and this one; otherwise this one's, which is put down. */
static size_t find_or_put(const bbpe_count_sum *self, const codes_table *known, size_t shard,
                          const bbpe_count_slot *slot, uint64_t hash) {
    size_t i = (size_t)hash & known->mask;
    for (; known->codes[i]; i = (i + 1) & known->mask) {
        const size_t code = (size_t)known->codes[i] - 1;
        if (is_same(bbpe_count_sum_table(self, code), slot_of(self, code), self->shards[shard].table, slot)) return code;
    }
    const size_t own = code_of(self, shard, slot);
    known->codes[i] = own + 1;
    return own;
}

/* Keep a pretoken where it appeared first; there is room for one in `found`.  The count of a slot that is out says where
 * it is kept, or was. */
static bbpe_status unite(bbpe_count_sum *self, found_out *found, size_t other, size_t own) {
    bbpe_count_slot *there, *here = slot_of(self, own);
    while ((there = slot_of(self, other))->number == 0) other = (size_t)there->count;
    if (there->count > UINT64_MAX - here->count) return BBPE_TOO_LARGE;
    uint32_t rank = rank_of(self, own >> BBPE_COUNT_SLOT_BITS, here);
    const uint32_t other_rank = rank_of(self, other >> BBPE_COUNT_SLOT_BITS, there);
    if (rank < other_rank) {
        bbpe_count_slot *swapped = there;
        there = here;
        here = swapped;
        rank = other_rank;
        other = own;
    }
    there->count += here->count;
    here->count = other;
    here->number = 0;
    found->ranks[found->count++] = rank;
    found->bytes += bbpe_count_slot_length(here);
    return BBPE_OK;
}

/* Room for what the tables after the first have in this part. */
static bbpe_status make_known(const bbpe_count_sum *self, codes_table *known, size_t part, size_t parts) {
    size_t count = 0, capacity = 16;
    staged slots[STAGED];
    for (size_t shard = 1; shard < self->shard_count; shard++) {
        range own = range_of(self->shards[shard].table, part, parts);
        for (size_t n; (n = next_slots(&own, slots)) > 0;) count += n;
    }
    while (capacity / 2 < count) capacity *= 2;
    known->codes = bbpe_memory_zeroed(capacity, sizeof *known->codes);
    known->mask = capacity - 1;
    return known->codes ? BBPE_OK : BBPE_NO_MEMORY;
}

/* Unite a slot of a shard with the same pretoken of the shards before, if there is one. */
BBPE_INLINE bbpe_status add_slot(bbpe_count_sum *self, const codes_table *known, found_out *out, size_t shard,
                                 staged item) {
    const bbpe_count_slot *found = find(self->shards[0].table, self->shards[shard].table, item.slot, item.hash);
    const size_t code = code_of(self, shard, item.slot);
    size_t other = code;
    if (found != NULL)
        other = code_of(self, 0, found);
    else if (known->codes != NULL)
        other = find_or_put(self, known, shard, item.slot, item.hash);
    return other == code ? BBPE_OK : unite(self, out, other, code);
}

/* Add what a shard has in a part to the shards before: while some slots are looked at, the next ones are on their way. */
static bbpe_status add_shard(bbpe_count_sum *self, const codes_table *known, found_out *found, size_t shard,
                            size_t part, size_t parts) {
    const bbpe_count_table *first = self->shards[0].table;
    range own = range_of(self->shards[shard].table, part, parts);
    staged slots[2][STAGED];
    size_t n = next_slots(&own, slots[0]);
    fetch(first, slots[0], n);
    for (size_t turn = 0; n > 0; turn ^= 1) {
        const size_t next = next_slots(&own, slots[turn ^ 1]);
        fetch(first, slots[turn ^ 1], next);
        fetch_long(first, own.table, slots[turn], n);
        if (!bbpe_memory_grow(&found->ranks, &found->capacity, found->count + n, sizeof *found->ranks))
            return BBPE_NO_MEMORY;
        for (size_t i = 0; i < n; i++) {
            const bbpe_status status = add_slot(self, known, found, shard, slots[turn][i]);
            if (status != BBPE_OK) return status;
        }
        n = next;
    }
    return BBPE_OK;
}

bbpe_status bbpe_count_sum_do_part(bbpe_count_sum *self, size_t part, size_t parts) {
    BBPE_ASSERT(part < parts && parts <= BBPE_COUNT_PARTS && (parts & (parts - 1)) == 0);
    codes_table known = {NULL, 0};
    found_out found = {NULL, 0, 0, 0};
    /* with more than two, what the first table does not have may yet be in another one */
    bbpe_status status = self->shard_count > 2 ? make_known(self, &known, part, parts) : BBPE_OK;
    for (size_t shard = 1; shard < self->shard_count && status == BBPE_OK; shard++)
        status = add_shard(self, &known, &found, shard, part, parts);
    /* all at once: among the slots, each would wait until those before it are written */
    for (size_t i = 0; i < found.count; i++)
        bbpe_shared_bits_set(self->out, found.ranks[i]);
    bbpe_shared_sum_add(&self->bytes_out, found.bytes);
    bbpe_memory_free(found.ranks);
    bbpe_memory_free(known.codes);
    return status;
}

void bbpe_count_sum_finish(bbpe_count_sum *self) {
    size_t out = 0;
    for (size_t i = 0; i <= self->ranks / 64; i++) {
        self->earlier[i] = (uint32_t)(64 * i - out);
        out += bbpe_bits_count(self->out[i]);
    }
    self->count = self->ranks - out;
    self->bytes = 0;
    for (size_t i = 0; i < self->shard_count; i++) self->bytes += self->shards[i].table->bytes;
    self->bytes -= self->bytes_out;
}

BBPE_INLINE uint32_t number_of(const bbpe_count_sum *self, size_t shard, const bbpe_count_slot *slot) {
    const uint32_t rank = rank_of(self, shard, slot);
    return self->earlier[rank / 64] + bbpe_bits_count(~self->out[rank / 64] & (((uint64_t)1 << rank % 64) - 1));
}

void bbpe_count_sum_order(const bbpe_count_sum *self, size_t *order) {
    for (size_t shard = 0; shard < self->shard_count; shard++) {
        const bbpe_count_table *table = self->shards[shard].table;
        for (size_t i = 0; i <= table->mask; i++)
            if (table->slots[i].number)
                order[number_of(self, shard, table->slots + i)] = shard << BBPE_COUNT_SLOT_BITS | i;
    }
}

void bbpe_count_sum_counts(const bbpe_count_sum *self, uint64_t *counts) {
    for (size_t shard = 0; shard < self->shard_count; shard++) {
        const bbpe_count_table *table = self->shards[shard].table;
        for (size_t i = 0; i <= table->mask; i++)
            if (table->slots[i].number) counts[number_of(self, shard, table->slots + i)] = table->slots[i].count;
    }
}
