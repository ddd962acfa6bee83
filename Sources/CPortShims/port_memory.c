#define _GNU_SOURCE
#include "include/port_memory.h"

#include <sys/mman.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

enum { HUGE_PAGE = 2 << 20 };

void *port_block_make(size_t size) {
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_PAGE) (void)madvise(block, size, MADV_HUGEPAGE);
#endif
    return block;
}

void port_block_free(void *block, size_t size) { munmap(block, size); }
