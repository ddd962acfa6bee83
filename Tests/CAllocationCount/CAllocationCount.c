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
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#endif

#if defined(__linux__) && defined(__GLIBC__) && !defined(SANITIZED)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static atomic_ulong blocks;
static atomic_long held;

// What a block takes, with the word before it that says how large it is.
static long size_of(void *block) { return block == NULL ? 0 : (long)(malloc_usable_size(block) + sizeof(size_t)); }

static void *counted(void *block) {
    atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&held, size_of(block), memory_order_relaxed);
    return block;
}

void *malloc(size_t size) { return counted(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }

void *realloc(void *block, size_t size) {
    long before = size_of(block);
    void *made = __libc_realloc(block, size);
    if (made != NULL || size == 0) atomic_fetch_sub_explicit(&held, before, memory_order_relaxed);
    return counted(made);
}

void *aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    void *made = counted(__libc_memalign(alignment, size));
    if (made == NULL) return ENOMEM;
    *block = made;
    return 0;
}

void free(void *block) {
    atomic_fetch_sub_explicit(&held, size_of(block), memory_order_relaxed);
    __libc_free(block);
}

long allocation_held_bytes(void) { return atomic_load_explicit(&held, memory_order_relaxed); }
unsigned long allocation_count(void) { return atomic_load_explicit(&blocks, memory_order_relaxed); }
bool allocation_is_counted(void) { return true; }

#else

long allocation_held_bytes(void) { return 0; }
unsigned long allocation_count(void) { return 0; }
bool allocation_is_counted(void) { return false; }

#endif
