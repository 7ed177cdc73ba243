#include "decode/token_bytes.h"

#include "memory/memory.h"
#include "base/utf8.h"

/* A size: length in bits 0-13, characters in bits 14-27, leads in bits 28-30, and bit 31 when that is all of it.
 * Without bit 31 it is 0, a hole, or has the leads only and SIZE_LONG.  Lengths and characters are small enough
 * for SIZE_GROUP sizes to be summed as they are. */
#define SIZE_CHARS 14
#define SIZE_FIELD ((1u << SIZE_CHARS) - 1)
#define SIZE_WHOLE 0x80000000u
#define SIZE_LONG 1u
#define SIZE_LIMIT 1023u
#define SIZE_GROUP 16
#define LEADS (BBPE_LEAD_ANY | BBPE_LEAD_WIDE | BBPE_LEAD_FULL)

bbpe_status bbpe_token_bytes_init(bbpe_token_bytes *self, size_t id_count, size_t arena) {
    if (id_count > BBPE_ID_NONE || arena > SIZE_MAX - BBPE_ARENA_SLACK) return BBPE_TOO_LARGE;
    self->slots = bbpe_memory_zeroed(id_count, sizeof *self->slots);
    self->sizes = bbpe_memory_zeroed(id_count + 1, sizeof *self->sizes);
    self->arena = bbpe_memory_zeroed(arena + BBPE_ARENA_SLACK, 1);
    self->id_count = id_count;
    self->arena_used = 0;
    return self->slots == NULL || self->sizes == NULL || self->arena == NULL ? BBPE_NO_MEMORY : BBPE_OK;
}

void bbpe_token_bytes_free(bbpe_token_bytes *self) {
    bbpe_memory_free(self->slots);
    bbpe_memory_free(self->sizes);
    bbpe_memory_free(self->arena);
    self->slots = NULL;
    self->sizes = NULL;
    self->arena = NULL;
}

static bbpe_text_size size_of(const uint8_t *bytes, size_t length) {
    bbpe_text_size size = {length, 0, 0};
    for (size_t i = 0; i < length; i++) {
        size.chars += !bbpe_utf8_is_tail(bytes[i]);
        if (bytes[i] >= 0x80) size.leads |= BBPE_LEAD_ANY;
        if (bytes[i] >= 0xC4) size.leads |= BBPE_LEAD_WIDE;
        if (bytes[i] >= 0xF0) size.leads |= BBPE_LEAD_FULL;
    }
    return size;
}

void bbpe_token_bytes_set(bbpe_token_bytes *self, size_t id, const uint8_t *bytes, size_t length) {
    const bbpe_text_size size = size_of(bytes, length);
    BBPE_ASSERT(id < self->id_count && self->sizes[id] == 0);
    uint8_t *slot = self->slots[id].bytes;
    self->sizes[id] = size.leads | (length > SIZE_LIMIT ? SIZE_LONG
                                    : SIZE_WHOLE | (uint32_t)size.chars << SIZE_CHARS | (uint32_t)length);
    if (length <= BBPE_SLOT_BYTES) {
        if (length) memcpy(slot, bytes, length);
        slot[15] = (uint8_t)(length + 1);
        return;
    }
    const bbpe_long_token head = {length, size.chars};
    memcpy(slot, &self->arena_used, sizeof self->arena_used);
    slot[15] = BBPE_SLOT_LONG;
    memcpy(self->arena + self->arena_used, &head, sizeof head);
    memcpy(self->arena + self->arena_used + sizeof head, bytes, length);
    self->arena_used += bbpe_token_bytes_arena(length);
}

static const uint8_t *long_token(const bbpe_token_bytes *self, size_t id, bbpe_long_token *head) {
    size_t at;
    memcpy(&at, self->slots[id].bytes, sizeof at);
    memcpy(head, self->arena + at, sizeof *head);
    return self->arena + at + sizeof *head;
}

const uint8_t *bbpe_token_bytes_get(const bbpe_token_bytes *self, size_t id, size_t *length) {
    if (id >= self->id_count || self->sizes[id] == 0) return NULL;
    const uint8_t *slot = self->slots[id].bytes;
    if (slot[15] != BBPE_SLOT_LONG) {
        *length = slot[15] - 1u;
        return slot;
    }
    bbpe_long_token head;
    const uint8_t *bytes = long_token(self, id, &head);
    *length = head.length;
    return bytes;
}

