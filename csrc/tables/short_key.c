#include "tables/short_key.h"

#define BELOW(bytes) ((bytes) >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * ((bytes) & 7)) - 1)
#define ROW(n) \
    {{BELOW(n), (n) < 8 ? 0 : BELOW((n) - 8)}, {BBPE_HASH_SALT_LO, BBPE_HASH_SALT_HI ^ (uint64_t)(n) << 56}}

const bbpe_short_key_row bbpe_short_key_rows[] = {ROW(0), ROW(1), ROW(2),  ROW(3),  ROW(4),  ROW(5),  ROW(6),  ROW(7),
                                                  ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15)};
