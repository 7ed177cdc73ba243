#include "tables/image.h"

#include "base/hash.h"

/* Where the next n bytes are; NULL when the block is only measured, or does not have them. */
static uint8_t *next(bbpe_image *self, size_t n, size_t alignment) {
    const size_t start = (self->used + alignment - 1) / alignment * alignment;
    const size_t most = self->purpose == BBPE_IMAGE_MEASURE ? SIZE_MAX / 2 : self->size;
    if (self->is_broken || start > most || n > most - start) {
        self->is_broken = true;
        return NULL;
    }
    if (self->purpose == BBPE_IMAGE_WRITE) memset(self->bytes + self->used, 0, start - self->used);
    self->used = start + n;
    return self->purpose == BBPE_IMAGE_MEASURE ? NULL : self->bytes + start;
}

void bbpe_image_number(bbpe_image *self, size_t *number) {
    uint8_t *at = next(self, sizeof *number, sizeof *number);
    if (self->purpose == BBPE_IMAGE_OPEN) *number = 0;
    if (at == NULL) return;
    if (self->purpose == BBPE_IMAGE_WRITE) memcpy(at, number, sizeof *number);
    else memcpy(number, at, sizeof *number);
}

void bbpe_image_array(bbpe_image *self, void *array, size_t count, size_t size) {
    void *items = NULL;
    bbpe_image_expect(self, count <= SIZE_MAX / 4 / size);
    uint8_t *at = self->is_broken || count == 0 ? NULL : next(self, count * size, BBPE_IMAGE_ALIGNMENT);
    if (self->purpose == BBPE_IMAGE_OPEN) {
        items = at;
        memcpy(array, &items, sizeof items);
    } else if (at != NULL) {
        memcpy(&items, array, sizeof items);
        memcpy(at, items, count * size);
    }
}

void bbpe_image_expect(bbpe_image *self, bool is_met) {
    if (!is_met) self->is_broken = true;
}

bool bbpe_image_is_whole(const bbpe_image *self) {
    return !self->is_broken && bbpe_image_size(self) == self->size;
}

size_t bbpe_image_size(const bbpe_image *self) {
    return (self->used + BBPE_IMAGE_ALIGNMENT - 1) / BBPE_IMAGE_ALIGNMENT * BBPE_IMAGE_ALIGNMENT;
}

/* One lane: two words more.  A word that meets its own negation would drop the rest, so the lane itself stays in. */
BBPE_INLINE uint64_t mixed(uint64_t lane, const uint8_t *bytes) {
    uint64_t words[2];
    memcpy(words, bytes, sizeof words);
    return bbpe_hash_two(words[0] ^ lane, words[1]) ^ bbpe_hash_fibonacci(lane);
}

uint64_t bbpe_image_checksum(const uint8_t *bytes, size_t n) {
    enum { WORDS = 16, LANES = 4 };
    uint64_t lanes[LANES] = {n, n + 1, n + 2, n + 3}, digest = 0;
    uint8_t rest[WORDS * LANES] = {0};
    size_t i = 0;
    for (; n - i >= sizeof rest; i += sizeof rest)
        for (size_t lane = 0; lane < LANES; lane++) lanes[lane] = mixed(lanes[lane], bytes + i + WORDS * lane);
    if (n > i) memcpy(rest, bytes + i, n - i);
    for (size_t lane = 0; lane < LANES; lane++) digest = bbpe_hash_u64(digest ^ mixed(lanes[lane], rest + WORDS * lane));
    return digest;
}
