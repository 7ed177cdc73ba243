/* Threads: what callers of this folder include. */
#ifndef BBPE_THREADS_H
#define BBPE_THREADS_H

#include "threads/ends.h"
#include "threads/monitor.h"
#include "threads/ordered_output.h"
#include "threads/shared_words.h"
#include "threads/turns.h"
#include "threads/work_queue.h"

#endif
