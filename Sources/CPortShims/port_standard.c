#define _GNU_SOURCE
#include "include/port_standard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "include/port_io.h"

enum { STREAMS = 3 };

static int fail_closing(int descriptor) {
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

void port_reserve_standard(void) {
    int error = errno;
    for (int stream = 0; stream < STREAMS; stream++) {
        if (fcntl(stream, F_GETFD) >= 0) continue;
        int opened = open("/dev/null", (stream == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        // Another thread has taken the number meanwhile.
        if (opened >= 0 && opened != stream) close(opened);
    }
    errno = error;
}

int port_above_standard(int opened) {
    if (opened < 0 || opened >= STREAMS) return opened;
    int copy = fcntl(opened, F_DUPFD_CLOEXEC, STREAMS);
    if (copy < 0) return fail_closing(opened);
    close(opened);
    port_reserve_standard();
    return copy;
}

int port_pair_above_standard(int ends[2]) {
    ends[0] = port_above_standard(ends[0]);
    if (ends[0] < 0) return fail_closing(ends[1]);
    ends[1] = port_above_standard(ends[1]);
    return ends[1] < 0 ? fail_closing(ends[0]) : 0;
}

int port_open_null(void) {
    int null = PORT_OPENED(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (null < 0 || null >= 10) return null;
    int copy = port_duplicate(null);
    if (copy < 0) return fail_closing(null);
    close(null);
    return copy;
}

int port_take_over(int descriptor) {
    if (descriptor < 0 || descriptor >= STREAMS) return descriptor;
    int copy = port_duplicate(descriptor);
    if (copy < 0) return -1;
    int null = port_open_null();
    if (null < 0) return fail_closing(copy);
    int replaced = dup2(null, descriptor);
    int error = errno;
    close(null);
    errno = error;
    return replaced < 0 ? fail_closing(copy) : copy;
}

int port_open_file(const char *path) { return PORT_OPENED(open(path, O_RDONLY | O_CLOEXEC)); }

int port_open_to_append(const char *path) {
    return PORT_OPENED(open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0600));
}
