#define _GNU_SOURCE
#include "CShortIO.h"

#include <stdatomic.h>

static _Atomic uint64_t random_state;
static _Atomic uint64_t cut_calls;

void short_io_begin(uint64_t seed) { atomic_store(&random_state, seed); }
uint64_t short_io_count(void) { return atomic_load(&cut_calls); }

#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif

#if defined(__linux__) && !defined(IS_SANITIZED)

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/// The system's own function.
typedef long (*system_call)(long, ...);
static _Atomic(system_call) known_system_call;
static system_call real_system_call(void) {
    system_call known = atomic_load(&known_system_call);
    if (!known) {
        known = (system_call)dlsym(RTLD_NEXT, "syscall");
        atomic_store(&known_system_call, known);
    }
    return known;
}
#define SYSTEM real_system_call()

#define MOST_VECTORS 1024
#define MOST_REGISTRATIONS 1024

/// SplitMix64 (Steele, Lea and Flood, 2014), shared by all threads.
static uint64_t next_random(void) {
    uint64_t mixed = atomic_fetch_add(&random_state, 0x9E3779B97F4A7C15) + 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
}

/// How many of `total` bytes a call takes now: 0 means that it fails with EAGAIN.
static size_t taken(size_t total) {
    if (atomic_load(&random_state) == 0 || total == 0) return total;
    uint64_t random = next_random();
    size_t count = total;
    switch (random & 7) {
    case 0: count = 0; break;
    case 1:
    case 2:
    case 3: count = 1 + (random >> 8) % (total < 40 ? total : 40); break;
    case 4:
    case 5: count = 1 + (random >> 8) % total; break;
    default: break;
    }
    if (count < total) atomic_fetch_add(&cut_calls, 1);
    return count;
}

static size_t total_of(const struct iovec *vectors, size_t count) {
    size_t total = 0;
    for (size_t index = 0; index < count; index++) total += vectors[index].iov_len;
    return total;
}

/// Copies the vectors of the first `bytes`; returns how many these are.
static size_t first_bytes(struct iovec *copy, const struct iovec *vectors, size_t count, size_t bytes) {
    size_t used = 0;
    for (; used < count && bytes > 0; used++) {
        copy[used] = vectors[used];
        if (copy[used].iov_len > bytes) copy[used].iov_len = bytes;
        bytes -= copy[used].iov_len;
    }
    return used;
}

// MARK: The poller

/// What the pollers of this process watch, so that they can be asked to report again.
static struct {
    int poller, descriptor;
    struct epoll_event event;
} registrations[MOST_REGISTRATIONS];
static size_t registration_count;
static pthread_mutex_t registration_lock = PTHREAD_MUTEX_INITIALIZER;

int epoll_ctl(int poller, int operation, int descriptor, struct epoll_event *event) {
    pthread_mutex_lock(&registration_lock);
    int result = (int)SYSTEM(SYS_epoll_ctl, poller, operation, descriptor, event);
    int number = errno;
    if (result == 0) {
        size_t place = 0;
        while (place < registration_count
               && (registrations[place].poller != poller || registrations[place].descriptor != descriptor))
            place++;
        if (operation == EPOLL_CTL_DEL) {
            if (place < registration_count) registrations[place] = registrations[--registration_count];
        } else if (place < MOST_REGISTRATIONS) {
            if (place == registration_count) registration_count++;
            registrations[place].poller = poller;
            registrations[place].descriptor = descriptor;
            registrations[place].event = *event;
        }
    }
    pthread_mutex_unlock(&registration_lock);
    errno = number;
    return result;
}

/// Has the pollers report the descriptor again if it is ready.
static void report_again(int descriptor) {
    int number = errno;
    pthread_mutex_lock(&registration_lock);
    for (size_t place = 0; place < registration_count; place++) {
        if (registrations[place].descriptor != descriptor) continue;
        struct epoll_event event = registrations[place].event;
        SYSTEM(SYS_epoll_ctl, registrations[place].poller, EPOLL_CTL_MOD, descriptor, &event);
    }
    pthread_mutex_unlock(&registration_lock);
    errno = number;
}