bool bbpe_token_bytes_measure_one(const bbpe_token_bytes *self, size_t id, bbpe_text_size *size) {
    const uint32_t packed = id < self->id_count ? self->sizes[id] : 0;
    bbpe_long_token head = {packed & SIZE_FIELD, packed >> SIZE_CHARS & SIZE_FIELD};
    if (packed == 0) return false;
    if (!(packed & SIZE_WHOLE)) long_token(self, id, &head);
    size->bytes += head.length;
    size->chars += head.chars;
    size->leads |= packed & LEADS;
    return true;
}

/* Add the size of a block of ids; the place of the first bad one, or `count`. */
static size_t measure(const bbpe_token_bytes *self, const uint32_t *ids, size_t count, bbpe_text_size *size) {
    const uint32_t *const sizes = self->sizes;
    const size_t id_count = self->id_count;
    size_t i = 0;
    while (i < count) {
        if (BBPE_LIKELY(count - i >= SIZE_GROUP)) {
            uint32_t all = SIZE_WHOLE, any = 0;
            uint64_t sum = 0;
            for (size_t k = i; k < i + SIZE_GROUP; k++) {
                const uint32_t packed = sizes[ids[k] < id_count ? ids[k] : id_count];
                sum += packed; /* what the leads add lies above the other fields */
                any |= packed;
                all &= packed;
            }
            if (BBPE_LIKELY(all & SIZE_WHOLE)) {
                size->bytes += sum & SIZE_FIELD;
                size->chars += sum >> SIZE_CHARS & SIZE_FIELD;
                size->leads |= any & LEADS;
                i += SIZE_GROUP;
                continue;
            }
        }
        const size_t stop = count - i < SIZE_GROUP ? count : i + SIZE_GROUP;
        for (; i < stop; i++)
            if (!bbpe_token_bytes_measure_one(self, ids[i], size)) return i;
    }
    return count;
}

size_t bbpe_token_bytes_measure(
    const bbpe_token_bytes *self, const bbpe_id_array *ids, size_t start, size_t stop, bbpe_text_size *size) {
    uint32_t block[BBPE_ID_BLOCK];
    while (start < stop) {
        const size_t count = stop - start < BBPE_ID_BLOCK ? stop - start : BBPE_ID_BLOCK;
        bbpe_id_array_load(ids, start, count, block);
        const size_t good = measure(self, block, count, size);
        start += good;
        if (good < count) break;
    }
    return start;
}

/* A token where no 16 bytes are left, or a long one, or none at all: where the output goes on; NULL when it
 * does not fit or there is no such token. */
static uint8_t *append_exactly(
    const bbpe_token_bytes *self, size_t id, uint8_t *out, const uint8_t *end) {
    size_t length;
    const uint8_t *bytes = bbpe_token_bytes_get(self, id, &length);
    if (bytes == NULL || length > (size_t)(end - out)) return NULL;
    memcpy(out, bytes, length);
    return out + length;
}

/* The tokens of a block of ids; NULL when they do not fit before `end` or one does not exist. */
static uint8_t *join(
    const bbpe_token_bytes *self, const uint32_t *ids, size_t count, uint8_t *out, const uint8_t *end) {
    const bbpe_token_slot *const slots = self->slots; /* the bytes written could be `self`, for all C knows */
    const size_t id_count = self->id_count;
    for (size_t i = 0; i < count;) {
        /* so many fit, however long, as long as they have slots */
        const size_t left = (size_t)(end - out) / sizeof *slots, stop = left < count - i ? i + left : count;
        for (; i < stop && BBPE_LIKELY(ids[i] < id_count); i++) {
            const uint8_t *slot = slots[ids[i]].bytes;
            const size_t length = slot[15] - (size_t)1;
            if (BBPE_UNLIKELY(length > BBPE_SLOT_BYTES)) break;
            memcpy(out, slot, sizeof *slots);
            out += length;
        }
        if (i == count) break;
        out = append_exactly(self, ids[i++], out, end);
        if (out == NULL) return NULL;
    }
    return out;
}

static bool is_ascii(const uint8_t *bytes, const uint8_t *end) {
    uint8_t seen = 0;
    for (; bytes < end; bytes++) seen |= *bytes;
    return seen < 0x80;
}

bool bbpe_token_bytes_join(
    const bbpe_token_bytes *self, const bbpe_id_array *ids, size_t start, size_t stop, uint8_t *out, size_t size,
    bool ascii) {
    uint32_t block[BBPE_ID_BLOCK];
    const uint8_t *const end = out + size;
    while (start < stop) {
        const size_t count = stop - start < BBPE_ID_BLOCK ? stop - start : BBPE_ID_BLOCK;
        const uint8_t *const begin = out;
        bbpe_id_array_load(ids, start, count, block);
        out = join(self, block, count, out, end);
        if (out == NULL || (ascii && !is_ascii(begin, out))) return false;
        start += count;
    }
    return out == end;
}
