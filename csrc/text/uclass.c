/* Not inline: in the loops of a split pattern all registers are taken, and each character waits for memory. */
#include "text/uclass.h"

size_t bbpe_uclass_run(const uint8_t *text, size_t i, size_t stop, size_t n, uint32_t set) {
    for (size_t next; i < stop && (bbpe_uclass_at(text, i, n, &next) & set); i = next) continue;
    return i;
}
