#define _GNU_SOURCE
#include "include/port_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if __APPLE__
#include <crt_externs.h>
#include <mach-o/dyld.h>
#else
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "include/port_io.h"
#include "include/port_standard.h"

void port_release_free_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static char program[4096];

#if __APPLE__
static void find_program(void) {
    char path[4096];
    uint32_t size = sizeof path;
    char *real = _NSGetExecutablePath(path, &size) == 0 ? realpath(path, NULL) : NULL;
    if (real && strlen(real) < sizeof program) strcpy(program, real);
    free(real);
}
#else
static bool is_program(const char *path) {
    struct stat own, other;
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 && own.st_dev == other.st_dev &&
        own.st_ino == other.st_ino;
}

static void find_program(void) {
    static const char mark[] = " (deleted)";
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0 || program[0] != '/') {
        // Without /proc: the path by which it was started.
        const char *started = (const char *)getauxval(AT_EXECFN);
        char *real = started ? realpath(started, NULL) : NULL;
        program[0] = 0;
        if (real && strlen(real) < sizeof program) strcpy(program, real);
        free(real);
        return;
    }
    program[length] = 0;
    // The kernel marks the name of a file that was removed; a file may also be called that.
    size_t marked = sizeof mark - 1;
    if ((size_t)length > marked && strcmp(program + length - marked, mark) == 0 && !is_program(program))
        program[length - marked] = 0;
}
#endif

// When the program is loaded, because its file may be replaced while it runs.
__attribute__((constructor)) static void remember_program(void) {
    int error = errno;
    find_program();
    errno = error;
}

const char *port_program(void) { return program[0] ? program : NULL; }

int port_spawn(const port_program_start *start, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int result = posix_spawn_file_actions_init(&actions);
    if (result) return result;
    result = posix_spawnattr_init(&attributes);
    if (result) {
        posix_spawn_file_actions_destroy(&actions);
        return result;
    }
    for (int index = 0; !result && index < start->count; index++)
        result = posix_spawn_file_actions_adddup2(&actions, start->descriptors[index], index);
    if (!result && start->directory) result = posix_spawn_file_actions_addchdir_np(&actions, start->directory);
    // Other code of this process may have opened descriptors without close-on-exec.
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
    if (!result) result = posix_spawn_file_actions_addclosefrom_np(&actions, start->count);
#endif
#endif

    // The loop's threads block signals; a program expects to start with none blocked and with SIGPIPE as it ever was.
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    switch (start->group) {
    case PORT_GROUP_SHARED: break;
    case PORT_GROUP_OWN:
        flags |= POSIX_SPAWN_SETPGROUP;
        // Group 0 is a new one.
        if (!result) result = posix_spawnattr_setpgroup(&attributes, 0);
        break;
    case PORT_SESSION_OWN: flags |= POSIX_SPAWN_SETSID; break;
    }
#if __APPLE__
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    if (!result) result = posix_spawnattr_setsigmask(&attributes, &none);
    if (!result) result = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (!result) result = posix_spawnattr_setflags(&attributes, flags);
    if (!result)
        result = posix_spawn(
            pid, start->arguments[0], &actions, &attributes, start->arguments, start->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

char **port_environment(void) {
#if __APPLE__
    return *_NSGetEnviron();
#else
    return environ;
#endif
}

int port_process_descriptor(pid_t pid) {
#if defined(SYS_pidfd_open)
    return PORT_OPENED((int)syscall(SYS_pidfd_open, pid, 0));
#else
    (void)pid;
    errno = ENOSYS;
    return -1;
#endif
}

void port_process_await(pid_t pid) {
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
}

int port_process_look(pid_t pid, int32_t *status) {
    siginfo_t info;
    info.si_pid = 0;
    int result;
    do {
        result = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG);
    } while (result < 0 && errno == EINTR);
    if (result < 0 || info.si_pid == 0) return result;
    *status = info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
    return 1;
}

int port_process_reap(pid_t pid, int32_t *status) {
    int raw;
    pid_t reaped;
    do {
        reaped = waitpid(pid, &raw, WNOHANG);
    } while (reaped < 0 && errno == EINTR);
    if (reaped <= 0) return (int)reaped;
    *status = WIFSIGNALED(raw) ? -WTERMSIG(raw) : WEXITSTATUS(raw);
    return 1;
}

int port_process_stop(pid_t pid) {
    siginfo_t info;
    info.si_pid = 0;
    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT | WNOHANG) < 0 || info.si_pid == 0) return 0;
    return info.si_status;
}

void port_process_end_with_writer(pid_t pid, int reading) {
#if defined(F_SETSIG)
    // Both are of the open pipe, which the child has, too, and last as long as that.
    if (fcntl(reading, F_SETOWN, pid) < 0 || fcntl(reading, F_SETSIG, SIGTERM) < 0) return;
    int flags = fcntl(reading, F_GETFL);
    if (flags >= 0) fcntl(reading, F_SETFL, flags | O_ASYNC);
#else
    (void)pid;
    (void)reading;
#endif
}

void port_group_kill(pid_t group) { kill(-group, SIGKILL); }

static void pause_for(long milliseconds) {
    struct timespec rest = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    while (nanosleep(&rest, &rest) < 0 && errno == EINTR) {}
}

static pid_t leash;
static atomic_bool is_cut;

void port_process_cut(void) { atomic_store(&is_cut, true); }

static void await_end(pid_t pid, int limit) {
    int descriptor = port_process_descriptor(pid);
    if (descriptor < 0) return;
    struct pollfd event = {.fd = descriptor, .events = POLLIN};
    while (poll(&event, 1, limit) < 0 && errno == EINTR) {}
    port_close(descriptor);
}

// What the process has started must not stay when it exits by itself after its launcher, which would have ended its group.
static void end_group_at_exit(void) {
    if (getpgrp() != getpid()) return;
    // The system closes the connections of a process that ends a moment before it is gone.
    if (atomic_load(&is_cut) && getppid() == leash) await_end(leash, 500);
    if (getppid() == leash) return;
    fflush(NULL);
    kill(0, SIGKILL);
}

void port_process_end_with(pid_t launcher, int grace) {
    leash = launcher;
    atexit(end_group_at_exit);
    if (getppid() == launcher) await_end(launcher, -1);
    while (getppid() == launcher) pause_for(100);
    pause_for(grace);
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    kill(getpid(), SIGKILL);
}

int port_process_signal(pid_t pid, int descriptor, int signal) {
#if defined(SYS_pidfd_send_signal)
    if (descriptor >= 0) return (int)syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 0);
#endif
    (void)descriptor;
    return kill(pid, signal);
}
