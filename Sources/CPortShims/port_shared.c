#define _GNU_SOURCE
#include "include/port_shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/port_io.h"
#include "include/port_place.h"
#include "include/port_poller.h"
#include "include/port_standard.h"
#include "include/port_thread.h"

#if __linux__
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static int fail_closing(int descriptor) {
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

static int make_file(size_t size) {
    // It is memory alone, and yet the limit of files holds.
    if (!port_may_be_large(size)) return -1;
    int memory = PORT_OPENED(
        memfd_create("distant-objects", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
    // Linux knows the last flag since 6.3.
    if (memory < 0 && errno == EINVAL)
        memory = PORT_OPENED(memfd_create("distant-objects", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    memory = port_unless_last(memory);
    if (memory >= 0 && ftruncate(memory, (off_t)size) < 0) return fail_closing(memory);
    return memory;
}

int port_memory_make(size_t size) {
    int memory = make_file(size);
    if (memory < 0) return -1;
    // Allocated now: memory that the system cannot provide would otherwise cause a signal when it is touched.
    if (fallocate(memory, 0, 0, (off_t)size) < 0) return fail_closing(memory);
    if (fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) return fail_closing(memory);
    return memory;
}

static bool has_seals(int descriptor, int needed) {
    int seals = fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & needed) == needed;
}

// The file system is asked last: it could be one that a process serves, whose files have no seals.
static bool is_sealed(int descriptor, size_t size, int needed) {
    struct stat status;
    struct statfs system;
    return has_seals(descriptor, needed) && fstat(descriptor, &status) == 0 &&
           status.st_size == (off_t)size && fstatfs(descriptor, &system) == 0 &&
           // Not huge pages, whose pool may be empty when one is touched.
           system.f_type == TMPFS_MAGIC;
}

void *port_memory_map(int descriptor, size_t size) {
    if (!is_sealed(descriptor, size, F_SEAL_SHRINK | F_SEAL_GROW)) {
        errno = EINVAL;
        return NULL;
    }
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int port_region_make(size_t size, void **memory) {
    *memory = NULL;
    int file = make_file(size);
    if (file < 0) return -1;
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) return fail_closing(file);
    (void)madvise(mapped, size, MADV_DONTFORK);
    // From the last seal on, only this mapping can write.
    if (fallocate(file, 0, 0, (off_t)size) < 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0) {
        int error = errno;
        munmap(mapped, size);
        errno = error;
        return fail_closing(file);
    }
    *memory = mapped;
    return file;
}

int64_t port_region_size(int descriptor) {
    struct stat status;
    if (!has_seals(descriptor, F_SEAL_SHRINK | F_SEAL_GROW) || fstat(descriptor, &status) < 0) return -1;
    return status.st_size;
}

void *port_region_take(int descriptor, size_t size) {
    struct stat status;
    // With these seals no page can be taken away again, so it is enough to count them once.
    if (!is_sealed(descriptor, size, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) ||
        fstat(descriptor, &status) < 0 || (uint64_t)status.st_blocks * 512 < size) {
        errno = EINVAL;
        return NULL;
    }
    void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (memory == MAP_FAILED) return NULL;
    (void)madvise(memory, size, MADV_DONTFORK);
    return memory;
}

void port_memory_unmap(void *memory, size_t size) { munmap(memory, size); }

int port_doorbell_open(int descriptor) {
    char path[32], target[16];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    // By its name and not by opening it: if another process serves the file system, it could make each opening wait.
    ssize_t length = readlink(path, target, sizeof target);
    if (length < 0) return -1;
    if (length <= 6 || memcmp(target, "pipe:[", 6) != 0) {
        errno = EINVAL;
        return -1;
    }
    // Both ends in one descriptor: a side that rings can empty a full pipe, and the pipe of neither side breaks when
    // the peer is gone.
    return port_unless_last(PORT_OPENED(open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)));
}

void port_doorbell_ring(int doorbell) {
    // Not initialised, because clearing a page is a large part of a ring.
    char drained[4096];
    for (int attempts = 0; attempts < 4; attempts++) {
        ssize_t written;
        do {
            written = write(doorbell, "", 1);
        } while (written < 0 && errno == EINTR);
        if (written >= 0) return;
        // A doorbell is read only here. One byte is left in it, so that a side that begins to poll it is notified.
        if (read(doorbell, drained, sizeof drained) < 0 && errno != EAGAIN && errno != EINTR) return;
    }
}

static int make_doorbell(int *own, int *given) {
    int ends[2];
    *own = *given = -1;
    port_reserve_standard();
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 || port_pair_above_standard(ends) < 0) return -1;
    close(ends[1]);
    *given = ends[0];
    *own = port_doorbell_open(*given);
    if (*own < 0) {
        fail_closing(*given);
        *given = -1;
        return -1;
    }
    // Bytes that nobody reads should not take more memory than a page.
    (void)fcntl(*own, F_SETPIPE_SZ, 4096);
    port_doorbell_ring(*own);
    return 0;
}

enum { NOT_TRIED = 0, HEARD_EACH_TIME = 1, NOT_HEARD = 2 };

// Some systems report bytes in a pipe only if it was empty before.
static int try_doorbell(void) {
    int own, given, result = NOT_TRIED;
    int poller = PORT_OPENED(epoll_create1(EPOLL_CLOEXEC));
    if (poller < 0) return result;
    if (make_doorbell(&own, &given) == 0) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLET};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, given, &event) == 0) {
            result = HEARD_EACH_TIME;
            for (int i = 0; i < 3; i++) {
                if (epoll_wait(poller, &event, 1, 0) != 1) result = NOT_HEARD;
                port_doorbell_ring(own);
            }
        }
        close(own);
        close(given);
    }
    close(poller);
    return result;
}

