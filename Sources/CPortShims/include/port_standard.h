#ifndef PORT_STANDARD_H
#define PORT_STANDARD_H

// The numbers of the standard streams, 0 to 2, are never those of descriptors that this library opens. A process may have
// been started without such a stream, or have closed it; the system gives its number to the next descriptor, and what is
// printed there would get into a connection.

/// Opens /dev/null for each standard stream that is closed, so that no other descriptor gets its number. Reading from 0 and
/// writing to 1 and 2 still fail, and programs started from here find the stream closed.
void port_reserve_standard(void);

/// Passes on a descriptor that has just been opened, or its copy if it has the number of a standard stream. -1 stays -1; -1
/// with `errno`, and the descriptor closed, if there is no other number.
int port_above_standard(int opened);
/// The same for two; closes both if one of them fails.
int port_pair_above_standard(int ends[2]);

/// Opens a descriptor that is not numbered as a standard stream, at any moment, unless another thread closes one meanwhile.
#define PORT_OPENED(call) (port_reserve_standard(), port_above_standard(call))

/// Takes a descriptor over: if it is a standard stream, a copy numbered 10 or above takes its place, and the stream itself
/// reads or writes /dev/null. -1 with `errno`, and nothing changed, if that fails.
int port_take_over(int descriptor);

/// Opens /dev/null, close-on-exec and numbered 10 or above.
int port_open_null(void);
/// Opens a file for reading, close-on-exec.
int port_open_file(const char *path);
/// Opens a file to append to it; it is made, with mode 0600, if there is none.
int port_open_to_append(const char *path);

#endif
