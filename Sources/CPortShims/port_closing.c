#define _GNU_SOURCE
#include "include/port_closing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
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

// A peer decides how long a close takes, so that the number of threads has a bound; what comes beyond it waits.
enum { MOST_CLOSERS = 8 };

struct batch {
    struct batch *next;
    size_t count;
    int descriptors[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct batch *first, **last = &first;
static int closers;

// The child has none of the threads, and perhaps a lock that one of them held.
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

void port_close_foreign(const int *descriptors, size_t count) {
    if (count == 0) return;
    struct batch *batch = malloc(sizeof *batch + count * sizeof(int));
    if (!batch) {
        for (size_t i = 0; i < count; i++) close(descriptors[i]);
        return;
    }
    batch->next = NULL;
    batch->count = count;
    memcpy(batch->descriptors, descriptors, count * sizeof(int));
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
