#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CFloor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { Workers = 3, InFlight = 4 };

typedef struct {
    pid_t process;
    int input;
    int output;
    /// The numbers of the jobs under way, the first `count` of them, in their order.
    size_t jobs[InFlight];
    size_t count;
} Worker;

FloorAnswer floorAnswer(const uint8_t *bytes, size_t length) {
    FloorAnswer answer = {14695981039346656037u, 0};
    for (size_t index = 0; index < length; index++) {
        answer.hash = (answer.hash ^ bytes[index]) * 1099511628211u;
        answer.zeros += bytes[index] == 0;
    }
    return answer;
}

/// Returns 1 at the end, 0 if all was read, and -1 for an error.
static int readWhole(int descriptor, void *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t count = read(descriptor, (char *)bytes + done, length - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count == 0 && done == 0 ? 1 : -1;
        done += (size_t)count;
    }
    return 0;
}

static int writeWhole(int descriptor, const void *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t count = write(descriptor, (const char *)bytes + done, length - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        done += (size_t)count;
    }
    return 0;
}

/// The forked process: reads jobs and writes answers until its input ends.
static void work(int input, int output, uint8_t *memory, size_t length) {
    while (readWhole(input, memory, length) == 0) {
        FloorAnswer answer = floorAnswer(memory, length);
        if (writeWhole(output, &answer, sizeof answer) != 0) _exit(1);
    }
    _exit(0);
}

static int begin(Worker *worker, uint8_t *memory, size_t length) {
    int jobs[2], answers[2];
    if (pipe2(jobs, O_CLOEXEC) != 0) return errno;
    if (pipe2(answers, O_CLOEXEC) != 0) return errno;
    // All jobs under way fit, so that a write never waits for one worker while others have nothing to do.
    fcntl(jobs[1], F_SETPIPE_SZ, (int)(InFlight * (length + 8192)));
    pid_t process = fork();
    if (process < 0) return errno;
    if (process == 0) {
        // The ends of the workers before it, too: they would never see the end of their input.
        for (int descriptor = 3; descriptor < 1024; descriptor++) {
            if (descriptor != jobs[0] && descriptor != answers[1]) close(descriptor);
        }
        work(jobs[0], answers[1], memory, length);
    }
    close(jobs[0]);
    close(answers[1]);
    *worker = (Worker){process, answers[0], jobs[1], {0}, 0};
    return 0;
}

static int take(Worker *worker, const FloorAnswer *expected, size_t kinds, size_t *answered) {
    FloorAnswer answers[InFlight];
    ssize_t count = read(worker->input, answers, worker->count * sizeof *answers);
    if (count < 0 && errno == EINTR) return 0;
    if (count <= 0 || (size_t)count % sizeof *answers != 0) return EPIPE;
    size_t taken = (size_t)count / sizeof *answers;
    for (size_t index = 0; index < taken; index++) {
        if (memcmp(&answers[index], &expected[worker->jobs[index] % kinds], sizeof *answers) != 0) return EBADMSG;
    }
    worker->count -= taken;
    memmove(worker->jobs, worker->jobs + taken, worker->count * sizeof *worker->jobs);
    *answered += taken;
    return 0;
}

int floorJobs(
    const uint8_t *const *contents, const FloorAnswer *expected, size_t kinds, size_t length, size_t count,
    uint64_t *nanoseconds
) {
    Worker workers[Workers] = {0};
    size_t started = 0, sent = 0, answered = 0;
    // Before the fork: a child of a process with threads must not allocate.
    uint8_t *memory = malloc(length);
    int error = memory == NULL ? ENOMEM : 0;
    if (memory != NULL) memset(memory, 0, length);
    while (error == 0 && started < Workers) {
        error = begin(&workers[started], memory, length);
        if (error == 0) started++;
    }
    uint64_t start = floorNow();
    while (error == 0 && answered < count) {
        struct pollfd events[Workers];
        for (int index = 0; index < Workers && error == 0; index++) {
            Worker *worker = &workers[index];
            while (error == 0 && worker->count < InFlight && sent < count) {
                worker->jobs[worker->count++] = sent;
                error = writeWhole(worker->output, contents[sent++ % kinds], length);
            }
            events[index] = (struct pollfd){worker->count > 0 ? worker->input : -1, POLLIN, 0};
        }
        if (error != 0) break;
        if (poll(events, Workers, -1) < 0) {
            error = errno == EINTR ? 0 : errno;
            continue;
        }
        for (int index = 0; index < Workers && error == 0; index++) {
            if (events[index].revents) error = take(&workers[index], expected, kinds, &answered);
        }
    }
    *nanoseconds = floorNow() - start;
    for (size_t index = 0; index < started; index++) {
        close(workers[index].output);
        close(workers[index].input);
        waitpid(workers[index].process, NULL, 0);
    }
    free(memory);
    return error;
}
