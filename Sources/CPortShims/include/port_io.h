#ifndef PORT_IO_H
#define PORT_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/// The most descriptors Linux carries with one message (SCM_MAX_FD).
enum { PORT_MAXIMUM_DESCRIPTORS = 253 };

typedef struct port_credentials {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
} port_credentials;

/// What `port_ancillary.process` is if the kernel names senders only by their numbers.
enum { PORT_NO_PROCESS = INT32_MIN };

/// The descriptors and credentials that came with one receive.
typedef struct port_ancillary {
    int descriptors[PORT_MAXIMUM_DESCRIPTORS];
    int count;
    bool truncated;
    bool has_credentials;
    port_credentials credentials;
    /// A descriptor of the process that sent the bytes, owned by the caller; minus an errno if there is none left, or if the
    /// process has been reaped; or PORT_NO_PROCESS.
    int process;
} port_ancillary;

/// Receives without waiting. `ancillary` gets the descriptors, close-on-exec and owned by the caller, and the sender's
/// credentials and process. If it is null they are thrown away, and the kernel closes the descriptors in this thread, however long
/// that takes.
ssize_t port_receive(int socket, const struct iovec *vectors, int count, port_ancillary *ancillary);
/// Closes the descriptors of a receive, which a peer chose.
void port_close_ancillary(port_ancillary *ancillary);

/// Sends without waiting and without SIGPIPE. The descriptors leave with the first byte.
ssize_t port_send(
    int socket, const struct iovec *vectors, int count, const int *descriptors, int descriptor_count,
    bool with_credentials);

ssize_t port_read(int descriptor, const struct iovec *vectors, int count);

/// Has a write to a pipe whose reader is gone cause no signal, on systems where that is a setting of the open
/// description: on Apple's systems, and then for everybody who shares it.
int port_silence_pipe(int descriptor);

/// Writes to a pipe; SIGPIPE neither arrives nor stays pending. `blocked`: the thread has it blocked anyway.
ssize_t port_write(int descriptor, const struct iovec *vectors, int count, bool blocked);

/// A close-on-exec pair of stream sockets, or of the ends of one pipe (reading, writing).
int port_socketpair(int ends[2]);
int port_pipe(int ends[2]);

/// A close-on-exec Unix domain stream socket.
int port_stream_socket(void);
/// Accepts a connection, or fails with EMFILE while only the last descriptors are left (`port_unless_last`).
int port_accept(int listener);

/// Accepts a connection even while only the last descriptors are left; the caller gives one back soon.
int port_accept_last(int listener);
/// Has the kernel refuse all who connect from now on; those that wait already can be accepted.
void port_refuse_further(int listener);

/// How many descriptors the process may have without those that `port_unless_last` keeps.
int port_peer_descriptors(void);
int port_listen(int socket, int backlog);
/// True if the descriptor is a Unix domain stream socket that listens.
bool port_is_listener(int descriptor);
/// The path a socket is bound to, cut to `size` bytes with the terminating zero; empty if it has none.
void port_bound_path(int socket, char *path, size_t size);

/// True if neither end of the socket has a name: it comes from socketpair().
bool port_is_unnamed(int socket);
/// The credentials of the peer when a connected socket was made.
int port_peer_credentials(int socket, port_credentials *credentials);
/// Whether receives bring the sender's credentials, and its process. Does nothing where the system cannot.
int port_pass_credentials(int socket, bool on);

enum { PORT_KIND_OTHER = 0, PORT_KIND_SOCKET = 1, PORT_KIND_PIPE = 2 };
/// What a descriptor is; -1 if it is not open.
int port_kind(int descriptor);
/// Whether it is open and not close-on-exec, as one that this process was started with.
bool port_is_inherited(int descriptor);
/// True if both descriptors are the same file.
bool port_same_file(int first, int second);

/// Passes on a descriptor that has just been opened because of a peer; if it is one of the last that the process may have,
/// closes it and fails with EMFILE.
///
/// The last ones belong to the program, and to Dispatch, which ends the process if it cannot open a file of /proc.
int port_unless_last(int opened);
/// A close-on-exec copy, numbered 10 or above so that it never takes the place of a standard stream.
int port_duplicate(int descriptor);
/// The same, numbered `least` or above.
int port_duplicate_above(int descriptor, int least);
/// A second, non-blocking opening of the same pipe end, so that the flag is not shared with other processes; -1 if the
/// system has none.
int port_reopen(int descriptor, bool writing);
int port_set_nonblocking(int descriptor);
int port_set_close_on_exec(int descriptor);
/// Makes sends on a channel's socket non-blocking on systems that ignore the call's flag for that: MSG_DONTWAIT on
/// Apple's systems.
int port_prepare_channel(int socket);
/// Lets descriptor 0 read /dev/null, and descriptor 1 write where descriptor 2 writes.
int port_detach_standard_streams(void);

/// The kernel's bound on bytes sent and not yet received; `port_send_buffer` returns it as the kernel counts.
int port_set_send_buffer(int socket, int bytes);
int port_send_buffer(int socket);

int port_shutdown(int socket, bool reading, bool writing);
void port_close(int descriptor);

/// The system's text for an `errno`, cut to `size` bytes with the terminating zero.
void port_error_text(int number, char *text, size_t size);

#endif
