#define _GNU_SOURCE
#include "include/port_processors.h"

#include <sched.h>

static _Thread_local char own;

uintptr_t port_thread_number(void) { return (uintptr_t)&own; }

void port_yield(void) { sched_yield(); }

#if __linux__
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "include/port_standard.h"

int port_processors_allowed(void) {
    // The kernel's own size, since the C library's mask may be too small for it.
    unsigned long mask[128];
    long size = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    if (size <= 0) return 0;
    int count = 0;
    for (unsigned i = 0; i < (size_t)size / sizeof *mask; i++) count += __builtin_popcountl(mask[i]);
    return count;
}

int port_processor(void) { return sched_getcpu(); }

// The text of a small file; false if it cannot be read.
static bool read_text(const char *path, char *text, size_t size) {
    int file = port_open_file(path);
    if (file < 0) return false;
    ssize_t count;
    do {
        count = read(file, text, size - 1);
    } while (count < 0 && errno == EINTR);
    close(file);
    if (count <= 0) return false;
    text[count] = 0;
    return true;
}

bool port_run_delay(uint64_t *nanoseconds) {
    char text[96];
    unsigned long long run, delay;
    if (!read_text("/proc/thread-self/schedstat", text, sizeof text)) return false;
    if (sscanf(text, "%llu %llu", &run, &delay) != 2) return false;
    *nanoseconds = delay;
    return true;
}

static int64_t hundredths(long long quota, long long period) {
    return quota > 0 && period > 0 && quota <= INT64_MAX / 100 ? quota * 100 / period : 0;
}

// The quota of one group; 0 if it has none. Second version: "max 100000" or "50000 100000".
static int64_t quota_of(const char *directory, bool first_version) {
    char path[PATH_MAX + 32], text[96];
    long long quota, period;
    if (!first_version) {
        snprintf(path, sizeof path, "%s/cpu.max", directory);
        if (!read_text(path, text, sizeof text) || sscanf(text, "%lld %lld", &quota, &period) != 2) return 0;
        return hundredths(quota, period);
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
    if (!read_text(path, text, sizeof text) || sscanf(text, "%lld", &quota) != 1) return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    if (!read_text(path, text, sizeof text) || sscanf(text, "%lld", &period) != 1) return 0;
    return hundredths(quota, period);
}

// The smallest quota of a group and of all that it lies in.
static int64_t smallest_quota(const char *mount, const char *group, bool first_version) {
    char directory[PATH_MAX];
    int64_t smallest = 0;
    if (snprintf(directory, sizeof directory, "%s%s", mount, group) >= (int)sizeof directory) return 0;
    while (true) {
        int64_t quota = quota_of(directory, first_version);
        if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
        char *last = strrchr(directory, '/');
        if (!last || (size_t)(last - directory) < strlen(mount)) return smallest;
        *last = 0;
    }
}

// Whether a list such as "cpu,cpuacct" has that word.
static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == 0)) return true;
    }
    return false;
}

int64_t port_processor_quota(void) {
    char groups[4096], *rest = groups, *line;
    if (!read_text("/proc/self/cgroup", groups, sizeof groups)) return 0;
    int64_t smallest = 0;
    while ((line = strsep(&rest, "\n"))) {
        // "0::/group" of the second version, "4:cpu,cpuacct:/group" of the first.
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        controllers++;
        int64_t quota = 0;
        if (!*controllers) {
            quota = smallest_quota("/sys/fs/cgroup", group, false);
            if (!quota) quota = smallest_quota("/sys/fs/cgroup/unified", group, false);
        } else if (has_word(controllers, "cpu")) {
            quota = smallest_quota("/sys/fs/cgroup/cpu", group, true);
            if (!quota) quota = smallest_quota("/sys/fs/cgroup/cpu,cpuacct", group, true);
        }
        if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
    }
    return smallest;
}
#else
#include <unistd.h>

// There are no masks and no groups here.
int port_processors_allowed(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

int port_processor(void) { return -1; }

int64_t port_processor_quota(void) { return 0; }

bool port_run_delay(uint64_t *nanoseconds) {
    *nanoseconds = 0;
    return false;
}
#endif
