#define _GNU_SOURCE
#include "include/port_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "include/port_closing.h"
#include "include/port_io.h"
#include "include/port_standard.h"

// Opening a folder only to name files in it needs no permission to list it.
#if __APPLE__
#define FOLDER O_SEARCH
int pthread_fchdir_np(int folder);
#else
#define FOLDER O_PATH
#endif

static int fail_closing(int descriptor) {
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int port_longest_path(void) { return (int)sizeof(((struct sockaddr_un *)0)->sun_path) - 1; }

// MARK: Addresses

struct place {
    struct sockaddr_un address;
    socklen_t length;
    // The folder in which the address is a name; below 0 if the address is a path.
    int folder;
};

static int make_place(struct place *place, const char *path) {
    size_t count = strlen(path);
    if (count > (size_t)port_longest_path()) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memset(place, 0, sizeof *place);
    place->address.sun_family = AF_UNIX;
    memcpy(place->address.sun_path, path, count);
    place->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + count + 1);
    place->folder = -1;
    return 0;
}

static int make_place_at(struct place *place, int folder, const char *path, const char *name) {
    char joined[512];
    int count = snprintf(joined, sizeof joined, "%s/%s", path, name);
    if (count > 0 && count <= port_longest_path()) return make_place(place, joined);
#if __APPLE__
    if (make_place(place, name) < 0) return -1;
    place->folder = folder;
    return 0;
#else
    snprintf(joined, sizeof joined, "/proc/self/fd/%d/%s", folder, name);
    return make_place(place, joined);
#endif
}

typedef int with_address(int socket, const struct sockaddr *address, socklen_t length);

static int call_at(with_address *call, int socket, const struct place *place) {
#if __APPLE__
    // The current directory of this thread alone.
    if (place->folder >= 0 && pthread_fchdir_np(place->folder) < 0) return -1;
#endif
    int result = call(socket, (const struct sockaddr *)&place->address, place->length);
#if __APPLE__
    int error = errno;
    if (place->folder >= 0) pthread_fchdir_np(-1);
    errno = error;
#endif
    return result;
}

// MARK: Sockets

static int connect_to(const struct place *place) {
    int socket_ = port_stream_socket();
    if (socket_ < 0) return -1;
    // A blocking connect() waits for room in the listener's queue, and a listener that never accepts makes none.
    if (port_set_nonblocking(socket_) < 0) return fail_closing(socket_);
    // Before the peer can send: what follows from a descriptor that was not asked for would follow here.
    port_pass_descriptors(socket_, false);
    return call_at(connect, socket_, place) < 0 ? fail_closing(socket_) : socket_;
}

int port_connect(const char *path) {
    struct place place;
    if (make_place(&place, path) == 0) return connect_to(&place);
    // The path of the folder may be too long, and the name in it be short enough.
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || strlen(path) >= sizeof folder) return -1;
    size_t count = slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, path, count);
    folder[count] = 0;
    int opened = port_folder_open(folder);
    if (opened < 0) return -1;
    int connected = port_connect_at(opened, folder, slash + 1);
    return connected < 0 ? fail_closing(opened) : (close(opened), connected);
}

int port_connect_at(int folder, const char *path, const char *name) {
    struct place place;
    return make_place_at(&place, folder, path, name) < 0 ? -1 : connect_to(&place);
}

static int bind_to(const struct place *place, int folder, const char *name, uint32_t mode) {
    int socket_ = port_stream_socket();
    if (socket_ < 0) return -1;
#if !__APPLE__
    // Before bind(), which gives the file the socket's mode: at no moment is it open to others.
    if (fchmod(socket_, (mode_t)mode) < 0) return fail_closing(socket_);
#endif
    if (call_at(bind, socket_, place) < 0) return fail_closing(socket_);
    // A umask takes bits away.
    struct stat status;
    if (port_set_mode_at(folder, name, mode) < 0 &&
        (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISSOCK(status.st_mode) ||
         (status.st_mode & 0777) != mode)) {
        int error = errno;
        unlinkat(folder, name, 0);
        errno = error;
        return fail_closing(socket_);
    }
    return socket_;
}

int port_bind(const char *path, uint32_t mode) {
    struct place place;
    return make_place(&place, path) < 0 ? -1 : bind_to(&place, AT_FDCWD, path, mode);
}

