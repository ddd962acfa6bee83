#ifndef PORT_CLOCK_H
#define PORT_CLOCK_H

#include <stdint.h>
#include <time.h>

/// Nanoseconds of the monotonic clock.
static inline uint64_t port_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
