#ifndef CALLOCATIONCOUNT_H
#define CALLOCATIONCOUNT_H

/// How many blocks of memory this program has asked for; 0 where they are not counted.
unsigned long allocation_count(void);

#endif
