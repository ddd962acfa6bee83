#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CFloor.h"
#include "Words.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MessagePing = 1, MessageNested, MessageNote, MessageNoted, MessageBlob, MessageSum, MessageListen };

typedef struct {
    int64_t kind;
    int64_t sequence;
    int64_t argument;
    int64_t result;
} Message;

_Static_assert(sizeof(Message) == 32, "the smallest message that holds what a call needs");

uint64_t floorNow(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// MARK: Bytes

static int readAll(int descriptor, void *bytes, size_t length) {
    char *next = bytes;
    while (length > 0) {
        ssize_t count = read(descriptor, next, length);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        if (count == 0) return EPIPE;
        next += count;
        length -= (size_t)count;
    }
    return 0;
}

static int writeAll(int descriptor, const void *bytes, size_t length) {
    const char *next = bytes;
    while (length > 0) {
        ssize_t count = write(descriptor, next, length);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        next += count;
        length -= (size_t)count;
    }
    return 0;
}

// MARK: The launched side

/// The sum of the bytes, taken as words.
static int64_t sumOf(const void *bytes, size_t length) {
    const uint64_t *words = bytes;
    uint64_t sum = 0;
    for (size_t index = 0; index < length / sizeof *words; index++) sum += words[index];
    return (int64_t)sum;
}

/// Reads into the same memory each time: fresh pages cost more than the copy.
///
/// `sum`, unless it is null, receives the sum of the bytes.
static int serveBlob(size_t length, int64_t *sum) {
    static void *bytes = NULL;
    static size_t capacity = 0;
    if (length > capacity) {
        free(bytes);
        bytes = malloc(length);
        capacity = bytes == NULL ? 0 : length;
    }
    int error = bytes == NULL ? ENOMEM : readAll(3, bytes, length);
    if (error == 0 && sum != NULL) *sum = sumOf(bytes, length);
    return error;
}

/// Fills in an address; returns 0 or an errno.
static int addressAt(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return ENAMETOOLONG;
    strcpy(address->sun_path, path);
    return 0;
}

/// Listens at the path after the message, reports that, and serves the number of connections one after another.
static int serveConnections(Message *message) {
    char path[128] = {0};
    if (message->argument < 0 || message->argument >= (int64_t)sizeof path) return EINVAL;
    int error = readAll(3, path, (size_t)message->argument);
    if (error != 0) return error;
    struct sockaddr_un address;
    error = addressAt(path, &address);
    if (error != 0) return error;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener < 0) return errno;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 512) != 0) {
        error = errno;
        close(listener);
        return error;
    }
    message->result = message->argument;
    error = writeAll(4, message, sizeof *message);
    for (int64_t index = 0; index < message->sequence && error == 0; index++) {
        int connection = accept(listener, NULL, NULL);
        if (connection < 0) {
            error = errno;
            break;
        }
        Message call;
        error = readAll(connection, &call, sizeof call);
        call.result = call.argument + 1;
        if (error == 0) error = writeAll(connection, &call, sizeof call);
        // Waits until the other side has closed, as our library does.
        if (error == 0 && read(connection, &call, 1) != 0) error = EPROTO;
        close(connection);
    }
    close(listener);
    unlink(path);
    return error;
}

void floorServe(FloorTransport transport, int core) {
    if (core >= 0) floorPinThread(core);
    if (transport == FloorWords || transport == FloorPolledWords) {
        floorServeWords(transport == FloorPolledWords);
        return;
    }
    int64_t noted = 0;
    Message message;
    while (readAll(3, &message, sizeof message) == 0) {
        switch (message.kind) {
        case MessageNote:
            noted += 1;
            continue;
        case MessageNoted:
            message.result = noted;
            noted = 0;
            break;
        case MessageNested: {
            Message inner = message;
            if (writeAll(4, &inner, sizeof inner) != 0) return;
            if (readAll(3, &inner, sizeof inner) != 0) return;
            message.result = inner.result;
            break;
        }
        case MessageBlob:
            if (serveBlob((size_t)message.argument, NULL) != 0) return;
            message.result = message.argument;
            break;
        case MessageSum:
            if (serveBlob((size_t)message.argument, &message.result) != 0) return;
            break;
        case MessageListen:
            if (serveConnections(&message) != 0) return;
            break;
        default:
            message.result = message.argument + 1;
            break;
        }
        if (writeAll(4, &message, sizeof message) != 0) return;
    }
}

