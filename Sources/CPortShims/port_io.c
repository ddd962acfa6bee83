#define _GNU_SOURCE
#include "include/port_io.h"
#include "include/port_closing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#if __linux__
#include <sys/syscall.h>
#endif
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#if __APPLE__
#define CLOSE_ON_EXEC_MESSAGE 0
#define NO_SIGNAL 0
#define CREDENTIALS_SPACE 0
#else
#define CLOSE_ON_EXEC_MESSAGE MSG_CMSG_CLOEXEC
#define NO_SIGNAL MSG_NOSIGNAL
#define CREDENTIALS_SPACE CMSG_SPACE(sizeof(struct ucred))
#endif

// The four calls of every message, none of which is asked to wait: past the C library's, which are points where a
// thread may be cancelled and, with more than one thread, pay for that on their way in and out.
#if __linux__
#define RECEIVE(socket, bytes, size, flags) syscall(SYS_recvfrom, socket, bytes, size, flags, NULL, NULL)
#define SEND(socket, bytes, size, flags) syscall(SYS_sendto, socket, bytes, size, flags, NULL, 0)
#define READ(descriptor, bytes, size) syscall(SYS_read, descriptor, bytes, size)
#define WRITE(descriptor, bytes, size) syscall(SYS_write, descriptor, bytes, size)
#else
#define RECEIVE recv
#define SEND send
#define READ read
#define WRITE write
#endif

void port_close_ancillary(port_ancillary *ancillary) {
    port_close_foreign(ancillary->descriptors, (size_t)ancillary->count);
    ancillary->count = 0;
}

static void take_descriptors(const struct cmsghdr *header, port_ancillary *ancillary) {
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
        int descriptor;
        memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
#if __APPLE__
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#endif
        if (ancillary->count < PORT_MAXIMUM_DESCRIPTORS) {
            ancillary->descriptors[ancillary->count++] = descriptor;
        } else {
            close(descriptor);
            ancillary->truncated = true;
        }
    }
}

ssize_t port_receive(int socket, const struct iovec *vectors, int count, port_ancillary *ancillary) {
#if __APPLE__
    // There descriptors arrive whether asked for or not, and stay open.
    port_ancillary unwanted;
    bool keeps = ancillary != NULL;
    if (!keeps) ancillary = &unwanted;
#else
    if (!ancillary && count == 1) {
        ssize_t got;
        do {
            got = RECEIVE(socket, vectors->iov_base, vectors->iov_len, MSG_DONTWAIT);
        } while (got < 0 && errno == EINTR);
        return got;
    }
#endif
    // The full size, not that of what is expected: the kernel closes what does not fit, and merged reads bring more.
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(PORT_MAXIMUM_DESCRIPTORS * sizeof(int)) + CREDENTIALS_SPACE];
    struct msghdr message = {.msg_iov = (struct iovec *)vectors, .msg_iovlen = count};
    if (ancillary) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        ancillary->count = 0;
        ancillary->truncated = false;
        ancillary->has_credentials = false;
    }
    ssize_t received;
    do {
        received = recvmsg(socket, &message, MSG_DONTWAIT | CLOSE_ON_EXEC_MESSAGE);
    } while (received < 0 && errno == EINTR);
    if (received < 0 || !ancillary) return received;
    if (message.msg_controllen) {
        for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
            if (h->cmsg_level != SOL_SOCKET) continue;
            if (h->cmsg_type == SCM_RIGHTS) take_descriptors(h, ancillary);
#if !__APPLE__
            if (h->cmsg_type == SCM_CREDENTIALS && h->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
                struct ucred sender;
                memcpy(&sender, CMSG_DATA(h), sizeof sender);
                ancillary->credentials = (port_credentials){sender.pid, sender.uid, sender.gid};
                ancillary->has_credentials = true;
            }
#endif
        }
    }
    if (message.msg_flags & MSG_CTRUNC) ancillary->truncated = true;
    if (ancillary->truncated) port_close_ancillary(ancillary);
#if __APPLE__
    if (!keeps) port_close_ancillary(ancillary);
#endif
    return received;
}

