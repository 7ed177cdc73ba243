/* Adding up two tables in this thread, for the drivers: `second` behind `first`, part by part, into a third, not
 * initialised. */
#ifndef BBPE_TESTS_TABLE_SUM_H
#define BBPE_TESTS_TABLE_SUM_H

#include "count/count.h"
#include "memory/memory.h"

/* The pretokens of a sum into one table, in order. */
static inline bbpe_status table_of(bbpe_count_table *table, const bbpe_count_sum *sum) {
    size_t *order = bbpe_memory_new(sum->count, sizeof *order), end;
    uint64_t cut = 0;
    bbpe_status status = order ? BBPE_OK : BBPE_NO_MEMORY;
    if (order != NULL) bbpe_count_sum_order(sum, order);
    for (size_t i = 0; i < sum->count && status == BBPE_OK; i++) {
        const uint8_t *bytes = bbpe_count_sum_bytes(sum, order[i], &end);
        const uint64_t times = bbpe_count_sum_count(sum, order[i]);
        status = bbpe_count_table_add(table, bytes, end, 0, &end, &times, 1, 0, &cut);
    }
    bbpe_memory_free(order);
    return status;
}

static inline bbpe_status table_sum(bbpe_count_table *table, bbpe_count_table *first, bbpe_count_table *second,
                                    size_t parts) {
    const uint32_t starts[2][2] = {{0, (uint32_t)first->count}, {0, (uint32_t)second->count}};
    const uint32_t ranks[2] = {0, (uint32_t)first->count};
    const bbpe_count_shard lanes[2] = {{first, starts[0], ranks, 1}, {second, starts[1], ranks + 1, 1}};
    bbpe_count_sum sum;
    bbpe_status status = bbpe_count_sum_init(&sum, lanes, 2);
    for (size_t part = 0; part < parts && status == BBPE_OK; part++)
        status = bbpe_count_sum_do_part(&sum, part, parts);
    if (status == BBPE_OK) bbpe_count_sum_finish(&sum);
    if (status == BBPE_OK) status = table_of(table, &sum);
    bbpe_count_sum_free(&sum);
    return status;
}

#endif