bool port_shares_memory(int socket) {
    int domain = 0;
    socklen_t length = sizeof domain;
    return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX;
}

int port_doorbell_make(int *own, int *given) {
    static int known = NOT_TRIED;
    int result = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (result == NOT_TRIED) {
        result = try_doorbell();
        __atomic_store_n(&known, result, __ATOMIC_RELAXED);
    }
    *own = *given = -1;
    if (result != HEARD_EACH_TIME) {
        errno = ENOTSUP;
        return -1;
    }
    return make_doorbell(own, given);
}

void port_word_wait(const void *word, uint32_t value, int64_t nanoseconds) {
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    // Not private to the process.
    syscall(SYS_futex, word, FUTEX_WAIT, value, &time, NULL, 0);
}

void port_word_wake(const void *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0); }
#else
bool port_shares_memory(int socket) {
    (void)socket;
    return false;
}

int port_memory_make(size_t size) {
    (void)size;
    errno = ENOTSUP;
    return -1;
}

void *port_memory_map(int descriptor, size_t size) {
    (void)descriptor, (void)size;
    errno = ENOTSUP;
    return NULL;
}

int port_region_make(size_t size, void **memory) {
    (void)size;
    *memory = NULL;
    errno = ENOTSUP;
    return -1;
}

int64_t port_region_size(int descriptor) {
    (void)descriptor;
    return -1;
}

void *port_region_take(int descriptor, size_t size) {
    (void)descriptor, (void)size;
    errno = ENOTSUP;
    return NULL;
}

void port_memory_unmap(void *memory, size_t size) { (void)memory, (void)size; }

int port_doorbell_make(int *own, int *given) {
    (void)own, (void)given;
    errno = ENOTSUP;
    return -1;
}

int port_doorbell_open(int descriptor) {
    (void)descriptor;
    errno = ENOTSUP;
    return -1;
}

void port_doorbell_ring(int doorbell) { (void)doorbell; }

void port_word_wait(const void *word, uint32_t value, int64_t nanoseconds) { (void)word, (void)value, (void)nanoseconds; }

void port_word_wake(const void *word) { (void)word; }
#endif
