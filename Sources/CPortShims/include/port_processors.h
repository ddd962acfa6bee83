#ifndef PORT_PROCESSORS_H
#define PORT_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/// How many processors the calling thread may run on; 0 if the system does not say.
int port_processors_allowed(void);

/// The processor that the calling thread runs on; the thread may move at any time. -1 if the system does not say.
int port_processor(void);

/// The processor time that the control groups of this process may use together, in hundredths of a processor; 0 if
/// there is no limit. Reads files.
int64_t port_processor_quota(void);

/// The time that the calling thread was ready to run but did not run, in nanoseconds. False if the system does not say.
/// Reads a file.
bool port_run_delay(uint64_t *nanoseconds);

/// A number that no two threads have at a time.
uintptr_t port_thread_number(void);

/// To be called between two reads of memory that another processor changes.
static inline void port_pause(void) {
#if __x86_64__
    __builtin_ia32_pause();
#elif __aarch64__
    __asm__ volatile("isb" ::: "memory");
#endif
}

/// Gives the processor to another thread that is ready to run on it.
void port_yield(void);

#endif
