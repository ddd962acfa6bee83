#define _GNU_SOURCE
#include "include/port_io.h"
#include "include/port_closing.h"
#include "include/port_standard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#if __linux__
#include <sys/syscall.h>
#endif
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

#if __linux__ && !defined(SCM_PIDFD)
#define SCM_PIDFD 4
#endif
#ifdef SCM_PIDFD
#define PROCESS_SPACE CMSG_SPACE(sizeof(int))
#else
#define PROCESS_SPACE 0
#endif

// The four system calls of every message, all non-blocking. They are not made through the C library, whose functions
// are cancellation points and pay for that on entry and exit in programs with more than one thread.
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
        descriptor = port_above_standard(descriptor);
        if (descriptor < 0) {
            ancillary->truncated = true;
            continue;
        }
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
    // On this system descriptors arrive even if they are not asked for, and stay open.
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
    // The full size and not the expected one: the kernel closes descriptors that do not fit, and merged reads bring
    // more.
    _Alignas(struct cmsghdr)
    char control[CMSG_SPACE(PORT_MAXIMUM_DESCRIPTORS * sizeof(int)) + CREDENTIALS_SPACE + PROCESS_SPACE];
    struct msghdr message = {.msg_iov = (struct iovec *)vectors, .msg_iovlen = count};
    if (ancillary) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        ancillary->count = 0;
        ancillary->truncated = false;
        ancillary->has_credentials = false;
        ancillary->process = PORT_NO_PROCESS;
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
#ifdef SCM_PIDFD
            if (h->cmsg_type == SCM_PIDFD && h->cmsg_len == CMSG_LEN(sizeof(int))) {
                if (ancillary->process >= 0) close(ancillary->process);
                memcpy(&ancillary->process, CMSG_DATA(h), sizeof(int));
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
