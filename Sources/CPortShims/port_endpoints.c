#define _GNU_SOURCE
#include "include/port_closing.h"
#include "include/port_io.h"
#include "include/port_standard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#if __linux__ && !defined(SO_PASSPIDFD) && (__x86_64__ || __aarch64__ || __i386__ || __arm__ || __riscv)
#define SO_PASSPIDFD 76
#endif

// Making and asking descriptors; what goes through them is in port_io.c.

#if __APPLE__
#define STREAM SOCK_STREAM
#else
#define STREAM (SOCK_STREAM | SOCK_CLOEXEC)
#endif

static int prepared(int socket) {
#if __APPLE__
    int on = 1;
    if (socket >= 0) setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    if (socket >= 0) fcntl(socket, F_SETFD, FD_CLOEXEC);
#endif
    return socket;
}

int port_stream_socket(void) { return prepared(PORT_OPENED(socket(AF_UNIX, STREAM, 0))); }

int port_socketpair(int ends[2]) {
    port_reserve_standard();
    if (socketpair(AF_UNIX, STREAM, 0, ends) < 0 || port_pair_above_standard(ends) < 0) return -1;
    prepared(ends[0]);
    prepared(ends[1]);
    return 0;
}

int port_pipe(int ends[2]) {
    port_reserve_standard();
#if __APPLE__
    if (pipe(ends) < 0 || port_pair_above_standard(ends) < 0) return -1;
    port_set_close_on_exec(ends[0]);
    port_silence_pipe(ends[1]);
    return port_set_close_on_exec(ends[1]);
#else
    if (pipe2(ends, O_CLOEXEC) < 0 || port_pair_above_standard(ends) < 0) return -1;
    // Four times the usual length: data of 1 MiB then takes a fifth less time on one core, because the two sides take turns
    // less often. Longer ones are slower on two cores. A user's pipes are bounded together, by 16,384 pages: beyond that, with
    // some 128 helpers, this fails, and new pipes of that user are short.
    (void)fcntl(ends[1], F_SETPIPE_SZ, 256 * 1024);
    return 0;
#endif
}

int port_listen(int socket, int backlog) {
    int flags = fcntl(socket, F_GETFL);
    if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0) return -1;
    // For the sockets it accepts, which a peer can send to before they are.
    port_pass_descriptors(socket, false);
    return listen(socket, backlog);
}

bool port_is_listener(int descriptor) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) < 0 || address.sun_family != AF_UNIX) return false;
    int type = 0;
    length = sizeof type;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) < 0 || type != SOCK_STREAM) return false;
    int listens = 0;
    length = sizeof listens;
    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens;
}

void port_bound_path(int socket, char *path, size_t size) {
    struct sockaddr_un address = {0};
    socklen_t length = sizeof address;
    if (getsockname(socket, (struct sockaddr *)&address, &length) < 0 || address.sun_family != AF_UNIX) length = 0;
    size_t start = offsetof(struct sockaddr_un, sun_path);
    snprintf(path, size, "%.*s", length > start ? (int)(length - start) : 0, address.sun_path);
}

// How many descriptors stay free of what peers cause: an eighth of those the process may have, at most this number.
enum { MOST_RESERVED = 16 };

static rlim_t unreserved(rlim_t limit) {
    return limit - (limit / 8 < MOST_RESERVED ? limit / 8 : MOST_RESERVED);
}

int port_peer_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT_MAX) return INT_MAX;
    return (int)unreserved(limit.rlim_cur);
}

int port_unless_last(int opened) {
    struct rlimit limit;
    if (opened < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0) return opened;
    // The system gives out the lowest number that is free, so all below it are in use.
    if ((rlim_t)opened < unreserved(limit.rlim_cur)) return opened;
    close(opened);
    errno = EMFILE;
    return -1;
}

int port_accept(int listener) {
    // Tried with a copy: an accepted connection would have to be closed.
    int copy = port_unless_last(PORT_OPENED(fcntl(listener, F_DUPFD_CLOEXEC, 0)));
    if (copy < 0) return -1;
    close(copy);
    return port_accept_last(listener);
}