ssize_t port_send(
    int socket, const struct iovec *vectors, int count, const int *descriptors, int descriptor_count,
    bool with_credentials) {
    ssize_t sent;
    if (count == 1 && descriptor_count == 0 && !with_credentials) {
        do {
            sent = SEND(socket, vectors->iov_base, vectors->iov_len, MSG_DONTWAIT | NO_SIGNAL);
        } while (sent < 0 && errno == EINTR);
        return sent;
    }
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(PORT_MAXIMUM_DESCRIPTORS * sizeof(int)) + CREDENTIALS_SPACE];
    struct msghdr message = {.msg_iov = (struct iovec *)vectors, .msg_iovlen = count};
    size_t used = 0;
    if (descriptor_count > PORT_MAXIMUM_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    if (descriptor_count > 0) {
        struct cmsghdr *header = (struct cmsghdr *)control;
        size_t bytes = (size_t)descriptor_count * sizeof(int);
        memset(control, 0, CMSG_SPACE(bytes));
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(header), descriptors, bytes);
        used = CMSG_SPACE(bytes);
    }
#if !__APPLE__
    if (with_credentials) {
        struct cmsghdr *header = (struct cmsghdr *)(control + used);
        struct ucred me = {getpid(), geteuid(), getegid()};
        memset(header, 0, CMSG_SPACE(sizeof me));
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_CREDENTIALS;
        header->cmsg_len = CMSG_LEN(sizeof me);
        memcpy(CMSG_DATA(header), &me, sizeof me);
        used += CMSG_SPACE(sizeof me);
    }
#endif
    if (used) {
        message.msg_control = control;
        message.msg_controllen = used;
    }
    do {
        sent = sendmsg(socket, &message, MSG_DONTWAIT | NO_SIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t port_read(int descriptor, const struct iovec *vectors, int count) {
    ssize_t received;
    do {
        received = count == 1 ? READ(descriptor, vectors->iov_base, vectors->iov_len)
                              : readv(descriptor, vectors, count);
    } while (received < 0 && errno == EINTR);
    return received;
}

#if __APPLE__
// There the signal goes to the process and not to the thread, so blocking it does not help: the option is set on the
// descriptor.
int port_silence_pipe(int descriptor) { return fcntl(descriptor, F_SETNOSIGPIPE, 1); }

ssize_t port_write(int descriptor, const struct iovec *vectors, int count, bool blocked) {
    (void)blocked;
    ssize_t written;
    do {
        written = count == 1 ? WRITE(descriptor, vectors->iov_base, vectors->iov_len)
                             : writev(descriptor, vectors, count);
    } while (written < 0 && errno == EINTR);
    return written;
}
#else
int port_silence_pipe(int descriptor) {
    (void)descriptor;
    return 0;
}

// Takes a SIGPIPE that is pending on this thread.
static void take_pipe_signal(const sigset_t *set) {
    struct timespec none = {0, 0};
    while (sigtimedwait(set, NULL, &none) < 0 && errno == EINTR) {}
}

#if __linux__ && defined(SYS_pwritev2)
// RWF_NOSIGNAL, which Linux has since 6.18; -1: not yet asked.
enum { WITHOUT_SIGNAL = 0x100 };
static int has_quiet_write = -1;
#endif

ssize_t port_write(int descriptor, const struct iovec *vectors, int count, bool blocked) {
#if __linux__ && defined(SYS_pwritev2)
    if (!blocked && __atomic_load_n(&has_quiet_write, __ATOMIC_RELAXED) != 0) {
        ssize_t quiet;
        do {
            // The position, which a pipe has not, is split in two words where words are small.
            quiet = syscall(SYS_pwritev2, descriptor, vectors, count, -1L, -1L, WITHOUT_SIGNAL);
        } while (quiet < 0 && errno == EINTR);
        if (quiet >= 0 || (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS && errno != EPERM)) {
            __atomic_store_n(&has_quiet_write, 1, __ATOMIC_RELAXED);
            return quiet;
        }
        __atomic_store_n(&has_quiet_write, 0, __ATOMIC_RELAXED);
    }
#endif
    sigset_t set, previous, pending;
    bool was_pending = false;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!blocked) {
        // One that was pending before is not ours and stays.
        sigpending(&pending);
        was_pending = sigismember(&pending, SIGPIPE);
        if (!was_pending) pthread_sigmask(SIG_BLOCK, &set, &previous);
    }
    ssize_t written;
    do {
        written = count == 1 ? WRITE(descriptor, vectors->iov_base, vectors->iov_len)
                             : writev(descriptor, vectors, count);
    } while (written < 0 && errno == EINTR);
    int error = errno;
    if (written < 0 && error == EPIPE && !was_pending) take_pipe_signal(&set);
    if (!blocked && !was_pending) pthread_sigmask(SIG_SETMASK, &previous, NULL);
    errno = error;
    return written;
}
#endif

static int prepared(int socket) {
#if __APPLE__
    int on = 1;
    if (socket >= 0) setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    if (socket >= 0) fcntl(socket, F_SETFD, FD_CLOEXEC);
#endif
    return socket;
}

#if __APPLE__
#define STREAM SOCK_STREAM
#else
#define STREAM (SOCK_STREAM | SOCK_CLOEXEC)
#endif

int port_socketpair(int ends[2]) {
    if (socketpair(AF_UNIX, STREAM, 0, ends) < 0) return -1;
    prepared(ends[0]);
    prepared(ends[1]);
    return 0;
}

int port_pipe(int ends[2]) {
#if __APPLE__
    if (pipe(ends) < 0) return -1;
    port_set_close_on_exec(ends[0]);
    port_silence_pipe(ends[1]);
    return port_set_close_on_exec(ends[1]);
#else
    return pipe2(ends, O_CLOEXEC);
#endif
}

int port_longest_path(void) { return (int)sizeof(((struct sockaddr_un *)0)->sun_path) - 1; }

static int make_address(const char *path, struct sockaddr_un *address, socklen_t *length) {
    size_t count = strlen(path);
    if (count > (size_t)port_longest_path()) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, count);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + count + 1);
    return 0;
}

