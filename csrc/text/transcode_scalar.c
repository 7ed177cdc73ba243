/* Without vectors: eight bytes of ASCII at once, anything else by the character. */
#include "base/common.h"

/* Bits that no ASCII unit has, in each unit of eight bytes, in either byte order. */
BBPE_INLINE uint64_t beyond_ascii(unsigned kind) {
    return kind == 1 ? 0x8080808080808080u : kind == 2 ? 0xFF80FF80FF80FF80u : 0xFFFFFF80FFFFFF80u;
}

BBPE_INLINE size_t scalar_block(const void *text, unsigned kind, size_t i, size_t left, uint8_t *out, size_t capacity,
                                size_t *written) {
    const size_t units = 8 / kind;
    const uint8_t *p = (const uint8_t *)text + i * kind;
    uint64_t word;
    if (left < units || capacity < units) return 0;
    memcpy(&word, p, 8);
    if (word & beyond_ascii(kind)) return 0;
    if (kind == 1) memcpy(out, &word, 8);
    else
        for (size_t k = 0; k < units; k++)
            out[k] = kind == 2 ? (uint8_t)((const uint16_t *)text)[i + k] : (uint8_t)((const uint32_t *)text)[i + k];
    *written = units;
    return units;
}

#define BBPE_TRANSCODE_BLOCK scalar_block
#define BBPE_TRANSCODE_SELECT bbpe_transcode_scalar
#include "text/transcode_loop.h"
