#include "encode/long_pieces.h"

#include "memory/memory.h"

enum {
    LEAST = 1 << 14,   /* bytes of a ring */
    MOST = 1 << 24,
    GROWTH = 4,
    A_WORD = 64,       /* bytes of the ring for which there is a word in the sets: a line of 60 letters takes three times as
                        * many, and sets that are a third full rarely evict */
    PLACE_BITS = 48,   /* of a word in the sets */
};

#define PLACE_MASK (((uint64_t)1 << PLACE_BITS) - 1)

static size_t words_for(size_t size) {
    return size / A_WORD;
}

static size_t bytes_for(size_t size) {
    return size + words_for(size) * sizeof(uint64_t);
}

size_t bbpe_long_pieces_bytes(const bbpe_long_pieces *self) {
    return bytes_for(self->size);
}

void bbpe_long_pieces_free(bbpe_long_pieces *self, bbpe_memory_budget *budget) {
    if (budget != NULL) bbpe_memory_budget_give(budget, bbpe_long_pieces_bytes(self));
    bbpe_memory_table_free(self->sets);
    bbpe_memory_table_free(self->ring);
    memset(self, 0, sizeof *self);
}

uint64_t bbpe_long_piece_hash(const bbpe_long_piece_key *key) {
    uint64_t words[2], hash = key->length;
    BBPE_ASSERT(key->n >= 16 && key->n <= BBPE_LONG_PIECE);
    for (size_t i = 0; i + 16 < key->n; i += 16) {
        memcpy(words, key->bytes + i, 16);
        hash = bbpe_hash_two(words[0] ^ hash, words[1]);
    }
    memcpy(words, key->bytes + key->n - 16, 16);
    return bbpe_hash_two(words[0] ^ hash, words[1]);
}

static uint64_t *set_of(const bbpe_long_pieces *self, uint64_t hash) {
    return self->sets + (hash & self->set_mask) * BBPE_LONG_PIECES_WAYS;
}

/* The place of a record; 0, which none has, when it was overwritten. */
static uint64_t place_of(const bbpe_long_pieces *self, uint64_t word) {
    const uint64_t place = (word & PLACE_MASK) * 8;
    return place + self->size >= self->head ? place : 0;
}

static const bbpe_long_piece *record_at(const bbpe_long_pieces *self, uint64_t place) {
    return BBPE_ALIGNED(self->ring + (place & (self->size - 1)), 8);
}

static const uint8_t *bytes_of(const bbpe_long_piece *record) {
    return (const uint8_t *)(record + 1) + record->count * sizeof(uint32_t);
}

void bbpe_long_pieces_prefetch(const bbpe_long_pieces *self, uint64_t hash) {
    if (self->size > 0) BBPE_PREFETCH(set_of(self, hash));
}

/* The next record of this hash, by 16 of its bits, in a way from `*way` on; or NULL. */
static const bbpe_long_piece *next_record(const bbpe_long_pieces *self, uint64_t hash, size_t *way) {
    const uint64_t *set = set_of(self, hash);
    while (*way < BBPE_LONG_PIECES_WAYS) {
        const uint64_t word = set[(*way)++];
        if ((word ^ hash) >> PLACE_BITS == 0 && place_of(self, word) != 0) return record_at(self, place_of(self, word));
    }
    return NULL;
}

const bbpe_long_piece *bbpe_long_pieces_prefetch_record(const bbpe_long_pieces *self, uint64_t hash) {
    enum { LINES = 4 }; /* a line of 60 letters has as many with its ids */
    size_t way = 0;
    const bbpe_long_piece *record = self->size > 0 ? next_record(self, hash, &way) : NULL;
    for (size_t line = 0; record != NULL && line < LINES; line++) BBPE_PREFETCH((const uint8_t *)record + 64 * line);
    return record;
}

const bbpe_long_piece *bbpe_long_pieces_find(const bbpe_long_pieces *self, const bbpe_long_piece_key *key) {
    if (self->size == 0) return NULL;
    const uint64_t hash = bbpe_long_piece_hash(key);
    const bbpe_long_piece *record;
    for (size_t way = 0; (record = next_record(self, hash, &way)) != NULL;)
        if (bbpe_long_piece_has(record, key)) return record;
    return NULL;
}

/* The way for a new record: a free one, or that of the oldest. */
static uint64_t *way_for(const bbpe_long_pieces *self, uint64_t hash) {
    uint64_t *set = set_of(self, hash), *oldest = set;
    for (size_t way = 0; way < BBPE_LONG_PIECES_WAYS; way++) {
        if ((set[way] & PLACE_MASK) < (*oldest & PLACE_MASK)) oldest = set + way;
    }
    return oldest;
}

static void put(bbpe_long_pieces *self, const bbpe_long_piece *head, const uint32_t *ids, const uint8_t *bytes) {
    const size_t n = head->length & ~BBPE_LONG_PIECE_PART, ids_size = head->count * sizeof *ids;
    const size_t needed = (sizeof *head + ids_size + n + 7) & ~(size_t)7;
    const size_t left = self->size - (size_t)(self->head & (self->size - 1));
    if (left < needed) self->head += left; /* records do not go around the end */
    uint8_t *const to = self->ring + (self->head & (self->size - 1));
    *way_for(self, head->hash) = (head->hash & ~PLACE_MASK) | self->head / 8;
    memcpy(to, head, sizeof *head);
    memcpy(to + sizeof *head, ids, ids_size);
    memcpy(to + sizeof *head + ids_size, bytes, n);
    self->head += needed;
    self->taken += needed;
    self->added++;
}

/* Replace the ring by a larger one, which gets a copy of the records. */
static void move_to(bbpe_long_pieces *self, bbpe_memory_budget *budget, size_t size) {
    bbpe_long_pieces before = *self;
    const size_t more = bytes_for(size) - bytes_for(before.size);
    if (budget == NULL || !bbpe_memory_budget_take(budget, more)) return;
    uint64_t *sets = bbpe_memory_table(words_for(size), sizeof *sets);
    uint8_t *ring = bbpe_memory_table(size, 1);
    if (sets == NULL || ring == NULL) {
        bbpe_memory_table_free(sets);
        bbpe_memory_table_free(ring);
        bbpe_memory_budget_give(budget, more);
        return;
    }
    *self = (bbpe_long_pieces){sets, words_for(size) / BBPE_LONG_PIECES_WAYS - 1, ring, size, 8, 0, before.added};
    for (size_t i = 0; i < words_for(before.size); i++) {
        const uint64_t place = place_of(&before, before.sets[i]);
        if (place == 0) continue;
        const bbpe_long_piece *record = record_at(&before, place);
        put(self, record, (const uint32_t *)(record + 1), bytes_of(record));
    }
    bbpe_memory_table_free(before.sets);
    bbpe_memory_table_free(before.ring);
}

void bbpe_long_pieces_add(bbpe_long_pieces *self, bbpe_memory_budget *budget, const bbpe_long_piece_key *key,
                          const uint32_t *ids, size_t count) {
    const bbpe_long_piece head = {bbpe_long_piece_hash(key), key->length, (uint32_t)count};
    BBPE_ASSERT(count <= key->n);
    if (self->size == 0 || (self->taken > self->size / 2 && self->size < MOST)) {
        move_to(self, budget, self->size == 0 ? LEAST : GROWTH * self->size);
        self->taken = 0; /* without room in the budget it asks again after as many */
    }
    if (self->size > 0) put(self, &head, ids, key->bytes);
}
