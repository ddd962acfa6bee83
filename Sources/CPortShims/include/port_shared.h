#ifndef PORT_SHARED_H
#define PORT_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Memory that two processes share, and doorbells: pipes that are written to only to wake the side that polls them.
///
/// Whether the system has memory that a peer cannot shrink while it is read, as only Linux has, and the socket can
/// carry its descriptor. Where it has none, the functions that make something fail.
bool port_shares_memory(int socket);

/// A descriptor of `size` zero bytes of memory whose size cannot change any more.
int port_memory_make(size_t size);
/// Maps a peer's descriptor. Null with EINVAL if it is not memory of that size whose size cannot change.
void *port_memory_map(int descriptor, size_t size);
void port_memory_unmap(void *memory, size_t size);

/// As `port_memory_make`, with `memory` mapped in this process: from now on only this mapping can write it. A forked
/// child does not have the mapping.
int port_region_make(size_t size, void **memory);
/// The size of a peer's region; -1 if its size can change.
int64_t port_region_size(int descriptor);
/// Maps a peer's region for reading. Null with EINVAL if it is not a region of that size with all its pages allocated.
void *port_region_take(int descriptor, size_t size);

/// Makes a doorbell: `own` is a private opening of it, and the peer opens `given` for itself.
int port_doorbell_make(int *own, int *given);
/// Opens a doorbell from a peer's descriptor, whose flags the peer may change at any time; -1 with EINVAL if it is no
/// pipe.
int port_doorbell_open(int descriptor);
/// Wakes the side that polls the doorbell edge-triggered. Never waits.
void port_doorbell_ring(int doorbell);

/// Waits while a word of shared memory is `value`, at most `nanoseconds`. May return without a reason. There is no wait
/// without a limit: the peer that shares the memory can move the waiter to another word, where no wake finds it.
void port_word_wait(const void *word, uint32_t value, int64_t nanoseconds);
/// Ends the waits for a word that has been changed.
void port_word_wake(const void *word);

#endif
