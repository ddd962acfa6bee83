#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CFloor.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

void floorTrimMemory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

#ifdef __linux__
#include <sched.h>

static cpu_set_t placeAtFirst;
static int isPlaceKnown = 0;

static void rememberPlace(void) {
    if (isPlaceKnown) return;
    sched_getaffinity(0, sizeof placeAtFirst, &placeAtFirst);
    isPlaceKnown = 1;
}

/// Affinity belongs to a thread and is inherited by the threads it starts, so every running thread is set.
static int placeThreads(const cpu_set_t *cores) {
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) return errno;
    struct dirent *entry;
    while ((entry = readdir(threads)) != NULL) {
        pid_t thread = (pid_t)atoi(entry->d_name);
        if (thread > 0) sched_setaffinity(thread, sizeof *cores, cores);
    }
    closedir(threads);
    return 0;
}

int floorPlace(int core) {
    rememberPlace();
    cpu_set_t cores = placeAtFirst;
    if (core >= 0) {
        CPU_ZERO(&cores);
        CPU_SET(core, &cores);
    }
    // Twice: a thread that was not set yet may have started another one in the meantime.
    int error = placeThreads(&cores);
    return error != 0 ? error : placeThreads(&cores);
}

int floorPinThread(int core) {
    rememberPlace();
    cpu_set_t cores = placeAtFirst;
    if (core >= 0) {
        CPU_ZERO(&cores);
        CPU_SET(core, &cores);
    }
    return sched_setaffinity(0, sizeof cores, &cores) == 0 ? 0 : errno;
}

int floorFirstCore(void) {
    rememberPlace();
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &placeAtFirst)) return core;
    }
    return 0;
}

int floorLastCore(void) {
    rememberPlace();
    int last = 0;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &placeAtFirst)) last = core;
    }
    return last;
}

uint64_t floorResidentBytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    unsigned long long total = 0, resident = 0;
    int fields = fscanf(file, "%llu %llu", &total, &resident);
    fclose(file);
    return fields == 2 ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

int floorExecutablePath(char *path, size_t capacity) {
    ssize_t length = readlink("/proc/self/exe", path, capacity);
    if (length < 0) return errno;
    if ((size_t)length >= capacity) return ENAMETOOLONG;
    path[length] = 0;
    return 0;
}
#else
#include <mach-o/dyld.h>

int floorExecutablePath(char *path, size_t capacity) {
    uint32_t size = (uint32_t)capacity;
    return _NSGetExecutablePath(path, &size) == 0 ? 0 : ENAMETOOLONG;
}

int floorPlace(int core) { return core < 0 ? 0 : ENOSYS; }
int floorPinThread(int core) { return core < 0 ? 0 : ENOSYS; }
int floorFirstCore(void) { return 0; }
int floorLastCore(void) { return 0; }
uint64_t floorResidentBytes(void) { return 0; }
#endif

uint64_t floorRaiseDescriptorLimit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

typedef struct {
    void (*body)(void *);
    void *context;
} Start;

static void *runStart(void *argument) {
    Start start = *(Start *)argument;
    free(argument);
    start.body(start.context);
    return NULL;
}

int floorRunThread(void (*body)(void *), void *context) {
    Start *start = malloc(sizeof *start);
    if (start == NULL) return ENOMEM;
    *start = (Start){body, context};
    pthread_t thread;
    int error = pthread_create(&thread, NULL, runStart, start);
    if (error != 0) free(start);
    else pthread_detach(thread);
    return error;
}
