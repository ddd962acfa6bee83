#ifndef PORT_CLOSING_H
#define PORT_CLOSING_H

#include <stdbool.h>
#include <stddef.h>

/// Whether the kernel lets a peer send descriptors to this socket; a peer that does where it may not gets EPERM.
/// Sockets that a listener accepts begin as the listener is. Fails where the system has no such setting (Linux before
/// 6.16, and Apple's systems), and with EOPNOTSUPP for a socket that can carry none.
int port_pass_descriptors(int socket, bool on);

/// Bytes that have come and are not read yet; below 0: not known.
int port_unread(int socket);

/// Closes descriptors that a peer chose. The last close of one may wait for what is behind it, so threads of their own
/// do that, unless it is a pipe or a file in memory.
void port_close_foreign(const int *descriptors, size_t count);

/// Closes a socket that is shut down; as `port_close_foreign` if bytes are left in it, with which descriptors may have
/// come.
void port_close_socket(int socket);
/// Closes a listening socket, and with it the connections that wait in it; as `port_close_foreign` if descriptors may
/// have come to them.
void port_close_listener(int listener);

#endif
