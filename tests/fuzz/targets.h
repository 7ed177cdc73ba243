/* What the fuzzer runs: a target takes any bytes, and `fuzz_fail` says what is wrong with what came of them. */
#ifndef BBPE_FUZZ_H
#define BBPE_FUZZ_H

#include "common.h"

typedef struct {
    const char *name;
    void (*run)(const uint8_t *data, size_t n);
} fuzz_target;

/* Ends with a target without a name. */
extern const fuzz_target FUZZ_TARGETS[];

/* Tell of it, save the input and exit. */
void fuzz_fail(const char *what);

#endif
