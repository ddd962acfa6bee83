#ifndef PORT_POLLER_H
#define PORT_POLLER_H

#include <stdbool.h>
#include <stdint.h>

/// The interest in a descriptor, and the events reported for it. A registration without interest reports nothing,
/// except that epoll reports once that the other side is gone; ask for PORT_HANG_UP to rely on that. With PORT_EDGE an
/// interest is reported once for each arrival, and not while something is left, where the system supports that; it
/// saves the system a check of the descriptor in each wait. PORT_HANG_UP is reported with any interest if the other
/// side is gone; as an interest, it is also reported alone. The poller does not report PORT_DOORBELL and PORT_POLLED:
/// the loop adds them.
enum { PORT_READABLE = 1, PORT_WRITABLE = 2, PORT_EDGE = 4, PORT_HANG_UP = 8, PORT_DOORBELL = 16, PORT_POLLED = 32 };

typedef struct port_event {
    uint64_t token;
    uint32_t ready;
} port_event;

/// One poller of the kernel: epoll here, kqueue on Apple's systems. Level-triggered but for PORT_EDGE.
typedef struct port_poller {
    int descriptor;
    int wake;
#if __APPLE__
    uint32_t forks;
#endif
} port_poller;

int port_poller_open(port_poller *poller);
void port_poller_close(port_poller *poller);

/// Registers `descriptor`, whose events will carry `token`.
int port_poller_add(const port_poller *poller, int descriptor, uint64_t token, uint32_t interest);
/// Changes the interest from `previous` to `interest`; events that have happened already are reported at once.
int port_poller_change(const port_poller *poller, int descriptor, uint64_t token, uint32_t previous, uint32_t interest);
/// Has an interest with PORT_EDGE report once more, if something is left.
int port_poller_again(const port_poller *poller, int descriptor, uint64_t token, uint32_t interest);
int port_poller_remove(const port_poller *poller, int descriptor, uint32_t previous);

/// Ends the current wait of another thread, or else its next one, without an event.
void port_poller_wake(const port_poller *poller);

/// Waits for events: at most `nanoseconds` (rounded up to the kernel's grain), without limit if negative. Returns their
/// number; 0 also after a wake or a signal.
int port_poller_wait(const port_poller *poller, port_event *events, int capacity, int64_t nanoseconds);

/// Waits until one descriptor is ready. Returns the PORT_ bits, 0 after the time.
int port_wait_one(int descriptor, uint32_t interest, int64_t nanoseconds);

/// True if nothing can read any longer what is written to the descriptor.
bool port_is_hung_up(int descriptor);

#endif
