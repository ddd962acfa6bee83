// What two processes on this machine can do with bare system calls: the floor the benchmarks compare with.
// The other process is the same executable, launched with `--floor-serve`, so that both sides are real processes.

#ifndef CFLOOR_H
#define CFLOOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum { FloorSocket, FloorPipe } FloorTransport;

typedef struct {
    int input;
    int output;
    pid_t process;
} FloorPeer;

/// Nanoseconds of the monotonic clock.
uint64_t floorNow(void);

/// Launches `path --floor-serve` with the other ends as descriptors 3 and 4. Returns 0 or an errno.
int floorStart(const char *path, FloorTransport transport, FloorPeer *peer);
/// Closes the ends and waits for the process.
void floorStop(FloorPeer *peer);
/// The launched side: answers until the other end is closed.
void floorServe(void);

// Each measurement returns 0, or an errno when the other side failed or answered wrongly.

/// `count` round trips of one 32-byte message each way, one after another; `nested` ones go there, back, there and
/// back again, as a call does whose argument is called once. `nanoseconds` gets the time of each.
int floorPing(FloorPeer *peer, int nested, uint64_t *nanoseconds, size_t count);
/// `count` round trips with up to `window` of them in flight, one message a system call.
int floorInFlight(FloorPeer *peer, size_t window, size_t count, uint64_t *nanoseconds);
/// `count` messages that are not answered, one a system call, and one at the end that is.
int floorOneWay(FloorPeer *peer, size_t count, uint64_t *nanoseconds);
/// `count` times `length` bytes one way, each read into memory allocated for it, and an answer.
int floorBlob(FloorPeer *peer, size_t length, size_t count, uint64_t *nanoseconds);
/// `count` times: connects to a socket of the other side at `path`, which must not exist, makes one round trip there, and
/// closes. The other side accepts, answers, and closes.
int floorConnect(FloorPeer *peer, const char *path, size_t count, uint64_t *nanoseconds);

/// Lets every thread of this process, and what it launches from now on, run on one core only; below zero: anywhere it
/// could run at first. Returns 0, or an errno; where the system has no such call, ENOSYS.
int floorPlace(int core);
/// The number of the last core this process could run on at first.
int floorLastCore(void);
/// Bytes of memory of this process that are resident, or zero where that is not to be had.
uint64_t floorResidentBytes(void);
/// Gives memory that was freed back to the system, where that can be asked for.
void floorTrimMemory(void);
/// Runs `body(context)` on a plain thread of its own, which nobody joins. Returns 0 or an errno.
int floorRunThread(void (*body)(void *), void *context);
/// Writes this executable's path, ended by a zero byte. Returns 0 or an errno.
int floorExecutablePath(char *path, size_t capacity);
/// Allows as many open descriptors as the system lets an ordinary process have; returns that number.
uint64_t floorRaiseDescriptorLimit(void);

#endif
