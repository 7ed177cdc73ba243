/* The gaps of a miss queue, once the ids of its pieces are known. */
#include "encode/internal.h"

/* Write `count` ids, eight or four at once where there is room for as many. */
BBPE_INLINE uint32_t *put_ids(uint32_t *to, const uint32_t *ids, size_t count, size_t capacity) {
    size_t i = 0;
    BBPE_ASSERT(count <= capacity);
    if (BBPE_LIKELY(capacity >= 8)) {
        memcpy(to, ids, 8 * sizeof *ids);
        i = 8;
    }
    for (; i < count && i + 4 <= capacity; i += 4) memcpy(to + i, ids + i, 4 * sizeof *ids);
    for (; i < count; i++) to[i] = ids[i];
    return to + count;
}

enum { AT_ONCE = 16 }; /* ids: no branch can predict how many there are */

/* Move ids down, to where they may overlap.  Others follow them up to `end`. */
BBPE_INLINE uint32_t *move_down(uint32_t *to, const uint32_t *ids, size_t count, const uint32_t *end) {
    uint32_t four[4], last[4];
    if (BBPE_LIKELY(ids - to >= AT_ONCE && (size_t)(end - ids) >= count + AT_ONCE)) {
        for (size_t i = 0; i < count; i += AT_ONCE) memcpy(to + i, ids + i, AT_ONCE * sizeof *ids);
    } else if (count >= 4) {
        memcpy(last, ids + count - 4, sizeof last);
        for (size_t i = 0; i + 4 <= count; i += 4) {
            memcpy(four, ids + i, sizeof four);
            memcpy(to + i, four, sizeof four);
        }
        memcpy(to + count - 4, last, sizeof last);
    } else {
        for (size_t i = 0; i < count; i++) to[i] = ids[i];
    }
    return to + count;
}

uint32_t *bbpe_miss_gaps_close(bbpe_miss_queue *queue, const bbpe_miss_ids *from, uint32_t *end,
                               bbpe_stretch_end **known) {
    uint32_t *to = queue->gaps[0].ids;
    for (size_t i = 0; i < queue->gap_count; i++) {
        bbpe_miss_gap *gap = queue->gaps + i;
        const uint32_t *next = i + 1 < queue->gap_count ? gap[1].ids : end, *after = gap->ids;
        const size_t number = gap->piece;
        gap->ids = to;
        if (BBPE_LIKELY(number != BBPE_MISS_QUEUE_STRETCH_END)) {
            after += bbpe_miss_queue_length(queue, number);
            to = put_ids(to, from->ids[number], from->counts[number], (size_t)(after - to));
        } else {
            (*known)++->end = to;
        }
        to = move_down(to, after, (size_t)(next - after), end);
    }
    return to;
}
