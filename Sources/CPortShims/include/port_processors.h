#ifndef PORT_PROCESSORS_H
#define PORT_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/// How many processors the calling thread may run on; 0 if the system does not say.
int port_processors_allowed(void);

/// The processor that the calling thread runs on, which may be another one at once; -1 if the system does not say.
int port_processor(void);

/// The processor time that the groups of this process may use together, in hundredths of a processor; 0 if nothing bounds
/// it. Reads files.
int64_t port_processor_quota(void);

/// How long the calling thread has been ready to run and has not run, in nanoseconds. False if the system does not say.
/// Reads a file.
bool port_run_delay(uint64_t *nanoseconds);

/// A number that no two threads have at a time.
uintptr_t port_thread_number(void);

/// To be called between two looks at memory that another processor changes.
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
