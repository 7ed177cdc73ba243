#include "count/table.h"

#include "threads/threads.h"
#include "memory/memory.h"

/* a vector made of two words just stored waits for both to reach the cache */
BBPE_GCC_OPTIMIZE("no-tree-slp-vectorize")

enum {
    STAGED = 128, /* pretokens at a time */
    LEAST_SLOTS = 1 << 10,
    SMALL = 1 << 16, /* slots of a huge page, which is had in less time than a quarter of it in small ones */
};

typedef struct {
    uint64_t lo, hi, hash;
    const uint8_t *bytes;
} staged;

typedef struct {
    size_t count;
    size_t long_bytes; /* of the long ones, in the arena */
    staged items[STAGED];
    uint64_t times[STAGED]; /* unless each occurs once */
} block;

static bbpe_status make(bbpe_count_table *self, size_t capacity) {
    self->slots = bbpe_memory_dense_table(capacity, sizeof *self->slots);
    self->mask = capacity - 1;
    for (self->shift = 64; capacity > 1; capacity /= 2) self->shift--;
    return self->slots ? BBPE_OK : BBPE_NO_MEMORY;
}

bbpe_status bbpe_count_table_init(bbpe_count_table *self, uint64_t salt) {
    memset(self, 0, sizeof *self);
    self->salt_lo = BBPE_HASH_SALT_LO ^ salt;
    self->salt_hi = BBPE_HASH_SALT_HI ^ bbpe_hash_u64(salt);
    return make(self, LEAST_SLOTS);
}

void bbpe_count_table_free(bbpe_count_table *self) {
    bbpe_memory_table_free(self->slots);
    bbpe_memory_free(self->arena);
    memset(self, 0, sizeof *self);
}

size_t bbpe_count_table_memory(const bbpe_count_table *self) {
    return sizeof *self + (self->mask + 1) * sizeof *self->slots + self->arena_capacity;
}

/* Sixteen bytes at a time; the last sixteen overlap those before. */
static uint64_t hash_long(const bbpe_count_table *self, const uint8_t *bytes, size_t n) {
    uint64_t words[2], hash = (uint64_t)n ^ self->salt_hi;
    for (size_t i = 0; i + 16 < n; i += 16) {
        memcpy(words, bytes + i, 16);
        hash = bbpe_hash_two(hash ^ words[0], words[1] + hash);
    }
    memcpy(words, bytes + n - 16, 16);
    return bbpe_hash_two(hash ^ words[0], words[1] + hash);
}

/* The key of up to 15 bytes; `readable` is how many may be read.  That of none is not zero, as that of an empty slot is. */
BBPE_INLINE bbpe_short_key short_key(const uint8_t *bytes, size_t n, size_t readable) {
    bbpe_short_key key;
    if (BBPE_LIKELY(readable >= 16)) {
        uint64_t words[2];
        memcpy(words, bytes, 16);
        key = bbpe_short_key_cut(words[0], words[1], n);
    } else {
        key = bbpe_short_key_of(bytes, n);
    }
    key.lo |= n == 0;
    return key;
}

static size_t arena_size(size_t n) {
    return (n + BBPE_COUNT_STEP - 1) / BBPE_COUNT_STEP * BBPE_COUNT_STEP;
}

static bool is_same_long(const bbpe_count_table *self, const bbpe_count_slot *slot, const staged *item) {
    return memcmp(self->arena + slot->start * BBPE_COUNT_STEP, item->bytes, item->hi - BBPE_COUNT_LONG) == 0;
}

static bbpe_status grow(bbpe_count_table *self, size_t capacity) {
    bbpe_count_table grown = *self;
    if (make(&grown, capacity) != BBPE_OK) return BBPE_NO_MEMORY;
    for (size_t i = 0; i <= self->mask; i++) {
        const bbpe_count_slot *slot = self->slots + i;
        if (bbpe_count_slot_is_empty(slot)) continue;
        size_t to = bbpe_count_table_home(&grown, bbpe_count_table_hash(self, slot));
        while (!bbpe_count_slot_is_empty(grown.slots + to)) to = (to + 1) & grown.mask;
        grown.slots[to] = *slot;
    }
    bbpe_memory_table_free(self->slots);
    *self = grown;
    return BBPE_OK;
}