int port_accept_last(int listener) {
    int accepted;
    do {
#if __APPLE__
        accepted = prepared(port_above_standard(accept(listener, NULL, NULL)));
#else
        accepted = port_above_standard(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
#endif
    } while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
    return accepted;
}

// Where the system does not let a listening socket be shut down, a process that connects between the last accept() and close() is
// refused after it was connected.
void port_refuse_further(int listener) { shutdown(listener, SHUT_RD); }

bool port_is_unnamed(int socket) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    if (getsockname(socket, (struct sockaddr *)&address, &length) < 0) return false;
    if (length > offsetof(struct sockaddr_un, sun_path) && address.sun_path[0]) return false;
    length = sizeof address;
    if (getpeername(socket, (struct sockaddr *)&address, &length) < 0) return false;
    return !(length > offsetof(struct sockaddr_un, sun_path) && address.sun_path[0]);
}

int port_peer_credentials(int socket, port_credentials *credentials) {
#if __APPLE__
    uid_t uid;
    gid_t gid;
    pid_t pid = 0;
    socklen_t length = sizeof pid;
    if (getpeereid(socket, &uid, &gid) < 0) return -1;
    getsockopt(socket, SOL_LOCAL, LOCAL_PEERPID, &pid, &length);
    *credentials = (port_credentials){pid, uid, gid};
#else
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) return -1;
    *credentials = (port_credentials){peer.pid, peer.uid, peer.gid};
#endif
    return 0;
}

int port_pass_credentials(int socket, bool on) {
#if __APPLE__
    (void)socket;
    (void)on;
    return 0;
#else
    int value = on;
#ifdef SO_PASSPIDFD
    // Linux has it since 6.5; before, the number in the credentials has to do.
    setsockopt(socket, SOL_SOCKET, SO_PASSPIDFD, &value, sizeof value);
#endif
    return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &value, sizeof value);
#endif
}

int port_kind(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) < 0) return -1;
    if (S_ISSOCK(status.st_mode)) return PORT_KIND_SOCKET;
    if (S_ISFIFO(status.st_mode)) return PORT_KIND_PIPE;
    return PORT_KIND_OTHER;
}

bool port_is_inherited(int descriptor) {
    int flags = fcntl(descriptor, F_GETFD);
    return flags >= 0 && !(flags & FD_CLOEXEC);
}

bool port_same_file(int first, int second) {
    struct stat a, b;
    return fstat(first, &a) == 0 && fstat(second, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int port_duplicate_above(int descriptor, int least) { return fcntl(descriptor, F_DUPFD_CLOEXEC, least); }

int port_duplicate(int descriptor) { return port_duplicate_above(descriptor, 10); }

int port_reopen(int descriptor, bool writing) {
#if __APPLE__
    (void)descriptor;
    (void)writing;
    errno = ENOTSUP;
    return -1;
#else
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return PORT_OPENED(open(path, (writing ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC));
#endif
}

int port_set_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

int port_prepare_channel(int socket) {
#if __APPLE__
    return port_set_nonblocking(socket);
#else
    (void)socket;
    return 0;
#endif
}

int port_set_close_on_exec(int descriptor) { return fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

int port_detach_standard_streams(void) {
    int null = port_open_file("/dev/null");
    if (null < 0) return -1;
    int result = dup2(null, 0) < 0 || dup2(2, 1) < 0 ? -1 : 0;
    close(null);
    return result;
}

int port_set_send_buffer(int socket, int bytes) {
    return setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

int port_send_buffer(int socket) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    return getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, &length) < 0 ? -1 : bytes;
}

int port_shutdown(int socket, bool reading, bool writing) {
    return shutdown(socket, reading && writing ? SHUT_RDWR : reading ? SHUT_RD : SHUT_WR);
}

void port_close(int descriptor) { close(descriptor); }

void port_error_text(int number, char *text, size_t size) {
    char buffer[128];
#if defined(__GLIBC__)
    // This variant may answer with a text of its own instead of filling the buffer.
    snprintf(text, size, "%s", strerror_r(number, buffer, sizeof buffer));
#else
    if (strerror_r(number, buffer, sizeof buffer) != 0) snprintf(buffer, sizeof buffer, "error %d", number);
    snprintf(text, size, "%s", buffer);
#endif
}
