#define _GNU_SOURCE
#include "include/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static int keep(int descriptor) { return fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

int terminal_open(char *path, size_t size) {
    int keyboard = posix_openpt(O_RDWR | O_NOCTTY);
    if (keyboard < 0) return -1;
    const char *name = grantpt(keyboard) || unlockpt(keyboard) || keep(keyboard) ? NULL : ptsname(keyboard);
    if (!name || strlen(name) >= size) {
        close(keyboard);
        return -1;
    }
    strcpy(path, name);
    return keyboard;
}

int terminal_spawn(const char *program, char *const arguments[], const char *terminal, int output, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // The leader of a session gets the first terminal that it opens.
    posix_spawn_file_actions_addopen(&actions, 0, terminal ? terminal : "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    int failure = posix_spawn(pid, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

int terminal_pipe(int ends[2]) {
    if (pipe(ends)) return -1;
    return keep(ends[0]) || keep(ends[1]) ? -1 : 0;
}
