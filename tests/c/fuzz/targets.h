/* What the fuzzer runs: a target takes any bytes, and `fuzz_fail` says what is wrong with what came of them. */
#ifndef BBPE_FUZZ_H
#define BBPE_FUZZ_H

#include "memory/memory.h"

typedef struct {
    const char *name;
    void (*run)(const uint8_t *data, size_t n);
} fuzz_target;

/* Ends with a target without a name. */
extern const fuzz_target FUZZ_TARGETS[];

/* The trainer, in fuzz_train.c. */
void fuzz_train(const uint8_t *data, size_t n);

/* Tell of it, save the input and exit. */
void fuzz_fail(const char *what);

static inline void fuzz_must(bbpe_status status) {
    if (status != BBPE_OK) fuzz_fail("a status that is an error");
}

static inline void *fuzz_room(size_t count, size_t size) {
    void *memory = bbpe_memory_new(count, size);
    if (memory == NULL) fuzz_must(BBPE_NO_MEMORY);
    return memory;
}

#endif
