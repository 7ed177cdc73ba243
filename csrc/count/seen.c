#include "count/seen.h"

#include "memory/memory.h"

enum { LEAST = 1 << 10 }; /* slots */

/* The keys of both sums, of one salt. */
static const uint64_t OTHER_SALT = 0x8EBC6AF09C88C6E3u;

void bbpe_count_digester_init(bbpe_count_digester *self, uint64_t salt) {
    memset(self, 0, sizeof *self);
    self->salt = salt;
    self->sums.first = bbpe_hash_u64(salt ^ BBPE_HASH_SALT_LO);
    self->sums.second = bbpe_hash_u64(salt ^ BBPE_HASH_SALT_HI);
}

/* Add whole blocks of 16 bytes to both sums. */
static void add_blocks(bbpe_count_digester *self, const uint8_t *bytes, size_t blocks) {
    const uint64_t key = bbpe_hash_u64(self->salt ^ OTHER_SALT), other = bbpe_hash_u64(key);
    uint64_t first = self->sums.first, second = self->sums.second, words[2];
    for (size_t i = 0; i < blocks; i++) {
        memcpy(words, bytes + 16 * i, 16);
        first = bbpe_hash_salted(words[0] ^ key, words[1] ^ first);
        second = bbpe_hash_salted(words[1] ^ other, words[0] ^ second);
    }
    self->sums = (bbpe_count_digest){first, second};
}

void bbpe_count_digester_update(bbpe_count_digester *self, const uint8_t *bytes, size_t n) {
    const size_t held = (size_t)(self->size % 16);
    self->size += n;
    if (held) {
        const size_t taken = n < 16 - held ? n : 16 - held;
        if (taken) memcpy(self->rest + held, bytes, taken);
        if (held + taken < 16) return;
        add_blocks(self, self->rest, 1);
        bytes += taken;
        n -= taken;
    }
    add_blocks(self, bytes, n / 16);
    if (n % 16) memcpy(self->rest, bytes + n / 16 * 16, n % 16);
}

bbpe_count_digest bbpe_count_digester_finish(const bbpe_count_digester *self) {
    bbpe_count_digester last = *self;
    const size_t held = (size_t)(self->size % 16);
    memset(last.rest + held, 0, 16 - held);
    add_blocks(&last, last.rest, 1);
    /* the size tells the zeros of the last block from those of a text */
    bbpe_count_digest found = {bbpe_hash_u64(last.sums.first ^ self->size),
                               bbpe_hash_u64(last.sums.second ^ bbpe_hash_fibonacci(self->size + 1))};
    if ((found.first | found.second) == 0) found.first = 1;
    return found;
}

/* The smallest number of slots that `count` digests fill to at most three quarters; 0 when there is none. */
static size_t slots_for(size_t count) {
    size_t slots = LEAST;
    while (slots - slots / 4 < count) {
        if (slots > SIZE_MAX / 64) return 0;
        slots *= 2;
    }
    return slots;
}

bbpe_status bbpe_count_seen_init(bbpe_count_seen *self) {
    memset(self, 0, sizeof *self);
    self->slots = bbpe_memory_table(LEAST, sizeof *self->slots);
    if (self->slots == NULL) return BBPE_NO_MEMORY;
    self->mask = LEAST - 1;
    return BBPE_OK;
}

void bbpe_count_seen_free(bbpe_count_seen *self) {
    bbpe_memory_table_free(self->slots);
    memset(self, 0, sizeof *self);
}

size_t bbpe_count_seen_need(const bbpe_count_seen *self, size_t more) {
    const size_t now = self->mask + 1, then = more < SIZE_MAX / 64 - self->count ? slots_for(self->count + more) : 0;
    if (then == 0) return SIZE_MAX;
    return (then > now ? now + then : now) * sizeof *self->slots;
}

bbpe_status bbpe_count_seen_reserve(bbpe_count_seen *self, size_t more) {
    if (more > SIZE_MAX / 64 - self->count) return BBPE_TOO_LARGE;
    const size_t slots = slots_for(self->count + more);
    if (slots == 0) return BBPE_TOO_LARGE;
    if (slots <= self->mask + 1) return BBPE_OK;
    bbpe_count_seen grown = {bbpe_memory_table(slots, sizeof *self->slots), slots - 1, 0};
    if (grown.slots == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i <= self->mask; i++)
        if (self->slots[i].first | self->slots[i].second) (void)bbpe_count_seen_add(&grown, self->slots[i]);
    bbpe_count_seen_free(self);
    *self = grown;
    return BBPE_OK;
}

bool bbpe_count_seen_add(bbpe_count_seen *self, bbpe_count_digest digest) {
    for (size_t i = (size_t)digest.first & self->mask;; i = (i + 1) & self->mask) {
        bbpe_count_digest *slot = self->slots + i;
        if (slot->first == digest.first && slot->second == digest.second) return false;
        if ((slot->first | slot->second) == 0) {
            BBPE_ASSERT(self->count < self->mask);
            *slot = digest;
            self->count++;
            return true;
        }
    }
}
