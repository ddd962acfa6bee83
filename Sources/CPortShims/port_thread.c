#define _GNU_SOURCE
#include "include/port_thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#if !__APPLE__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

_Thread_local void *port_thread_own_record;

void port_thread_set_record(void *record) { port_thread_own_record = record; }

_Thread_local void *port_thread_own_storage;

struct kept {
    void *storage;
    void (*release)(void *);
};

static pthread_key_t kept_key;
static bool has_kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;

static void thread_ends(void *value) {
    struct kept *kept = value;
    port_thread_own_storage = NULL;
    kept->release(kept->storage);
    free(kept);
}

static void make_kept_key(void) { has_kept_key = pthread_key_create(&kept_key, thread_ends) == 0; }

bool port_thread_keep(void *storage, void (*release)(void *)) {
    pthread_once(&kept_once, make_kept_key);
    if (!has_kept_key || port_thread_own_storage) return false;
    struct kept *kept = malloc(sizeof *kept);
    if (!kept) return false;
    *kept = (struct kept){storage, release};
    if (pthread_setspecific(kept_key, kept) != 0) {
        free(kept);
        return false;
    }
    port_thread_own_storage = storage;
    return true;
}

// The name travels with the start, because macOS lets a thread name only itself.
struct start {
    void *(*body)(void *);
    void *context;
    char name[16];
};

static void *started(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
#if __APPLE__
    pthread_setname_np(start.name);
#else
    pthread_setname_np(pthread_self(), start.name);
#endif
    return start.body(start.context);
}

int port_thread_start(void *(*body)(void *), void *context, const char *name) {
    struct start *start = malloc(sizeof *start);
    if (!start) return ENOMEM;
    start->body = body;
    start->context = context;
    int i = 0;
    for (; name[i] && i < 15; i++) start->name[i] = name[i];
    start->name[i] = 0;

    // A signal handler of the program must not run on a thread it does not know; faults stay where they happen.
    sigset_t blocked, previous;
    sigfillset(&blocked);
    int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    for (unsigned f = 0; f < sizeof faults / sizeof *faults; f++) sigdelset(&blocked, faults[f]);
    pthread_sigmask(SIG_SETMASK, &blocked, &previous);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int result = pthread_create(&thread, &attributes, started, start);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    if (result) free(start);
    return result;
}

void port_thread_sleep(uint64_t nanoseconds) {
    struct timespec time = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
    nanosleep(&time, NULL);
}

uint32_t port_forks;
static void count_fork(void) { __atomic_fetch_add(&port_forks, 1, __ATOMIC_RELAXED); }
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

#if __APPLE__
// The system's lock has no condition variable, so a mutex and a count replace the futex here.
struct port_condition {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    uint32_t count;
};

port_condition *port_condition_create(void) {
    port_condition *condition = malloc(sizeof *condition);
    if (!condition) abort();
    pthread_mutex_init(&condition->mutex, NULL);
    pthread_cond_init(&condition->condition, NULL);
    condition->count = 0;
    return condition;
}

void port_condition_destroy(port_condition *condition) {
    pthread_mutex_destroy(&condition->mutex);
    pthread_cond_destroy(&condition->condition);
    free(condition);
}

// A thread that is woken without need only checks once more.
void port_condition_signal(port_condition *condition) { port_condition_broadcast(condition); }

void port_condition_broadcast(port_condition *condition) {
    pthread_mutex_lock(&condition->mutex);
    condition->count++;
    pthread_cond_broadcast(&condition->condition);
    pthread_mutex_unlock(&condition->mutex);
}

