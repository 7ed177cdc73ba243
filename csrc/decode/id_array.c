#include "decode/id_array.h"

/* A value that no id can have becomes BBPE_ID_NONE. */
#define SAME(value) (value)
#define NOT_NEGATIVE(value) ((value) < 0 ? BBPE_ID_NONE : (uint32_t)(value))
#define NOT_WIDE(value) ((uint64_t)(value) >> 32 ? BBPE_ID_NONE : (uint32_t)(value))

#define LOOP(type, read, distance)                                          \
    for (size_t i = 0; i < count; i++) {                                    \
        type value;                                                         \
        memcpy(&value, at + (ptrdiff_t)i * (distance), sizeof value);       \
        out[i] = read(value);                                               \
    }

/* One loop a type, and one more for neighbours, which a compiler turns into vectors. */
#define LOAD(name, type, read)                                                                          \
    static void load_##name(const uint8_t *at, ptrdiff_t stride, size_t count, uint32_t *out) {         \
        if (stride == (ptrdiff_t)sizeof(type)) LOOP(type, read, (ptrdiff_t)sizeof(type))                \
        else LOOP(type, read, stride)                                                                   \
    }

#define TYPES(ROW)                  \
    ROW(U8, uint8_t, SAME)          \
    ROW(U16, uint16_t, SAME)        \
    ROW(U32, uint32_t, SAME)        \
    ROW(U64, uint64_t, NOT_WIDE)    \
    ROW(I8, int8_t, NOT_NEGATIVE)   \
    ROW(I16, int16_t, NOT_NEGATIVE) \
    ROW(I32, int32_t, NOT_NEGATIVE) \
    ROW(I64, int64_t, NOT_WIDE)

TYPES(LOAD)

#define CASE(name, type, read) \
    case BBPE_ID_##name: load_##name(at, self->stride, count, out); break;

void bbpe_id_array_load(const bbpe_id_array *self, size_t start, size_t count, uint32_t *out) {
    BBPE_ASSERT(start <= self->count && count <= self->count - start);
    if (count == 0) return;
    const uint8_t *at = (const uint8_t *)self->data + (ptrdiff_t)start * self->stride;
    switch (self->type) {
        TYPES(CASE)
    }
}