// MARK: Launching

static void closeOnExec(int descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

/// Moves a descriptor away from 3 and 4, which the child gets.
static int moved(int descriptor) {
    int high = fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
    close(descriptor);
    return high;
}

int floorStart(const char *path, FloorTransport transport, int core, FloorPeer *peer) {
    signal(SIGPIPE, SIG_IGN);
    int ours[2], theirs[2];
    peer->transport = transport;
    peer->shared = NULL;
    if (transport == FloorWords || transport == FloorPolledWords) {
        int memory = floorMakeWords(&peer->shared);
        if (memory < 0) return -memory;
        ours[0] = moved(memory);
        ours[1] = ours[0];
        theirs[0] = fcntl(ours[0], F_DUPFD_CLOEXEC, 10);
        theirs[1] = theirs[0];
    } else if (transport == FloorSocket) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
        ours[0] = moved(ends[0]);
        ours[1] = ours[0];
        theirs[0] = moved(ends[1]);
        theirs[1] = theirs[0];
    } else {
        int there[2], back[2];
        if (pipe(there) != 0) return errno;
        if (pipe(back) != 0) return errno;
#ifdef F_SETPIPE_SZ
        // The longest pipe that an ordinary process may have: blobs then need fewer switches between the two sides.
        fcntl(there[1], F_SETPIPE_SZ, 1 << 20);
        fcntl(back[1], F_SETPIPE_SZ, 1 << 20);
#endif
        ours[0] = moved(back[0]);
        ours[1] = moved(there[1]);
        theirs[0] = moved(there[0]);
        theirs[1] = moved(back[1]);
    }
    closeOnExec(ours[0]);
    closeOnExec(ours[1]);
    closeOnExec(theirs[0]);
    closeOnExec(theirs[1]);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs[0], 3);
    posix_spawn_file_actions_adddup2(&actions, theirs[1], 4);
    char kind[12], place[12];
    snprintf(kind, sizeof kind, "%d", (int)transport);
    snprintf(place, sizeof place, "%d", core);
    char *arguments[] = {(char *)path, (char *)"--floor-serve", kind, place, NULL};
    int error = posix_spawn(&peer->process, path, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(theirs[0]);
    if (theirs[1] != theirs[0]) close(theirs[1]);
    peer->input = ours[0];
    peer->output = ours[1];
    if (error != 0) {
        close(ours[0]);
        if (ours[1] != ours[0]) close(ours[1]);
    }
    return error;
}

void floorStop(FloorPeer *peer) {
    if (peer->shared != NULL) floorEndWords(peer->shared);
    close(peer->input);
    if (peer->output != peer->input) close(peer->output);
    while (waitpid(peer->process, NULL, 0) < 0 && errno == EINTR) {
    }
}

// MARK: Measuring

int floorPing(FloorPeer *peer, int nested, uint64_t *nanoseconds, size_t count) {
    for (size_t index = 0; index < count; index++) {
        uint64_t start = floorNow();
        Message message = {nested ? MessageNested : MessagePing, (int64_t)index, (int64_t)index, 0};
        int error = writeAll(peer->output, &message, sizeof message);
        if (error == 0 && nested) {
            error = readAll(peer->input, &message, sizeof message);
            message.result = message.argument + 1;
            if (error == 0) error = writeAll(peer->output, &message, sizeof message);
        }
        if (error == 0) error = readAll(peer->input, &message, sizeof message);
        if (error != 0) return error;
        if (message.result != (int64_t)index + 1) return EPROTO;
        nanoseconds[index] = floorNow() - start;
    }
    return 0;
}

