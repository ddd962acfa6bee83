#ifndef CALLOCATIONCOUNT_H
#define CALLOCATIONCOUNT_H

#include <stdbool.h>

/// How many blocks of memory this program has asked for; 0 where they are not counted.
unsigned long allocation_count(void);

/// How many bytes the blocks take that it has not freed, as the allocator rounds them; 0 where they are not counted.
long allocation_held_bytes(void);

/// Whether they are: with glibc, and without a sanitizer, which has an allocator of its own.
bool allocation_is_counted(void);

#endif
