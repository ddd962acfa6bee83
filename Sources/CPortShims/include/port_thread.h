#ifndef PORT_THREAD_H
#define PORT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#if __APPLE__
#include <os/lock.h>
#endif

#if __ELF__
/// In static thread-local storage, which needs no call of the loader for each access: these are only sixteen bytes.
#define PORT_THREAD_LOCAL __attribute__((tls_model("initial-exec")))
#else
#define PORT_THREAD_LOCAL
#endif
extern _Thread_local void *port_thread_own_record PORT_THREAD_LOCAL;
extern _Thread_local void *port_thread_own_storage PORT_THREAD_LOCAL;
/// The record of the calling thread's loop; null on threads that belong to no loop.
static inline void *port_thread_record(void) { return port_thread_own_record; }
void port_thread_set_record(void *record);

/// The storage that the library keeps in the calling thread; null until it is set.
static inline void *port_thread_storage(void) { return port_thread_own_storage; }
/// Sets the storage of the calling thread, which `release` gets when the thread ends. False if the thread cannot keep
/// it.
bool port_thread_keep(void *storage, void (*release)(void *));

/// Starts a detached thread. It has every signal blocked except those that its own faults cause. Returns an errno, or
/// 0.
int port_thread_start(void *(*body)(void *), void *context, const char *name);

/// Sleeps; a signal may end it early.
void port_thread_sleep(uint64_t nanoseconds);

extern uint32_t port_forks;
/// The number of forks between this process and the first one that used this library: a loop with another number
/// belongs to a parent.
static inline uint32_t port_fork_count(void) { return __atomic_load_n(&port_forks, __ATOMIC_RELAXED); }

/// A mutex of a few bytes, all zero when it is free, so that it can be stored in the object that it protects. Taking it
/// needs no system call when no other thread wants it. A thread that takes it twice waits without end.
#if __APPLE__
typedef struct port_lock { os_unfair_lock lock; } port_lock;
static inline void port_lock_acquire(port_lock *lock) { os_unfair_lock_lock(&lock->lock); }
static inline bool port_lock_try(port_lock *lock) { return os_unfair_lock_trylock(&lock->lock); }
static inline void port_lock_release(port_lock *lock) { os_unfair_lock_unlock(&lock->lock); }
#elif PORT_SYSTEM_LOCK
/// With -DPORT_SYSTEM_LOCK, for the thread sanitizer: the sanitizer knows the system's mutex, follows which thread
/// holds it, and reports locks taken in different orders. It does not understand a lock of atomics in inlined Swift
/// code.
#include <pthread.h>
typedef struct port_lock { pthread_mutex_t mutex; } port_lock;
void port_lock_acquire(port_lock *lock);
bool port_lock_try(port_lock *lock);
void port_lock_release(port_lock *lock);
#else
/// 0: free, 1: taken, 2: taken, and a thread may sleep until it is free.
typedef struct port_lock { uint32_t state; } port_lock;
void port_lock_wait(port_lock *lock);
void port_lock_wake(port_lock *lock);
static inline void port_lock_acquire(port_lock *lock) {
    uint32_t free = 0;
    if (!__atomic_compare_exchange_n(&lock->state, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        port_lock_wait(lock);
}
static inline bool port_lock_try(port_lock *lock) {
    uint32_t free = 0;
    return __atomic_compare_exchange_n(&lock->state, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
static inline void port_lock_release(port_lock *lock) {
    if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2) port_lock_wake(lock);
}
#endif

/// A condition that threads that hold a lock can wait for.
typedef struct port_condition port_condition;
port_condition *port_condition_create(void);
void port_condition_destroy(port_condition *condition);
void port_condition_signal(port_condition *condition);
void port_condition_broadcast(port_condition *condition);
/// Waits, with `lock` released meanwhile, until signalled or until the monotonic clock shows `deadline`; UINT64_MAX
/// waits without limit. False: timed out. May also return true for nothing.
bool port_condition_wait(port_condition *condition, port_lock *lock, uint64_t deadline);

#endif