int port_bind_at(int folder, const char *path, const char *name, uint32_t mode) {
    struct place place;
    return make_place_at(&place, folder, path, name) < 0 ? -1 : bind_to(&place, folder, name, mode);
}

// MARK: Files

int port_folder_open(const char *path) { return PORT_OPENED(open(path, FOLDER | O_DIRECTORY | O_CLOEXEC)); }

int port_set_mode_at(int folder, const char *name, uint32_t mode) {
    return fchmodat(folder, name, (mode_t)mode, AT_SYMLINK_NOFOLLOW);
}

static int describe(const struct stat *status, port_file *file) {
    *file = (port_file){
        .device = (uint64_t)status->st_dev,
        .number = (uint64_t)status->st_ino,
        .owner = status->st_uid,
        .mode = status->st_mode & 07777,
        .is_socket = S_ISSOCK(status->st_mode),
        .is_regular = S_ISREG(status->st_mode),
        .is_folder = S_ISDIR(status->st_mode)};
    return 0;
}

int port_file_at(int folder, const char *name, port_file *file) {
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ? -1 : describe(&status, file);
}

int port_file_of(int descriptor, port_file *file) {
    struct stat status;
    return fstat(descriptor, &status) < 0 ? -1 : describe(&status, file);
}

int port_remove_at(int folder, const char *name) { return unlinkat(folder, name, 0); }

int port_rename_over_at(int folder, const char *name, const char *new_name) {
    return renameat(folder, name, folder, new_name);
}

int port_rename_new_at(int folder, const char *name, const char *new_name) {
#if __APPLE__
    if (renameatx_np(folder, name, folder, new_name, RENAME_EXCL) == 0) return 0;
    if (errno != ENOTSUP) return -1;
#else
    if (renameat2(folder, name, folder, new_name, RENAME_NOREPLACE) == 0) return 0;
    // Some file systems do not know the flag.
    if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
    return linkat(folder, name, folder, new_name, 0) < 0 ? -1 : unlinkat(folder, name, 0);
}

int port_make_file_at(int folder, const char *name) {
    int file = PORT_OPENED(openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file < 0 || fchmod(file, 0600) == 0) return file;
    int error = errno;
    unlinkat(folder, name, 0);
    errno = error;
    return fail_closing(file);
}

int port_open_file_at(int folder, const char *name) {
    return PORT_OPENED(openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
}

int port_make_folder(const char *path) {
    if (mkdir(path, 0700) < 0) return -1;
    // A umask takes bits away.
    return chmod(path, 0700);
}

#if defined(F_OFD_SETLK)

// Unlike flock(), these locks can be looked at without being taken. They are released like those: with the last descriptor of the
// open file, whichever process has it.
static int lock(int file, int command, struct flock *lock) {
    *lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int result;
    do {
        result = fcntl(file, command, lock);
    } while (result < 0 && errno == EINTR);
    if (result < 0 && errno == EACCES) errno = EWOULDBLOCK;
    return result;
}

int port_lock_file(int file) {
    struct flock taken;
    return lock(file, F_OFD_SETLK, &taken);
}

int port_is_locked(int file) {
    struct flock found;
    return lock(file, F_OFD_GETLK, &found) < 0 ? -1 : found.l_type != F_UNLCK;
}

#else

int port_lock_file(int file) {
    int locked;
    do {
        locked = flock(file, LOCK_EX | LOCK_NB);
    } while (locked < 0 && errno == EINTR);
    return locked;
}

int port_is_locked(int file) {
    if (port_lock_file(file) < 0) return errno == EWOULDBLOCK ? 1 : -1;
    return flock(file, LOCK_UN);
}

#endif

bool port_may_be_large(size_t size) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || size <= limit.rlim_cur) return true;
    errno = EFBIG;
    return false;
}

int port_write_content(int file, const void *bytes, size_t count) {
    if (!port_may_be_large(count)) return -1;
    ssize_t written;
    do {
        written = pwrite(file, bytes, count, 0);
    } while (written < 0 && errno == EINTR);
    if (written < 0) return -1;
    if ((size_t)written < count) {
        errno = ENOSPC;
        return -1;
    }
    return ftruncate(file, (off_t)count);
}

int port_read_content(int file, void *bytes, size_t size) {
    ssize_t count;
    do {
        count = pread(file, bytes, size, 0);
    } while (count < 0 && errno == EINTR);
    return (int)count;
}
