#include "pipeline/fill.h"

#include <string.h>

/* One loop for each pair of widths. */
#define COPY(TO, FROM)                                                                                                 \
    do {                                                                                                               \
        TO *restrict target = to;                                                                                      \
        const FROM *restrict source = from;                                                                            \
        for (size_t i = 0; i < n; i++) target[i] = (TO)source[i];                                                      \
    } while (0)

#define COPY_TO(TO)                                                                                                    \
    do {                                                                                                               \
        if (from_size == 1) COPY(TO, uint8_t);                                                                         \
        else if (from_size == 2) COPY(TO, uint16_t);                                                                   \
        else if (from_size == 4) COPY(TO, uint32_t);                                                                   \
        else COPY(TO, uint64_t);                                                                                       \
    } while (0)

/* Runs `LOOP(type)` for the type of the target. */
#define BY_WIDTH(LOOP)                                                                                                 \
    do {                                                                                                               \
        if (to_size == 1) LOOP(uint8_t);                                                                               \
        else if (to_size == 2) LOOP(uint16_t);                                                                         \
        else if (to_size == 4) LOOP(uint32_t);                                                                         \
        else LOOP(uint64_t);                                                                                           \
    } while (0)

void bbpe_fill_ids(void *to, size_t to_size, const void *from, size_t from_size, size_t n) {
    if (n == 0) return;
    if (to_size == from_size) memcpy(to, from, n * to_size);
    else BY_WIDTH(COPY_TO);
}

#define SET(TO)                                                                                                        \
    do {                                                                                                               \
        TO *target = to;                                                                                               \
        for (size_t i = 0; i < n; i++) target[i] = (TO)value;                                                          \
    } while (0)

void bbpe_fill_value(void *to, size_t to_size, int64_t value, size_t n) { BY_WIDTH(SET); }

#define REPLACE(TO)                                                                                                    \
    do {                                                                                                               \
        TO *restrict target = to;                                                                                      \
        for (size_t i = 0; i < n; i++) target[i] = masks[i] ? target[i] : (TO)value;                                   \
    } while (0)

void bbpe_fill_unmasked(void *to, size_t to_size, const uint8_t *masks, int64_t value, size_t n) { BY_WIDTH(REPLACE); }

void bbpe_fill_count(int32_t *to, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = (int32_t)i;
}
