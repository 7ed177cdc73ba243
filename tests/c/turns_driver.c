/* Threads that take turns at a lock as encoding does: exits with 1 when a thread that is alone gives it away for a short call,
 * when several keep it, or when something is left of their turns.
 *
 *     turns_driver THREADS ROUNDS
 *
 * Meant for ThreadSanitizer and AddressSanitizer. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "threads/threads.h"

enum { MOST_THREADS = 16, SHORT_CALL = 200, MIDDLE_CALL = 8000, LONG_CALL = 1 << 20, MANY = 1000, WORK = 2000 };

typedef struct {
    pthread_mutex_t lock;
    bbpe_turns turns;
    size_t sum, given; /* changed by who has the lock */
    long rounds;
} driver;

static void must(bool is_true, const char *what) {
    if (is_true) return;
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
}

/* One call by a thread that has the lock; returns whether it gave it away. */
static bool call(driver *self, uintptr_t thread, size_t units) {
    const bool gives = bbpe_turns_gives(&self->turns, thread, units);
    if (gives) {
        pthread_mutex_unlock(&self->lock);
        bbpe_turns_given(&self->turns, thread);
        for (volatile size_t i = 0; i < WORK; i++) {} /* so that others come in between */
        bbpe_turns_look(&self->turns);
        pthread_mutex_lock(&self->lock);
        bbpe_turns_taken(&self->turns, thread);
        self->given++;
    }
    self->sum++;
    return gives;
}

static void check_one(driver *self) {
    self->turns = (bbpe_turns){.most_looking = 1};
    pthread_mutex_lock(&self->lock);
    for (int i = 0; i < MANY; i++) call(self, 1, MIDDLE_CALL);
    must(!call(self, 1, MIDDLE_CALL), "who is alone gives the lock away");
    must(call(self, 1, LONG_CALL), "a long call keeps the lock");
    must(!call(self, 1, SHORT_CALL), "a short call gives the lock away");
    must(call(self, 2, MIDDLE_CALL) && call(self, 1, MIDDLE_CALL), "several threads keep the lock");
    must(!call(self, 2, SHORT_CALL), "a short call of several threads gives the lock away");
    for (int i = 0; i < MANY; i++) call(self, 2, MIDDLE_CALL);
    must(!call(self, 2, MIDDLE_CALL), "who is alone again gives the lock away");
    self->turns.most_looking = 0;
    must(!call(self, 1, MIDDLE_CALL) && call(self, 1, LONG_CALL), "turns without a lock");
    pthread_mutex_unlock(&self->lock);
}

static void *work(void *argument) {
    driver *self = argument;
    static _Thread_local char here;
    const uintptr_t thread = (uintptr_t)&here;
    pthread_mutex_lock(&self->lock);
    for (long i = 0; i < self->rounds; i++) {
        call(self, thread, i % 5 ? MIDDLE_CALL : SHORT_CALL);
        if (i % MANY) continue;
        /* as the interpreter does from time to time, whoever has the lock */
        pthread_mutex_unlock(&self->lock);
        nanosleep(&(struct timespec){0, 100000}, NULL);
        pthread_mutex_lock(&self->lock);
    }
    pthread_mutex_unlock(&self->lock);
    /* as a thread that gives the lock away for good */
    bbpe_turns_given(&self->turns, thread);
    return NULL;
}

int main(int count, char **arguments) {
    const int threads = count > 1 ? atoi(arguments[1]) : 4;
    driver self = {.rounds = count > 2 ? strtol(arguments[2], NULL, 10) : 1000};
    pthread_t running[MOST_THREADS];
    pthread_mutex_init(&self.lock, NULL);
    check_one(&self);
    self.turns = (bbpe_turns){.most_looking = 2};
    self.sum = self.given = 0;
    must(threads > 0 && threads <= MOST_THREADS, "the number of threads");
    for (int i = 0; i < threads; i++) must(pthread_create(running + i, NULL, work, &self) == 0, "a thread");
    for (int i = 0; i < threads; i++) pthread_join(running[i], NULL);
    must(self.sum == (size_t)threads * (size_t)self.rounds, "calls are lost");
    must(threads == 1 || self.given > MANY, "few turns are taken");
    must(self.turns.holder == 0 && self.turns.looking == 0, "a turn is left");
    printf("%d threads, %zu calls, %zu of them gave the lock away\n", threads, self.sum, self.given);
    pthread_mutex_destroy(&self.lock);
    return 0;
}
