#define _GNU_SOURCE
#include "include/port_poller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "include/port_standard.h"

static int milliseconds(int64_t nanoseconds) {
    if (nanoseconds < 0) return -1;
    int64_t rounded = nanoseconds / 1000000 + (nanoseconds % 1000000 != 0);
    return rounded > INT_MAX ? INT_MAX : (int)rounded;
}

#if __APPLE__
#include <sys/event.h>

#include "include/port_thread.h"

// Nanoseconds of a day.
#define LONGEST_WAIT (INT64_C(86400) * 1000000000)

int port_poller_open(port_poller *poller) {
    poller->wake = -1;
    poller->descriptor = PORT_OPENED(kqueue());
    if (poller->descriptor < 0) return -1;
    poller->forks = port_fork_count();
    fcntl(poller->descriptor, F_SETFD, FD_CLOEXEC);
    struct kevent change;
    EV_SET(&change, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, 0);
    if (kevent(poller->descriptor, &change, 1, NULL, 0, NULL) == 0) return 0;
    int error = errno;
    close(poller->descriptor);
    errno = error;
    return -1;
}

// A forked child does not inherit the kqueue: the number may be that of another file there.
void port_poller_close(port_poller *poller) {
    if (poller->forks == port_fork_count()) close(poller->descriptor);
}

// With EV_CLEAR: room is reported once, which is passed over, and the end.
static uint16_t write_flags(uint32_t interest) {
    if (interest & PORT_WRITABLE) return EV_ADD;
    return interest & PORT_HANG_UP ? EV_ADD | EV_CLEAR : 0;
}

int port_poller_change(const port_poller *poller, int descriptor, uint64_t token, uint32_t previous, uint32_t interest) {
    struct kevent changes[3];
    int count = 0;
    if ((previous ^ interest) & PORT_READABLE)
        EV_SET(&changes[count++], descriptor, EVFILT_READ, interest & PORT_READABLE ? EV_ADD : EV_DELETE, 0, 0,
               (void *)(uintptr_t)token);
    uint16_t before = write_flags(previous), after = write_flags(interest);
    // EV_ADD of a filter that is there leaves its EV_CLEAR as it was.
    if (before && before != after) EV_SET(&changes[count++], descriptor, EVFILT_WRITE, EV_DELETE, 0, 0, NULL);
    if (after && before != after)
        EV_SET(&changes[count++], descriptor, EVFILT_WRITE, after, 0, 0, (void *)(uintptr_t)token);
    return count ? kevent(poller->descriptor, changes, count, NULL, 0, NULL) : 0;
}

int port_poller_add(const port_poller *poller, int descriptor, uint64_t token, uint32_t interest) {
    return port_poller_change(poller, descriptor, token, 0, interest);
}

// Whatever is left is reported anyway: PORT_EDGE has no meaning here.
int port_poller_again(const port_poller *poller, int descriptor, uint64_t token, uint32_t interest) {
    (void)poller, (void)descriptor, (void)token, (void)interest;
    return 0;
}

int port_poller_remove(const port_poller *poller, int descriptor, uint32_t previous) {
    return port_poller_change(poller, descriptor, 0, previous, 0);
}

void port_poller_wake(const port_poller *poller) {
    struct kevent change;
    EV_SET(&change, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, 0);
    kevent(poller->descriptor, &change, 1, NULL, 0, NULL);
}

int port_poller_wait(const port_poller *poller, port_event *events, int capacity, int64_t nanoseconds) {
    struct kevent ready[64];
    // The kernel refuses more than INT32_MAX seconds.
    if (nanoseconds > LONGEST_WAIT) nanoseconds = LONGEST_WAIT;
    struct timespec time = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    if (capacity > 64) capacity = 64;
    int count = kevent(poller->descriptor, NULL, 0, ready, capacity, nanoseconds < 0 ? NULL : &time);
    if (count < 0) return errno == EINTR ? 0 : -1;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (ready[i].filter == EVFILT_USER) continue;
        bool writes = ready[i].filter == EVFILT_WRITE, gone = writes && ready[i].flags & EV_EOF;
        if (writes && ready[i].flags & EV_CLEAR && !gone) continue;
        events[kept].token = (uint64_t)(uintptr_t)ready[i].udata;
        events[kept++].ready = !writes ? PORT_READABLE : gone ? PORT_WRITABLE | PORT_HANG_UP : PORT_WRITABLE;
    }
    return kept;
}
#else
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#define WAKE_TOKEN UINT64_MAX

