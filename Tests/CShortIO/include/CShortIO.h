#ifndef C_SHORT_IO_H
#define C_SHORT_IO_H

#include <stdint.h>

/// Makes the calls of this program that read and write sockets and pipes take fewer bytes than they could, from now on.
///
/// The program that links this library uses its `sendmsg`, `writev`, `recvmsg`, `readv` and `epoll_ctl` in place of those of
/// the system. A read or write takes any number of bytes, or fails with EAGAIN. The poller then reports the descriptor
/// again, as it does if the rest comes later. Does nothing in a build with a sanitizer, which replaces the same functions.
///
/// - Parameter seed: Decides what is cut; 0 for nothing.
void short_io_begin(uint64_t seed);

/// How many calls took fewer bytes.
uint64_t short_io_count(void);

#endif