/* Room for so many more pretokens, of which the long ones take `bytes` of the arena. */
static bbpe_status reserve(bbpe_count_table *self, size_t count, size_t bytes) {
    if (count > UINT32_MAX - 1 - self->count || bytes > UINT32_MAX * BBPE_COUNT_STEP - self->arena_used)
        return BBPE_TOO_LARGE;
    if (bytes) {
        if (!bbpe_memory_grow(&self->arena, &self->arena_capacity, self->arena_used + bytes, 1))
            return BBPE_NO_MEMORY;
    }
    size_t capacity = self->mask + 1;
    while (capacity / 16 * 11 < self->count + count) capacity *= capacity < SMALL ? 8 : 2;
    return capacity == self->mask + 1 ? BBPE_OK : grow(self, capacity);
}

static BBPE_NOINLINE void insert(bbpe_count_table *self, bbpe_count_slot *slot, const staged *item, uint64_t times) {
    *slot = (bbpe_count_slot){item->lo, item->hi, times, (uint32_t)++self->count, 0};
    if (item->hi < BBPE_COUNT_LONG) {
        self->bytes += (size_t)(item->hi >> 56);
        return;
    }
    const size_t n = (size_t)(item->hi - BBPE_COUNT_LONG);
    slot->start = (uint32_t)(self->arena_used / BBPE_COUNT_STEP);
    memcpy(self->arena + self->arena_used, item->bytes, n);
    self->arena_used += arena_size(n);
    self->bytes += n;
}

/* The bytes of long ones that are most likely the same, on their way to the cache. */
static void fetch_long(const bbpe_count_table *self, const block *stage) {
    for (size_t i = 0; i < stage->count; i++) {
        const bbpe_count_slot *slot = self->slots + bbpe_count_table_home(self, stage->items[i].hash);
        if (slot->lo == stage->items[i].lo && slot->hi >= BBPE_COUNT_LONG)
            BBPE_PREFETCH(self->arena + slot->start * BBPE_COUNT_STEP);
    }
}

static void add_total(bbpe_count_table *self, uint64_t times) {
    self->total += times;
    self->total_high += self->total < times;
}

/* Count all that is staged. */
BBPE_INLINE bbpe_status flush(bbpe_count_table *self, block *stage, const bool has_times) {
    const bbpe_status status = reserve(self, stage->count, stage->long_bytes); /* should all of it be new */
    if (status != BBPE_OK) return status;
    if (stage->long_bytes) fetch_long(self, stage);
    if (!has_times) add_total(self, stage->count);
    for (size_t i = 0; i < stage->count; i++) {
        const staged *item = stage->items + i;
        const uint64_t times = has_times ? stage->times[i] : 1;
        bbpe_count_slot *slot = self->slots + bbpe_count_table_home(self, item->hash);
        for (;; slot = slot == self->slots + self->mask ? self->slots : slot + 1) {
            if (BBPE_LIKELY(slot->lo == item->lo && slot->hi == item->hi)) {
                if (item->hi >= BBPE_COUNT_LONG && !is_same_long(self, slot, item)) continue;
                if (BBPE_UNLIKELY(slot->count > UINT64_MAX - times)) return BBPE_TOO_LARGE;
                slot->count += times;
                break;
            }
            if (bbpe_count_slot_is_empty(slot)) {
                insert(self, slot, item, times);
                break;
            }
        }
        if (has_times) add_total(self, times);
    }
    stage->count = stage->long_bytes = 0;
    return BBPE_OK;
}

/* Put a pretoken on the stage, of which `readable` bytes may be read. */
BBPE_INLINE void put(const bbpe_count_table *self, block *stage, const uint8_t *bytes, size_t n, size_t readable) {
    staged *item = stage->items + stage->count++;
    bbpe_short_key key;
    uint64_t hash;
    if (BBPE_LIKELY(n <= BBPE_SHORT_KEY)) {
        key = short_key(bytes, n, readable);
        hash = bbpe_hash_salted(key.lo ^ self->salt_lo, key.hi ^ self->salt_hi);
    } else {
        hash = hash_long(self, bytes, n);
        key = (bbpe_short_key){hash, BBPE_COUNT_LONG | n};
        stage->long_bytes += arena_size(n);
    }
    BBPE_PREFETCH(self->slots + bbpe_count_table_home(self, hash));
    *item = (staged){key.lo, key.hi, hash, bytes};
}

/* Put pretokens of 1 to 15 bytes on the stage, of each of which 16 can be read, as far as there is space and no other one
 * comes; returns how many. */
