#ifndef PORT_PROCESS_H
#define PORT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum port_group { PORT_GROUP_SHARED, PORT_GROUP_OWN, PORT_SESSION_OWN };

/// A program to be started.
typedef struct port_program_start {
    /// Its path and its arguments, ended by null. A relative path would count from `directory`.
    char *const *arguments;
    /// `NAME=VALUE` each, ended by null.
    char *const *environment;
    /// Where it starts; null: where this process is.
    const char *directory;
    /// What becomes its descriptors 0, 1, 2 and so on. All must be close-on-exec, and numbered above those.
    const int *descriptors;
    int count;
    /// Whether it has the process group of this process, one of its own, or a session of its own.
    enum port_group group;
} port_program_start;

/// Starts a program. Returns an errno, or 0 with `pid` set.
int port_spawn(const port_program_start *start, pid_t *pid);

/// The path of the file this process runs, as it was when the program was loaded; null if it is not known. A later
/// installation may have replaced or removed the file.
const char *port_program(void);

/// The process's environment, `NAME=VALUE` each, ended by null.
char **port_environment(void);

/// A descriptor that becomes readable when the process ends, or -1 where the system has none.
int port_process_descriptor(pid_t pid);

/// Waits until a process has ended, without reaping it: until it is reaped, no other process has its number.
void port_process_await(pid_t pid);

/// Looks at a process without reaping it; returns as `port_process_reap`.
int port_process_look(pid_t pid, int32_t *status);

/// Reaps a process. Returns 1 with `status` set to its exit code, or to minus the signal that ended it; 0 if it still
/// runs; -1 if it is not ours to reap.
int port_process_reap(pid_t pid, int32_t *status);

/// The signal that has stopped a child which is stopped now; 0 if it is not, or is no child.
int port_process_stop(pid_t pid);

/// Kills all processes of a group. Its leader must be a child that is not reaped yet, so that no other group has its number.
void port_group_kill(pid_t group);

/// Has the kernel end the child `pid` when the last writing end of the pipe that `reading` reads is closed. Nothing may be written to
/// it. Has no effect where the system has no such signal.
void port_process_end_with_writer(pid_t pid, int reading);

/// Blocks until the calling process's parent is no longer `launcher`, and `grace` milliseconds more; then kills the process, and its
/// group if it leads one. If the process exits meanwhile, the rest of its group is killed.
void port_process_end_with(pid_t launcher, int grace);

/// Notes that the connection to the launcher was cut, as by its end.
void port_process_cut(void);

/// Sends a signal through `descriptor` (from `port_process_descriptor`), which cannot hit a later process of the same
/// number; by number if it is -1.
int port_process_signal(pid_t pid, int descriptor, int signal);

/// Asks the allocator to give memory that is free back to the system, where it does not do so by itself.
void port_release_free_memory(void);

#endif
