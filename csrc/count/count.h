/* Pretokens to counts: what callers of this folder include. */
#ifndef BBPE_COUNT_H
#define BBPE_COUNT_H

#include "count/seen.h"
#include "count/sum.h"
#include "count/table.h"

#endif