BBPE_INLINE size_t put_short(const bbpe_count_table *self, block *stage, const uint8_t *text, size_t size, size_t start,
                             const size_t *ends, size_t n) {
    const size_t left = STAGED - stage->count, most = n < left ? n : left;
    const uint64_t salt_lo = self->salt_lo, salt_hi = self->salt_hi; /* in registers */
    staged *item = stage->items + stage->count;
    size_t i = 0;
    for (; i < most; i++, item++) {
        const size_t length = ends[i] - start;
        if (BBPE_UNLIKELY(length - 1 >= BBPE_SHORT_KEY || size - start < 16)) break;
        uint64_t lo, hi;
        memcpy(&lo, text + start, 8);
        memcpy(&hi, text + start + 8, 8);
        const bbpe_short_key key = bbpe_short_key_cut(lo, hi, length);
        item->lo = key.lo;
        item->hi = key.hi;
        item->hash = bbpe_hash_salted(key.lo ^ salt_lo, key.hi ^ salt_hi);
        BBPE_PREFETCH(self->slots + bbpe_count_table_home(self, item->hash));
        start = ends[i];
    }
    stage->count += i;
    return i;
}

/* One pretoken, as a whole or as pieces. */
BBPE_INLINE bbpe_status add_one(bbpe_count_table *self, block *stage, const uint8_t *bytes, size_t n, size_t readable,
                                const uint64_t *times, size_t most) {
    for (size_t at = 0;; at += most) {
        const size_t length = BBPE_LIKELY(n - at <= most) ? n - at : most;
        if (times) stage->times[stage->count] = *times;
        put(self, stage, bytes + at, length, readable - at);
        if (BBPE_UNLIKELY(stage->count == STAGED)) {
            const bbpe_status status = flush(self, stage, times != NULL);
            if (status != BBPE_OK) return status;
        }
        if (BBPE_LIKELY(n - at <= most)) return BBPE_OK;
    }
}

BBPE_INLINE bbpe_status add_all(bbpe_count_table *self, const uint8_t *text, size_t size, size_t start,
                                const size_t *ends, const uint64_t *times, size_t n, size_t longest, uint64_t *cut) {
    block stage;
    stage.count = stage.long_bytes = 0;
    const size_t most = longest ? longest : BBPE_COUNT_LONGEST;
    for (size_t i = 0; i < n; i++) {
        if (times == NULL && most >= BBPE_SHORT_KEY) {
            const size_t put_here = put_short(self, &stage, text, size, start, ends + i, n - i);
            i += put_here;
            if (put_here > 0) start = ends[i - 1];
            if (stage.count == STAGED) {
                const bbpe_status status = flush(self, &stage, false);
                if (status != BBPE_OK) return status;
            }
            if (i == n) break;
        }
        const size_t length = ends[i] - start;
        if (length == 0 && times == NULL) continue;
        if (BBPE_UNLIKELY(length > most)) {
            if (longest == 0) return BBPE_TOO_LARGE;
            ++*cut;
        }
        const bbpe_status status = add_one(self, &stage, text + start, length, size - start, times ? times + i : NULL, most);
        if (status != BBPE_OK) return status;
        start = ends[i];
    }
    return flush(self, &stage, times != NULL);
}

bbpe_status bbpe_count_table_add(bbpe_count_table *self, const uint8_t *text, size_t size, size_t start,
                                 const size_t *ends, const uint64_t *times, size_t n, size_t longest, uint64_t *cut) {
    return times ? add_all(self, text, size, start, ends, times, n, longest, cut)
                 : add_all(self, text, size, start, ends, NULL, n, longest, cut);
}

bbpe_status bbpe_count_table_add_given(bbpe_count_table *self, const uint8_t *text, size_t size, size_t start,
                                       const int64_t *ends, const uint64_t *times, size_t n, size_t longest,
                                       uint64_t *cut) {
    size_t some[STAGED], end = start;
    for (size_t i = 0; i < n; start = end) {
        size_t count = 0;
        for (; count < STAGED && i + count < n; count++) {
            if (!bbpe_ends_next(ends + i + count, size, &end)) return BBPE_CHANGED;
            some[count] = end;
        }
        const bbpe_status status =
            bbpe_count_table_add(self, text, size, start, some, times ? times + i : NULL, count, longest, cut);
        if (status != BBPE_OK) return status;
        i += count;
    }
    return BBPE_OK;
}

void bbpe_count_table_order(const bbpe_count_table *self, size_t *order) {
    for (size_t i = 0; i <= self->mask; i++)
        if (self->slots[i].number) order[self->slots[i].number - 1] = i;
}

void bbpe_count_table_counts(const bbpe_count_table *self, uint64_t *counts) {
    for (size_t i = 0; i <= self->mask; i++)
        if (self->slots[i].number) counts[self->slots[i].number - 1] = self->slots[i].count;
}
