/* GPT-2's byte alphabet: a printable Latin-1 byte is its own character; the others are U+0100, U+0101, ... in order. */
#ifndef BBPE_PIPELINE_ALPHABET_H
#define BBPE_PIPELINE_ALPHABET_H

#include "base/common.h"

/* The UTF-8 of the character of each byte; `sizes` are 1 or 2. */
typedef struct {
    uint8_t bytes[256][2], sizes[256];
} bbpe_alphabet;

static inline bool bbpe_alphabet_is_printable(unsigned byte) {
    return (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
}

static inline void bbpe_alphabet_fill(bbpe_alphabet *self) {
    unsigned others = 0x100;
    for (unsigned byte = 0; byte < 256; byte++) {
        const unsigned c = bbpe_alphabet_is_printable(byte) ? byte : others++;
        self->sizes[byte] = (uint8_t)(1 + (c >= 0x80));
        self->bytes[byte][0] = (uint8_t)(c < 0x80 ? c : 0xC0 | c >> 6);
        self->bytes[byte][1] = (uint8_t)(0x80 | (c & 0x3F));
    }
}

#endif
