// Two words in shared memory: the fastest that two processes can exchange.

#ifndef CFLOOR_WORDS_H
#define CFLOOR_WORDS_H

/// Makes the memory and maps it at `shared`. Returns its descriptor, or a negative errno.
int floorMakeWords(void **shared);
/// Tells the other side to end, and unmaps.
void floorEndWords(void *shared);
/// Answers through the memory that is descriptor 3, until the memory says to end.
void floorServeWords(int polls);

#endif