int floorInFlight(FloorPeer *peer, size_t window, size_t count, uint64_t *nanoseconds) {
    size_t sent = 0, received = 0;
    uint64_t start = floorNow();
    while (received < count) {
        while (sent < count && sent - received < window) {
            Message message = {MessagePing, (int64_t)sent, (int64_t)sent, 0};
            int error = writeAll(peer->output, &message, sizeof message);
            if (error != 0) return error;
            sent += 1;
        }
        Message message;
        int error = readAll(peer->input, &message, sizeof message);
        if (error != 0) return error;
        if (message.result != (int64_t)received + 1) return EPROTO;
        received += 1;
    }
    *nanoseconds = floorNow() - start;
    return 0;
}

int floorOneWay(FloorPeer *peer, size_t count, uint64_t *nanoseconds) {
    uint64_t start = floorNow();
    for (size_t index = 0; index < count; index++) {
        Message message = {MessageNote, (int64_t)index, (int64_t)index, 0};
        int error = writeAll(peer->output, &message, sizeof message);
        if (error != 0) return error;
    }
    Message message = {MessageNoted, 0, 0, 0};
    int error = writeAll(peer->output, &message, sizeof message);
    if (error == 0) error = readAll(peer->input, &message, sizeof message);
    if (error == 0 && message.result != (int64_t)count) error = EPROTO;
    *nanoseconds = floorNow() - start;
    return error;
}

int floorBlob(FloorPeer *peer, size_t length, size_t count, int touches, uint64_t *nanoseconds) {
    char *bytes = malloc(length);
    if (bytes == NULL) return ENOMEM;
    memset(bytes, 7, length);
    uint64_t start = floorNow();
    int error = 0;
    for (size_t index = 0; index < count && error == 0; index++) {
        Message message = {touches ? MessageSum : MessageBlob, (int64_t)index, (int64_t)length, 0};
        if (touches) memset(bytes, (int)(index & 1) + 1, length);
        int64_t expected = touches ? sumOf(bytes, 8) * (int64_t)(length / 8) : (int64_t)length;
        struct iovec parts[2] = {{&message, sizeof message}, {bytes, length}};
        ssize_t written;
        do {
            written = writev(peer->output, parts, 2);
        } while (written < 0 && errno == EINTR);
        if (written < (ssize_t)sizeof message) {
            error = written < 0 ? errno : EPROTO;
            break;
        }
        size_t done = (size_t)written - sizeof message;
        error = writeAll(peer->output, bytes + done, length - done);
        if (error == 0) error = readAll(peer->input, &message, sizeof message);
        if (error == 0 && message.result != expected) error = EPROTO;
    }
    *nanoseconds = floorNow() - start;
    free(bytes);
    return error;
}

static int connectOnce(const struct sockaddr_un *address, int64_t number) {
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection < 0) return errno;
    int error = connect(connection, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    Message message = {MessagePing, number, number, 0};
    if (error == 0) error = writeAll(connection, &message, sizeof message);
    if (error == 0) error = readAll(connection, &message, sizeof message);
    if (error == 0 && message.result != number + 1) error = EPROTO;
    close(connection);
    return error;
}

int floorConnect(FloorPeer *peer, const char *path, size_t count, uint64_t *nanoseconds) {
    struct sockaddr_un address;
    int error = addressAt(path, &address);
    if (error != 0) return error;
    Message message = {MessageListen, (int64_t)count, (int64_t)strlen(path), 0};
    error = writeAll(peer->output, &message, sizeof message);
    if (error == 0) error = writeAll(peer->output, path, strlen(path));
    if (error == 0) error = readAll(peer->input, &message, sizeof message);
    if (error != 0) return error;
    uint64_t start = floorNow();
    for (size_t index = 0; index < count && error == 0; index++) error = connectOnce(&address, (int64_t)index);
    *nanoseconds = floorNow() - start;
    // One more message arrives when the last connection is served.
    if (error == 0) error = readAll(peer->input, &message, sizeof message);
    return error;
}