bool port_condition_wait(port_condition *condition, port_lock *lock, uint64_t deadline) {
    bool in_time = true;
    pthread_mutex_lock(&condition->mutex);
    uint32_t count = condition->count;
    port_lock_release(lock);
    while (in_time && condition->count == count) {
        if (deadline == UINT64_MAX) {
            pthread_cond_wait(&condition->condition, &condition->mutex);
            continue;
        }
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t current = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        uint64_t rest = deadline > current ? deadline - current : 0;
        struct timespec relative = {(time_t)(rest / 1000000000u), (long)(rest % 1000000000u)};
        int result = pthread_cond_timedwait_relative_np(&condition->condition, &condition->mutex, &relative);
        in_time = result != ETIMEDOUT;
    }
    pthread_mutex_unlock(&condition->mutex);
    port_lock_acquire(lock);
    return in_time;
}
#elif PORT_SYSTEM_LOCK
void port_lock_acquire(port_lock *lock) {
    if (pthread_mutex_lock(&lock->mutex) != 0) abort();
}

bool port_lock_try(port_lock *lock) { return pthread_mutex_trylock(&lock->mutex) == 0; }

void port_lock_release(port_lock *lock) {
    if (pthread_mutex_unlock(&lock->mutex) != 0) abort();
}

struct port_condition { pthread_cond_t condition; };

port_condition *port_condition_create(void) {
    port_condition *condition = malloc(sizeof *condition);
    if (!condition) abort();
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition->condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return condition;
}

void port_condition_destroy(port_condition *condition) {
    pthread_cond_destroy(&condition->condition);
    free(condition);
}

void port_condition_signal(port_condition *condition) { pthread_cond_signal(&condition->condition); }

void port_condition_broadcast(port_condition *condition) { pthread_cond_broadcast(&condition->condition); }

bool port_condition_wait(port_condition *condition, port_lock *lock, uint64_t deadline) {
    if (deadline == UINT64_MAX) return pthread_cond_wait(&condition->condition, &lock->mutex) == 0;
    struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    return pthread_cond_timedwait(&condition->condition, &lock->mutex, &until) != ETIMEDOUT;
}
#else
static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *until) {
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

// Checks so often before it sleeps: locks here are held for tens of nanoseconds, and a sleep costs microseconds.
enum { LOOKS = 40 };

void port_lock_wait(port_lock *lock) {
    for (int i = 0; i < LOOKS; i++) {
        uint32_t free = 0;
        if (__atomic_load_n(&lock->state, __ATOMIC_RELAXED) == 0
            && __atomic_compare_exchange_n(&lock->state, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
#if __x86_64__
        __builtin_ia32_pause();
#endif
    }
    // Set to 2 and not 1, because other threads may sleep as well.
    while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0) futex(&lock->state, FUTEX_WAIT, 2, NULL);
}

void port_lock_wake(port_lock *lock) { futex(&lock->state, FUTEX_WAKE, 1, NULL); }

struct port_condition { uint32_t count; };

port_condition *port_condition_create(void) {
    port_condition *condition = calloc(1, sizeof *condition);
    if (!condition) abort();
    return condition;
}

void port_condition_destroy(port_condition *condition) { free(condition); }

void port_condition_signal(port_condition *condition) {
    __atomic_fetch_add(&condition->count, 1, __ATOMIC_RELAXED);
    futex(&condition->count, FUTEX_WAKE, 1, NULL);
}

void port_condition_broadcast(port_condition *condition) {
    __atomic_fetch_add(&condition->count, 1, __ATOMIC_RELAXED);
    futex(&condition->count, FUTEX_WAKE, INT_MAX, NULL);
}

bool port_condition_wait(port_condition *condition, port_lock *lock, uint64_t deadline) {
    // Read with the lock held: a thread that signals after that changes it, and the sleep does not begin.
    uint32_t count = __atomic_load_n(&condition->count, __ATOMIC_RELAXED);
    port_lock_release(lock);
    struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    // The variant with a bit set takes a time of the monotonic clock, not a duration.
    long result = futex(&condition->count, FUTEX_WAIT_BITSET, count, deadline == UINT64_MAX ? NULL : &until);
    bool in_time = result == 0 || errno != ETIMEDOUT;
    port_lock_acquire(lock);
    return in_time;
}
#endif
