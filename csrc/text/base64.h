/* Base64 (RFC 4648), four characters to three bytes, strictly: the standard alphabet, padded to whole groups, no
 * bits left over.  Anything else is refused, never guessed at. */
#ifndef BBPE_TEXT_BASE64_H
#define BBPE_TEXT_BASE64_H

#include "base/common.h"

#define BBPE_BASE64_NONE SIZE_MAX

/* Decode n > 0 characters to `out`, which has room for n / 4 * 3 bytes; how many bytes it is, or BBPE_BASE64_NONE. */
size_t bbpe_base64_decode(const uint8_t *text, size_t n, uint8_t *out);

#endif
