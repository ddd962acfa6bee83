#ifndef PORT_CLOSING_H
#define PORT_CLOSING_H

#include <stdbool.h>
#include <stddef.h>

/// Sets whether the kernel lets a peer send descriptors to this socket; if not, the peer gets EPERM. Sockets that a
/// listener accepts begin with the listener's setting. Fails where the system has no such setting (Linux before 6.16,
/// and Apple's systems), and with EOPNOTSUPP for a socket that cannot carry descriptors.
int port_pass_descriptors(int socket, bool on);

/// The number of bytes that have come and are not read yet; below 0 if it is not known.
int port_unread(int socket);

/// Closes descriptors that a peer chose. The last close of a file may wait for the process behind it, so separate
/// threads make it, except for pipes and memory files.
void port_close_foreign(const int *descriptors, size_t count);

/// Closes a socket that is shut down, like `port_close_foreign` if it has unread bytes, which may have come with
/// descriptors.
void port_close_socket(int socket);
/// Closes a listening socket and the connections that wait in it, like `port_close_foreign` if they may hold
/// descriptors.
void port_close_listener(int listener);

#endif
