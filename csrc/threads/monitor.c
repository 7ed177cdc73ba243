#include "threads/monitor.h"

#include "base/atomic.h"

enum { LOOKS = 2000 }; /* as long as to be woken takes, 30 to 100 us */

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

_Static_assert(sizeof(SRWLOCK) == sizeof(bbpe_monitor_mutex), "a lock is one pointer");
_Static_assert(sizeof(CONDITION_VARIABLE) == sizeof(bbpe_monitor_event), "a condition is one pointer");

static SRWLOCK *lock_of(bbpe_monitor *self) {
    return (SRWLOCK *)&self->mutex;
}

static CONDITION_VARIABLE *condition_of(bbpe_monitor *self) {
    return (CONDITION_VARIABLE *)&self->changed;
}

bool bbpe_monitor_init(bbpe_monitor *self) {
    InitializeSRWLock(lock_of(self));
    InitializeConditionVariable(condition_of(self));
    self->changes = self->sleepers = 0;
    return true;
}

void bbpe_monitor_free(bbpe_monitor *self) {
    (void)self;
}

void bbpe_monitor_lock(bbpe_monitor *self) {
    AcquireSRWLockExclusive(lock_of(self));
}

void bbpe_monitor_unlock(bbpe_monitor *self) {
    ReleaseSRWLockExclusive(lock_of(self));
}

static void sleep_until_woken(bbpe_monitor *self) {
    (void)SleepConditionVariableSRW(condition_of(self), lock_of(self), INFINITE, 0);
}

static void wake_all(bbpe_monitor *self) {
    WakeAllConditionVariable(condition_of(self));
}
#else
bool bbpe_monitor_init(bbpe_monitor *self) {
    self->changes = self->sleepers = 0;
    if (pthread_mutex_init(&self->mutex, NULL) != 0) return false;
    if (pthread_cond_init(&self->changed, NULL) == 0) return true;
    (void)pthread_mutex_destroy(&self->mutex);
    return false;
}

void bbpe_monitor_free(bbpe_monitor *self) {
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->mutex);
}

void bbpe_monitor_lock(bbpe_monitor *self) {
    (void)pthread_mutex_lock(&self->mutex);
}

void bbpe_monitor_unlock(bbpe_monitor *self) {
    (void)pthread_mutex_unlock(&self->mutex);
}

static void sleep_until_woken(bbpe_monitor *self) {
    (void)pthread_cond_wait(&self->changed, &self->mutex);
}

static void wake_all(bbpe_monitor *self) {
    (void)pthread_cond_broadcast(&self->changed);
}
#endif

void bbpe_monitor_look(const uint64_t *word, uint64_t seen) {
    for (int i = 0; i < LOOKS && BBPE_ATOMIC_ACQUIRE(word) == seen; i++) BBPE_PAUSE();
}

void bbpe_monitor_wait(bbpe_monitor *self) {
    const uint64_t seen = self->changes;
    bbpe_monitor_unlock(self);
    bbpe_monitor_look(&self->changes, seen);
    bbpe_monitor_lock(self);
    if (self->changes != seen) return;
    self->sleepers++;
    sleep_until_woken(self);
    self->sleepers--;
}

void bbpe_monitor_notify(bbpe_monitor *self) {
    BBPE_ATOMIC_STORE(&self->changes, self->changes + 1);
    if (self->sleepers > 0) wake_all(self);
}
