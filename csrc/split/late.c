/* Repeated signs, and where a pretoken of them may begin as well. */
#include "split/late.h"

#include "base/repeated.h"
#include "split/split.h"

size_t bbpe_late_unit(const uint8_t *text, size_t first, size_t n) {
    size_t next, unit = 1;
    const uint64_t word = bbpe_repeated_word(text + first);
    while (unit <= BBPE_LATE_UNIT && bbpe_repeated_word(text + first + unit) != word) unit++;
    if (unit > BBPE_LATE_UNIT || (bbpe_uclass_at(text, first, n, &next) & BBPE_SET_N)) return 0;
    const size_t near = first + BBPE_LATE_LEAST;
    return bbpe_repeated_end(text, first, near, unit) == near ? unit : 0;
}

/* To look for the end of the signs at each of many short pretokens would take quadratic time, so the pretoken is split in the
 * first ones alone to begin with: it is short there, or as long as all of them. */
size_t bbpe_late_start(const bbpe_scheme *scheme, const uint8_t *text, size_t start, size_t first, size_t n, size_t unit,
                       size_t *least) {
    const size_t near = first + BBPE_LATE_LEAST;
    if (bbpe_split_step(scheme, text, start, near) < near - BBPE_LATE_LAST) return start;
    const size_t end = bbpe_repeated_end(text, first, n, unit);
    *least = end - unit;
    return first + (end - first - BBPE_LATE_LAST) / unit * unit;
}
