#define _GNU_SOURCE
#include "include/port_closing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#if __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif
#include <unistd.h>

#include "include/port_thread.h"

#if __linux__ && !defined(SO_PASSRIGHTS) && (__x86_64__ || __aarch64__ || __i386__ || __arm__ || __riscv)
#define SO_PASSRIGHTS 83
#endif

int port_pass_descriptors(int socket, bool on) {
#ifdef SO_PASSRIGHTS
    int value = on;
    return setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof value);
#else
    (void)socket, (void)on;
    errno = ENOPROTOOPT;
    return -1;
#endif
}

int port_unread(int socket) {
    int bytes = 0;
    return ioctl(socket, FIONREAD, &bytes) < 0 ? -1 : bytes;
}

// A peer decides how long a close takes, so the number of closing threads has a limit; further closes wait.
enum { MOST_CLOSERS = 64 };

// The most memory that a close may free where others wait for it.
enum { QUICK_BYTES = 64 << 20 };

struct batch {
    struct batch *next;
    size_t count;
    int descriptors[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct batch *first, **last = &first;
static int closers;

// The child has none of the threads, and may have inherited a lock in the taken state.
static void forget(void) {
    pthread_mutex_init(&lock, NULL);
    first = NULL;
    last = &first;
    closers = 0;
}
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, forget); }

static void *close_batches(void *context) {
    (void)context;
    pthread_mutex_lock(&lock);
    while (first) {
        struct batch *batch = first;
        first = batch->next;
        if (!first) last = &first;
        pthread_mutex_unlock(&lock);
        for (size_t i = 0; i < batch->count; i++) close(batch->descriptors[i]);
        free(batch);
        pthread_mutex_lock(&lock);
    }
    closers--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

// No process is behind a pipe or a memory file, so closing one does not wait. Peers that keep to the protocol send only
// these.
static bool closes_at_once(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) < 0) return false;
    if (S_ISFIFO(status.st_mode)) return true;
#if __linux__
    struct statfs system;
    return S_ISREG(status.st_mode) && fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC
        && status.st_blocks <= QUICK_BYTES / 512;
#else
    return false;
#endif
}

void port_close_foreign(const int *descriptors, size_t count) {
    // Others close the rest: however many of those wait, these do not wait behind them.
    struct batch *batch = NULL;
    for (size_t i = 0; i < count; i++) {
        bool quick = closes_at_once(descriptors[i]);
        if (!quick && !batch && (batch = malloc(sizeof *batch + (count - i) * sizeof(int)))) {
            batch->next = NULL;
            batch->count = 0;
        }
        if (quick || !batch) {
            close(descriptors[i]);
        } else {
            batch->descriptors[batch->count++] = descriptors[i];
        }
    }
    if (!batch) return;
    pthread_mutex_lock(&lock);
    *last = batch;
    last = &batch->next;
    bool starts = closers < MOST_CLOSERS;
    if (starts) closers++;
    pthread_mutex_unlock(&lock);
    // Without a thread the caller has to wait itself: a descriptor kept is lost for good.
    if (starts && port_thread_start(close_batches, NULL, "distant-close") != 0) close_batches(NULL);
}

void port_close_socket(int socket) {
    if (port_unread(socket) > 0) {
        port_close_foreign(&socket, 1);
    } else {
        close(socket);
    }
}

void port_close_listener(int listener) {
    if (port_pass_descriptors(listener, false) < 0) {
        port_close_foreign(&listener, 1);
    } else {
        close(listener);
    }
}
