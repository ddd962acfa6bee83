#ifndef PORT_PLACE_H
#define PORT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sockets, locks and other files at a place of the file system. A folder is opened once and named by its descriptor from
// then on, so that a file is found and removed where it was made, whatever happens to the folder's path and to the current
// directory. Names are those of files in the folder; none of these functions follows a symbolic link in the place of one.

/// The longest path of a socket, without the terminating zero.
int port_longest_path(void);

/// Connecting never waits: EAGAIN if the listener's queue is full, and no poller reports when there is room. ENAMETOOLONG if
/// the name at the end of the path does not fit `sun_path`.
int port_connect(const char *path);
/// A socket with the mode, which is bound to the path.
int port_bind(const char *path, uint32_t mode);

/// Opens a folder for the functions below; reading it need not be allowed.
int port_folder_open(const char *path);
/// `path` is the folder's; it is used where it is not too long, because tools show it.
int port_connect_at(int folder, const char *path, const char *name);
int port_bind_at(int folder, const char *path, const char *name, uint32_t mode);
/// Sets the mode of a file.
int port_set_mode_at(int folder, const char *name, uint32_t mode);

/// What distinguishes a file from all others that exist, and who it belongs to.
typedef struct port_file {
    uint64_t device;
    uint64_t number;
    uint32_t owner;
    uint32_t mode;
    bool is_socket;
    bool is_regular;
    bool is_folder;
} port_file;

/// The file of that name, or of the descriptor.
int port_file_at(int folder, const char *name, port_file *file);
int port_file_of(int descriptor, port_file *file);
/// Removes a file.
int port_remove_at(int folder, const char *name);
/// Renames a file; EEXIST if there is one of the new name.
int port_rename_new_at(int folder, const char *name, const char *new_name);
/// Renames a file over another one.
int port_rename_over_at(int folder, const char *name, const char *new_name);

/// A new file of mode 0600, whatever the umask is. EEXIST if there is one.
int port_make_file_at(int folder, const char *name);
/// Opens a file for reading and writing, without waiting.
int port_open_file_at(int folder, const char *name);
/// Takes the exclusive lock of a file: EWOULDBLOCK if somebody else has it. It belongs to all descriptors of the open file, also to
/// those that another process gets.
int port_lock_file(int file);
/// Whether another open file has the lock; -1 if that cannot be found out.
int port_is_locked(int file);
/// Makes a folder of mode 0700, whatever the umask is.
int port_make_folder(const char *path);
/// Whether a file of this size is within the process's limit of file sizes, with EFBIG if not: writing it would cause a signal that
/// ends the process.
bool port_may_be_large(size_t size);
/// Replaces the content of a file. The content is written at once, or an error is reported.
int port_write_content(int file, const void *bytes, size_t count);
/// Reads the beginning of a file; returns the number of bytes.
int port_read_content(int file, void *bytes, size_t size);

#endif