static int fail_closing(int descriptor) {
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int port_connect(const char *path) {
    struct sockaddr_un address;
    socklen_t length;
    if (make_address(path, &address, &length) < 0) return -1;
    int socket_ = prepared(socket(AF_UNIX, STREAM, 0));
    if (socket_ < 0) return -1;
    // A blocking connect() waits for room in the listener's queue, and a listener that never accepts makes none.
    if (port_set_nonblocking(socket_) < 0) return fail_closing(socket_);
    // Before the peer can send: what follows from a descriptor that was not asked for would follow here.
    port_pass_descriptors(socket_, false);
    if (connect(socket_, (struct sockaddr *)&address, length) < 0) return fail_closing(socket_);
    return socket_;
}

static bool is_socket_of_mode(const char *path, uint32_t mode) {
    struct stat status;
    return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) && (status.st_mode & 0777) == mode;
}

int port_bind(const char *path, uint32_t mode) {
    struct sockaddr_un address;
    socklen_t length;
    if (make_address(path, &address, &length) < 0) return -1;
    int socket_ = prepared(socket(AF_UNIX, STREAM, 0));
    if (socket_ < 0) return -1;
#if !__APPLE__
    // Before bind(), which gives the file the socket's mode: at no moment is it open to others.
    if (fchmod(socket_, (mode_t)mode) < 0) return fail_closing(socket_);
#endif
    if (bind(socket_, (struct sockaddr *)&address, length) < 0) return fail_closing(socket_);
    if (port_set_mode(path, mode) < 0 && !is_socket_of_mode(path, mode)) return fail_closing(socket_);
    return socket_;
}

int port_set_mode(const char *path, uint32_t mode) {
    return fchmodat(AT_FDCWD, path, (mode_t)mode, AT_SYMLINK_NOFOLLOW);
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

int port_accept(int listener) {
    int accepted;
    do {
#if __APPLE__
        accepted = prepared(accept(listener, NULL, NULL));
#else
        accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
#endif
    } while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
    return accepted;
}

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

bool port_same_file(int first, int second) {
    struct stat a, b;
    return fstat(first, &a) == 0 && fstat(second, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int port_duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 10); }

int port_reopen(int descriptor, bool writing) {
#if __APPLE__
    (void)descriptor;
    (void)writing;
    errno = ENOTSUP;
    return -1;
#else
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, (writing ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);
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
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0) return -1;
    int result = dup2(null, 0) < 0 || dup2(2, 1) < 0 ? -1 : 0;
    if (null > 2) close(null);
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

int port_lock_file(const char *path) {
    for (;;) {
        int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0) return -1;
        int locked;
        do {
            locked = flock(file, LOCK_EX | LOCK_NB);
        } while (locked < 0 && errno == EINTR);
        if (locked < 0) return fail_closing(file);
        // The last owner may have removed the file between our open() and flock(): then the lock is of no name.
        struct stat opened, named;
        if (fstat(file, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino
            && opened.st_dev == named.st_dev)
            return file;
        close(file);
    }
}
