#ifndef PORT_SHARED_H
#define PORT_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Memory that two processes share, and doorbells: pipes that are written to only to wake the side that polls them.
///
/// Whether the system has memory that a peer cannot shrink under its reader, as Linux alone has, and the socket could
/// carry its descriptor. Where it has none the functions that make something fail.
bool port_shares_memory(int socket);

/// A descriptor of `size` zero bytes whose size cannot be changed any more.
int port_memory_make(size_t size);
/// Maps a peer's descriptor. Null with EINVAL if it is no such memory, of that size, that stays so.
void *port_memory_map(int descriptor, size_t size);
void port_memory_unmap(void *memory, size_t size);

/// As `port_memory_make`, with `memory` mapped here, where alone it can be written from now on. A forked child does not
/// have the mapping.
int port_region_make(size_t size, void **memory);
/// The size of such memory of a peer, which cannot change; -1 if it can.
int64_t port_region_size(int descriptor);
/// Maps such memory of a peer for reading. Null with EINVAL if it is none, of that size, whose every page is there.
void *port_region_take(int descriptor, size_t size);

/// A doorbell: `own`, an opening of it that no other process has, and `given`, what a peer opens for itself.
int port_doorbell_make(int *own, int *given);
/// Opens a doorbell from a peer's descriptor, whose flags the peer may change at any time; -1 with EINVAL if it is no
/// pipe.
int port_doorbell_open(int descriptor);
/// Wakes the side that polls the doorbell edge-triggered. Never waits.
void port_doorbell_ring(int doorbell);

/// Waits while a word of shared memory is `value`, at most `nanoseconds`. May return for nothing. There is no way to
/// wait without a bound: who shares the memory can move the waiter to another word, where no wake finds it.
void port_word_wait(const void *word, uint32_t value, int64_t nanoseconds);
/// Ends the waits for a word that has been changed.
void port_word_wake(const void *word);

#endif
