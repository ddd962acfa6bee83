#define _GNU_SOURCE

#if defined(__has_feature)
#if __linux__ && __has_feature(thread_sanitizer)
#define SWIFT_LOCKS 1
#endif
#endif

#if SWIFT_LOCKS
// With the thread sanitizer alone. Swift's Mutex takes a free lock by an atomic operation in the code that uses it,
// which the sanitizer sees, and goes to the kernel for any other in its own library, which it does not see: it would
// report each state behind such a lock as soon as two threads meet at it. So these two functions of the library, which
// programs find here first, tell it.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT_METHOD __attribute__((swiftcall, visibility("default")))
#define SELF __attribute__((swift_context))

typedef __attribute__((swiftcall)) void lock_function(uint32_t thread, SELF void *handle);
typedef __attribute__((swiftcall)) void unlock_function(SELF void *handle);

static void *next(void **known, const char *name) {
    void *function = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (function) return function;
    function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    __atomic_store_n(known, function, __ATOMIC_RELAXED);
    return function;
}

SWIFT_METHOD void port_mutex_lock_slow(uint32_t thread, SELF void *handle) __asm__(LOCK_SLOW);
SWIFT_METHOD void port_mutex_lock_slow(uint32_t thread, SELF void *handle) {
    static void *known;
    ((lock_function *)next(&known, LOCK_SLOW))(thread, handle);
    __tsan_acquire(handle);
}

SWIFT_METHOD void port_mutex_unlock_slow(SELF void *handle) __asm__(UNLOCK_SLOW);
SWIFT_METHOD void port_mutex_unlock_slow(SELF void *handle) {
    static void *known;
    __tsan_release(handle);
    ((unlock_function *)next(&known, UNLOCK_SLOW))(handle);
}
#endif
