#include "decode/token_text.h"

#include "base/utf8.h"

#define SCRATCH 4096
#define NOT_ASCII 0x8080808080808080u
#define NOT_UTF8 SIZE_MAX

/* Bytes that wait to become code units, and where those go. */
typedef struct {
    uint8_t bytes[SCRATCH + 16];
    size_t used;
    uint8_t *out; /* the next unit */
    size_t left;  /* units left */
    uint32_t seen;
    bool within; /* still inside a character that began before the range */
} writer;

BBPE_INLINE void put(uint8_t *out, size_t at, uint32_t c, unsigned unit) {
    if (unit == 1) out[at] = (uint8_t)c;
    else if (unit == 2) memcpy(out + at * 2, &(uint16_t){(uint16_t)c}, 2);
    else memcpy(out + at * 4, &c, 4);
}

BBPE_INLINE bool is_ascii16(const uint8_t *s) {
    uint64_t low, high;
    memcpy(&low, s, 8);
    memcpy(&high, s + 8, 8);
    return !((low | high) & NOT_ASCII);
}

/* Scripts keep to one length of character, so each length has a loop of its own, which a look at the next
 * character ends; whatever is not as expected is left to bbpe_utf8_decode.  A loop widens characters from `text`
 * on, which has `n` bytes, into at most `left` units, and returns how many. */

BBPE_INLINE size_t ascii_run(const uint8_t *text, size_t n, uint8_t *out, size_t left, unsigned unit) {
    size_t done = 0;
    const size_t limit = n < left ? n : left;
    while (limit - done >= 16 && is_ascii16(text + done)) {
        for (size_t k = 0; k < 16; k++) put(out, done + k, text[done + k], unit);
        done += 16;
    }
    for (; done < limit && text[done] < 0x80; done++) put(out, done, text[done], unit);
    return done;
}

BBPE_INLINE size_t two_byte_run(
    const uint8_t *text, size_t n, uint8_t *out, size_t left, unsigned unit, uint32_t *seen) {
    const size_t limit = n / 2 < left ? n / 2 : left;
    size_t done = 0;
    for (; done < limit; done++, text += 2) {
        const uint32_t c = (text[0] & 0x1Fu) << 6 | (text[1] & 0x3Fu);
        if ((text[0] & 0xE0) != 0xC0 || !bbpe_utf8_is_tail(text[1]) || c < 0x80 || (unit == 1 && c > 0xFF)) break;
        put(out, done, c, unit);
        *seen |= c;
    }
    return done;
}

BBPE_INLINE size_t three_byte_run(
    const uint8_t *text, size_t n, uint8_t *out, size_t left, unsigned unit, uint32_t *seen) {
    const size_t whole = n > 0 ? (n - 1) / 3 : 0; /* one byte more is read and not used */
    const size_t limit = whole < left ? whole : left;
    size_t done = 0;
    for (; done < limit; done++, text += 3) {
        const uint32_t s = text[0] | (uint32_t)text[1] << 8 | (uint32_t)text[2] << 16 | (uint32_t)text[3] << 24;
        const uint32_t c = (s & 0x0F) << 12 | (s >> 2 & 0xFC0) | (s >> 16 & 0x3F);
        if (!bbpe_utf8_begins_3byte(s) || c < 0x800 || (c & 0xF800) == 0xD800) break;
        put(out, done, c, unit);
        *seen |= c;
    }
    return done;
}

/* Widen the characters of self->bytes, all but the last three bytes unless they are the `last` ones of the
 * range.  Returns the number of bytes done, or NOT_UTF8. */
BBPE_INLINE size_t widen(writer *self, bool last, unsigned unit) {
    const uint8_t *const text = self->bytes;
    const size_t n = self->used, enough = last ? 1 : 4;
    const uint32_t highest = unit == 1 ? 0xFF : unit == 2 ? 0xFFFF : 0x10FFFF;
    uint8_t *out = self->out;
    size_t left = self->left, i = 0;
    uint32_t seen = 0;
    while (i + enough <= n) {
        const uint32_t lead = text[i];
        const unsigned bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : unit > 1 ? 3 : 4;
        size_t done = bytes == 1   ? ascii_run(text + i, n - i, out, left, unit)
                      : bytes == 2 ? two_byte_run(text + i, n - i, out, left, unit, &seen)
                      : bytes == 3 ? three_byte_run(text + i, n - i, out, left, unit, &seen)
                                   : 0;
        i += done * bytes;
        if (done == 0) {
            const uint32_t c = bbpe_utf8_decode(text, i, n, &i);
            if (c > highest || left == 0) return NOT_UTF8;
            put(out, 0, c, unit);
            seen |= c;
            done = 1;
        }
        out += done * unit;
        left -= done;
    }
    self->out = out;
    self->left = left;
    self->seen |= seen;
    return i;
}