// Without interest: EPOLLET makes a hang-up, which epoll reports whether asked or not, come once and not again and
// again.
static uint32_t flags(uint32_t interest) {
    uint32_t events = 0;
    if (interest & PORT_READABLE) events |= EPOLLIN;
    if (interest & PORT_WRITABLE) events |= EPOLLOUT;
    if (!events) return (uint32_t)EPOLLET;
    return interest & PORT_EDGE ? events | EPOLLRDHUP | (uint32_t)EPOLLET : events;
}

static int control(const port_poller *poller, int operation, int descriptor, uint64_t token, uint32_t events) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(poller->descriptor, operation, descriptor, &event);
}

int port_poller_open(port_poller *poller) {
    poller->descriptor = PORT_OPENED(epoll_create1(EPOLL_CLOEXEC));
    if (poller->descriptor < 0) return -1;
    poller->wake = PORT_OPENED(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    // Edge-triggered and never read: each write is a new edge, which saves reading the counter after each wake.
    if (poller->wake < 0 || control(poller, EPOLL_CTL_ADD, poller->wake, WAKE_TOKEN, EPOLLIN | EPOLLET) < 0) {
        int error = errno;
        port_poller_close(poller);
        errno = error;
        return -1;
    }
    return 0;
}

void port_poller_close(port_poller *poller) {
    if (poller->wake >= 0) close(poller->wake);
    close(poller->descriptor);
}

int port_poller_add(const port_poller *poller, int descriptor, uint64_t token, uint32_t interest) {
    return control(poller, EPOLL_CTL_ADD, descriptor, token, flags(interest));
}

int port_poller_change(const port_poller *poller, int descriptor, uint64_t token, uint32_t previous, uint32_t interest) {
    if (previous == interest) return 0;
    return control(poller, EPOLL_CTL_MOD, descriptor, token, flags(interest));
}

int port_poller_again(const port_poller *poller, int descriptor, uint64_t token, uint32_t interest) {
    return control(poller, EPOLL_CTL_MOD, descriptor, token, flags(interest));
}

int port_poller_remove(const port_poller *poller, int descriptor, uint32_t previous) {
    (void)previous;
    return control(poller, EPOLL_CTL_DEL, descriptor, 0, 0);
}

void port_poller_wake(const port_poller *poller) {
    uint64_t one = 1;
    while (write(poller->wake, &one, sizeof one) < 0 && errno == EINTR) {}
}

int port_poller_wait(const port_poller *poller, port_event *events, int capacity, int64_t nanoseconds) {
    struct epoll_event ready[64];
    if (capacity > 64) capacity = 64;
    // Not through the C library, whose function is a cancellation point and pays for that in each wait.
    int count = (int)syscall(
        SYS_epoll_pwait, poller->descriptor, ready, capacity, milliseconds(nanoseconds), NULL, (size_t)0);
    if (count < 0) return errno == EINTR ? 0 : -1;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (ready[i].data.u64 == WAKE_TOKEN) continue;
        uint32_t bits = 0;
        if (ready[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) bits |= PORT_HANG_UP;
        if (ready[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) bits |= PORT_READABLE;
        if (ready[i].events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) bits |= PORT_WRITABLE;
        events[kept].token = ready[i].data.u64;
        events[kept++].ready = bits;
    }
    return kept;
}
#endif

int port_wait_one(int descriptor, uint32_t interest, int64_t nanoseconds) {
    struct pollfd polled = {descriptor, 0, 0};
    if (interest & PORT_READABLE) polled.events |= POLLIN;
    if (interest & PORT_WRITABLE) polled.events |= POLLOUT;
    int count = poll(&polled, 1, milliseconds(nanoseconds));
    if (count < 0) return errno == EINTR ? 0 : -1;
    int bits = 0;
    if (polled.revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) bits |= PORT_READABLE;
    if (polled.revents & (POLLOUT | POLLHUP | POLLERR | POLLNVAL)) bits |= PORT_WRITABLE;
    return bits;
}

bool port_is_hung_up(int descriptor) {
    // Apple's systems report nothing about a direction that is not asked about.
    struct pollfd polled = {descriptor, POLLOUT, 0};
    return poll(&polled, 1, 0) > 0 && polled.revents & (POLLHUP | POLLERR | POLLNVAL);
}
