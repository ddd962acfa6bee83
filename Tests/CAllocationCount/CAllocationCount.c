// Counts what the program that links it allocates, the Swift runtime's blocks too: its symbols come before the C library's,
// whose own it calls.

#include "CAllocationCount.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) || defined(__linux__)
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#endif

#if defined(__linux__) && defined(__GLIBC__) && !defined(SANITIZED)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_ulong blocks;

static void count_one(void) { atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed); }

void *malloc(size_t size) {
    count_one();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_one();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    count_one();
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    count_one();
    void *made = __libc_memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *block = made;
    return 0;
}

unsigned long allocation_count(void) { return atomic_load_explicit(&blocks, memory_order_relaxed); }
bool allocation_is_counted(void) { return true; }

#else

unsigned long allocation_count(void) { return 0; }
bool allocation_is_counted(void) { return false; }

#endif
