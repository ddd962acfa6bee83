#ifndef TERMINAL_H
#define TERMINAL_H

#include <stddef.h>
#include <sys/types.h>

/// Opens a terminal without a screen. Returns the descriptor of its keyboard, or -1; `path` gets the name of the terminal.
int terminal_open(char *path, size_t size);

/// Starts a program in a session of its own, whose terminal is that at `terminal` (null: none), with `output` as its standard
/// output. Returns an errno, or 0 with `pid` set.
int terminal_spawn(const char *program, char *const arguments[], const char *terminal, int output, pid_t *pid);

/// Makes a pipe whose ends no program inherits. Returns 0, or -1.
int terminal_pipe(int ends[2]);

#endif