// MARK: Reads and writes

static ssize_t again(int descriptor) {
    report_again(descriptor);
    errno = EAGAIN;
    return -1;
}

/// Shortens a read or write of consecutive bytes; returns whether it takes fewer than `*length`.
static bool shortens(size_t *length, bool *fails) {
    size_t bytes = taken(*length);
    bool is_cut = bytes < *length;
    *fails = is_cut && bytes == 0;
    if (!*fails) *length = bytes;
    return is_cut;
}

// The library calls the system by number in its most frequent reads and writes.
long syscall(long number, ...) {
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (size_t index = 0; index < 6; index++) arguments[index] = va_arg(list, long);
    va_end(list);
    int descriptor = (int)arguments[0];
    bool is_cut = false, fails = false;
    struct iovec vectors[MOST_VECTORS];
    switch (number) {
    case SYS_sendto:
    case SYS_recvfrom:
    case SYS_read:
    case SYS_write: is_cut = shortens((size_t *)&arguments[2], &fails); break;
    case SYS_pwritev2: {
        size_t total = total_of((struct iovec *)arguments[1], (size_t)arguments[2]);
        if (arguments[2] > MOST_VECTORS) break;
        size_t bytes = taken(total);
        if (bytes == total) break;
        is_cut = true;
        fails = bytes == 0;
        arguments[2] = (long)first_bytes(vectors, (struct iovec *)arguments[1], (size_t)arguments[2], bytes);
        arguments[1] = (long)vectors;
        break;
    }
    default: break;
    }
    if (fails) return again(descriptor);
    long result = SYSTEM(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    if (is_cut) report_again(descriptor);
    return result;
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    size_t total = total_of(message->msg_iov, message->msg_iovlen);
    size_t bytes = message->msg_iovlen > MOST_VECTORS ? total : taken(total);
    if (bytes == total) return SYSTEM(SYS_sendmsg, descriptor, message, flags);
    if (bytes == 0) return again(descriptor);
    struct iovec vectors[MOST_VECTORS];
    struct msghdr cut = *message;
    cut.msg_iovlen = first_bytes(vectors, message->msg_iov, message->msg_iovlen, bytes);
    cut.msg_iov = vectors;
    ssize_t sent = SYSTEM(SYS_sendmsg, descriptor, &cut, flags);
    report_again(descriptor);
    return sent;
}

/// `readv` or `writev`.
static ssize_t vector_call(long number, int descriptor, const struct iovec *given, int count) {
    size_t total = total_of(given, (size_t)count);
    size_t bytes = count > MOST_VECTORS ? total : taken(total);
    if (bytes == total) return SYSTEM(number, descriptor, given, count);
    if (bytes == 0) return again(descriptor);
    struct iovec vectors[MOST_VECTORS];
    size_t used = first_bytes(vectors, given, (size_t)count, bytes);
    ssize_t moved = SYSTEM(number, descriptor, vectors, used);
    report_again(descriptor);
    return moved;
}

ssize_t writev(int descriptor, const struct iovec *given, int count) {
    return vector_call(SYS_writev, descriptor, given, count);
}

ssize_t readv(int descriptor, const struct iovec *given, int count) {
    return vector_call(SYS_readv, descriptor, given, count);
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    size_t total = total_of(message->msg_iov, message->msg_iovlen);
    size_t bytes = message->msg_iovlen > MOST_VECTORS ? total : taken(total);
    if (bytes == total) return SYSTEM(SYS_recvmsg, descriptor, message, flags);
    if (bytes == 0) return again(descriptor);
    struct iovec vectors[MOST_VECTORS];
    struct msghdr cut = *message;
    cut.msg_iovlen = first_bytes(vectors, message->msg_iov, message->msg_iovlen, bytes);
    cut.msg_iov = vectors;
    ssize_t received = SYSTEM(SYS_recvmsg, descriptor, &cut, flags);
    message->msg_namelen = cut.msg_namelen;
    message->msg_controllen = cut.msg_controllen;
    message->msg_flags = cut.msg_flags;
    report_again(descriptor);
    return received;
}

#endif