static bool flush(writer *self, bool last, unsigned unit) {
    size_t first = 0;
    if (self->within) {
        while (first < self->used && bbpe_utf8_is_tail(self->bytes[first])) first++;
        self->within = first == self->used;
        self->used -= first;
        memmove(self->bytes, self->bytes + first, self->used);
    }
    const size_t done = unit == 1 ? widen(self, last, 1) : unit == 2 ? widen(self, last, 2) : widen(self, last, 4);
    if (done == NOT_UTF8) return false;
    self->used -= done;
    memmove(self->bytes, self->bytes + done, self->used);
    return true;
}

static bool append(writer *self, const uint8_t *bytes, size_t n, unsigned unit) {
    while (n > 0) {
        const size_t piece = n < SCRATCH - self->used ? n : SCRATCH - self->used;
        memcpy(self->bytes + self->used, bytes, piece);
        self->used += piece;
        bytes += piece;
        n -= piece;
        if (self->used == SCRATCH && !flush(self, false, unit)) return false;
    }
    return true;
}

static bool append_block(
    writer *self, const bbpe_token_bytes *table, const uint32_t *ids, size_t count, unsigned unit) {
    const bbpe_token_slot *const slots = table->slots;
    const size_t id_count = table->id_count;
    for (size_t i = 0; i < count;) {
        const size_t left = (SCRATCH - self->used) / BBPE_SLOT_BYTES;
        const size_t stop = left < count - i ? i + left : count;
        uint8_t *out = self->bytes + self->used;
        for (; i < stop && BBPE_LIKELY(ids[i] < id_count); i++) {
            const uint8_t *slot = slots[ids[i]].bytes;
            const size_t length = slot[15] - (size_t)1;
            if (BBPE_UNLIKELY(length > BBPE_SLOT_BYTES)) break;
            memcpy(out, slot, sizeof *slots);
            out += length;
        }
        self->used = (size_t)(out - self->bytes);
        if (self->used > SCRATCH / 2) {
            if (!flush(self, false, unit)) return false;
        } else if (i < stop) {
            size_t length;
            const uint8_t *bytes = bbpe_token_bytes_get(table, ids[i++], &length);
            if (bytes == NULL || !append(self, bytes, length, unit)) return false;
        }
    }
    return true;
}

/* The continuation bytes that ids from `at` on begin with: they end the last character of the range. */
static bool append_tail(
    writer *self, const bbpe_token_bytes *table, const bbpe_id_array *ids, size_t at, unsigned unit) {
    for (; at < ids->count; at++) {
        uint32_t id = UINT32_MAX; /* of an array of no known type: refused below */
        size_t length, tail = 0;
        bbpe_id_array_load(ids, at, 1, &id);
        const uint8_t *bytes = bbpe_token_bytes_get(table, id, &length);
        if (bytes == NULL) return false;
        while (tail < length && bbpe_utf8_is_tail(bytes[tail])) tail++;
        if (!append(self, bytes, tail, unit)) return false;
        if (tail < length) break;
    }
    return true;
}

bool bbpe_token_text_fill(
    const bbpe_token_bytes *table, const bbpe_id_array *ids, size_t start, size_t stop, void *out, size_t chars,
    unsigned unit, uint32_t *seen) {
    uint32_t block[BBPE_ID_BLOCK];
    writer self;
    self.used = 0;
    self.out = out;
    self.left = chars;
    self.seen = 0;
    self.within = start > 0;
    for (size_t at = start; at < stop;) {
        const size_t count = stop - at < BBPE_ID_BLOCK ? stop - at : BBPE_ID_BLOCK;
        bbpe_id_array_load(ids, at, count, block);
        if (!append_block(&self, table, block, count, unit)) return false;
        at += count;
    }
    if (!flush(&self, false, unit)) return false;
    /* a range that is all inside one character leaves the rest of it to the range where it began */
    if (!self.within && !append_tail(&self, table, ids, stop, unit)) return false;
    if (!flush(&self, true, unit)) return false;
    *seen |= self.seen;
    return self.used == 0 && self.left == 0;
}
