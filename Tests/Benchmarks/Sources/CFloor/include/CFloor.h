// What two processes on this machine can do with bare system calls: the floor the benchmarks compare with.
// The other process is the same executable, launched with `--floor-serve`, so that both sides are real processes.

#ifndef CFLOOR_H
#define CFLOOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// `FloorWords` are two words in shared memory that the sides sleep on; `FloorPolledWords` the same, polled.
typedef enum { FloorSocket, FloorPipe, FloorWords, FloorPolledWords } FloorTransport;

typedef struct {
    int input;
    int output;
    pid_t process;
    FloorTransport transport;
    /// The shared memory, for the words only.
    void *shared;
} FloorPeer;

/// Nanoseconds of the monotonic clock.
uint64_t floorNow(void);

/// Launches `path --floor-serve TRANSPORT CORE` with the other ends as descriptors 3 and 4. The process keeps to `core`
/// unless that is negative. Returns 0 or an errno; ENOSYS if the system has no such transport.
int floorStart(const char *path, FloorTransport transport, int core, FloorPeer *peer);
/// Closes the ends and waits for the process.
void floorStop(FloorPeer *peer);
/// Runs the launched side: answers until the other end is closed.
void floorServe(FloorTransport transport, int core);
/// Keeps the calling thread on one core; a negative core restores the original set. Returns 0 or an errno.
int floorPinThread(int core);
/// Round trips of one 32-byte message each way through shared memory, as `floorPing` makes them; for words only.
int floorPingWords(FloorPeer *peer, uint64_t *nanoseconds, size_t count);

// Each measurement returns 0, or an errno when the other side failed or answered wrongly.

/// `count` round trips of one 32-byte message each way, one after another; `nested` ones go there, back, there and back
/// again, like a call whose argument is called once. `nanoseconds` receives the time of each.
int floorPing(FloorPeer *peer, int nested, uint64_t *nanoseconds, size_t count);
/// `count` round trips with up to `window` of them in flight, one message a system call.
int floorInFlight(FloorPeer *peer, size_t window, size_t count, uint64_t *nanoseconds);
/// `count` messages without answers, one for each system call, and a last one with an answer.
int floorOneWay(FloorPeer *peer, size_t count, uint64_t *nanoseconds);
/// `count` times `length` bytes one way, each read into the same memory and answered; if it `touches` them, the bytes are
/// filled in before, and the other side answers with their sum.
int floorBlob(FloorPeer *peer, size_t length, size_t count, int touches, uint64_t *nanoseconds);
/// `count` times: connects to a socket of the other side at `path`, which must not exist yet, makes one round trip
/// there, and closes. The other side accepts, answers, and closes.
int floorConnect(FloorPeer *peer, const char *path, size_t count, uint64_t *nanoseconds);

/// What a job of `floorJobs` computes.
typedef struct {
    /// FNV-1a.
    uint64_t hash;
    uint64_t zeros;
} FloorAnswer;

FloorAnswer floorAnswer(const uint8_t *bytes, size_t length);
/// `count` jobs of `length` bytes for three forked processes, four under way at each: the contents in turns. Each answer is compared
/// with that expected for its content. The time does not include the start of the processes.
int floorJobs(
    const uint8_t *const *contents, const FloorAnswer *expected, size_t kinds, size_t length, size_t count,
    uint64_t *nanoseconds);

/// Restricts all threads of this process, and the processes it launches later, to one core; a negative core restores
/// the original set. Returns 0, or an errno; ENOSYS if the system has no such call.
int floorPlace(int core);
/// The numbers of the first and the last core in the original set of this process.
int floorFirstCore(void);
int floorLastCore(void);
/// The resident memory of this process in bytes, or zero if it is unknown.
uint64_t floorResidentBytes(void);
/// Returns freed memory to the system, if the system supports that.
void floorTrimMemory(void);
/// Runs `body(context)` on a detached thread. Returns 0 or an errno.
int floorRunThread(void (*body)(void *), void *context);
/// Writes this executable's path, ended by a zero byte. Returns 0 or an errno.
int floorExecutablePath(char *path, size_t capacity);
/// Raises the limit of open descriptors as far as the system allows an ordinary process; returns that limit.
uint64_t floorRaiseDescriptorLimit(void);

#endif
