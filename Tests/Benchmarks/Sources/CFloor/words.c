#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "Words.h"
#include "CFloor.h"

#include <errno.h>

#ifdef __linux__
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { Ended = UINT32_MAX };

/// A message of 32 bytes and the number of the last one, on cache lines of their own.
typedef struct {
    _Alignas(64) _Atomic uint32_t number;
    int64_t message[4];
} Word;

typedef struct {
    Word there;
    Word back;
} Words;

static void put(Word *word, uint32_t number, const int64_t *message, int polls) {
    memcpy(word->message, message, sizeof word->message);
    atomic_store_explicit(&word->number, number, memory_order_release);
    if (!polls) syscall(SYS_futex, &word->number, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/// Waits until the word has another number than `last`, and returns it.
static uint32_t take(Word *word, uint32_t last, int64_t *message, int polls) {
    uint32_t number;
    while ((number = atomic_load_explicit(&word->number, memory_order_acquire)) == last) {
        if (polls) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else {
            syscall(SYS_futex, &word->number, FUTEX_WAIT, last, NULL, NULL, 0);
        }
    }
    memcpy(message, word->message, sizeof word->message);
    return number;
}

int floorMakeWords(void **shared) {
    int memory = memfd_create("floor", MFD_CLOEXEC);
    if (memory < 0) return -errno;
    void *place = MAP_FAILED;
    if (ftruncate(memory, sizeof(Words)) == 0) {
        place = mmap(NULL, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    }
    if (place == MAP_FAILED) {
        int error = errno;
        close(memory);
        return -error;
    }
    *shared = place;
    return memory;
}

void floorEndWords(void *shared) {
    Words *words = shared;
    int64_t nothing[4] = {0};
    put(&words->there, Ended, nothing, 0);
    munmap(shared, sizeof(Words));
}

/// Ends this process when its parent has ended without a word.
///
/// The system's own signal for that (PR_SET_PDEATHSIG) comes when the thread that started this process ends, which may be
/// long before the parent does.
static void *endWithParent(void *parent) {
    while (getppid() == (pid_t)(intptr_t)parent) sleep(1);
    _exit(0);
}

void floorServeWords(int polls) {
    pthread_t watch;
    if (pthread_create(&watch, NULL, endWithParent, (void *)(intptr_t)getppid()) != 0) return;
    Words *words = mmap(NULL, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
    if (words == MAP_FAILED) return;
    int64_t message[4];
    uint32_t number = 0;
    while ((number = take(&words->there, number, message, polls)) != Ended) {
        message[3] = message[2] + 1;
        put(&words->back, number, message, polls);
    }
}

int floorPingWords(FloorPeer *peer, uint64_t *nanoseconds, size_t count) {
    Words *words = peer->shared;
    int polls = peer->transport == FloorPolledWords;
    for (size_t index = 0; index < count; index++) {
        uint64_t start = floorNow();
        uint32_t last = atomic_load_explicit(&words->back.number, memory_order_relaxed);
        int64_t message[4] = {0, (int64_t)index, (int64_t)index, 0};
        put(&words->there, last + 1, message, polls);
        uint32_t number = take(&words->back, last, message, polls);
        if (number != last + 1 || message[3] != (int64_t)index + 1) return EPROTO;
        nanoseconds[index] = floorNow() - start;
    }
    return 0;
}
#else
int floorMakeWords(void **shared) { return -ENOSYS; }
void floorEndWords(void *shared) {}
void floorServeWords(int polls) {}
int floorPingWords(FloorPeer *peer, uint64_t *nanoseconds, size_t count) { return ENOSYS; }
#endif
