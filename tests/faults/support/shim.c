/* Counts the state-changing calls of a process below one folder, and lets one of them go wrong.
 *
 * Loaded with LD_PRELOAD; nothing is counted before faults_arm(). At call number `point` it does what `mode`
 * says; every call is written to the log: number, name, result, inode, size before, path, second path.
 * fsync and fdatasync are counted but not done: a killed process loses nothing that the kernel already has,
 * and the loss of power is played from the log.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utime.h>

enum mode { COUNT, KILL, FAIL, FULL, STOP, SHORT };

static char root[PATH_MAX];
static size_t root_length;
static long point, number;
static enum mode mode;
static int failure, log_fd, stopped_fd, go_fd;

struct call {
    const char *name;
    int watched, needs_space;
    long number;
    unsigned long inode;
    long size; /* -1: there is no such file */
    char path[PATH_MAX], second[PATH_MAX];
};

void faults_arm(const char *below, long at, int what, int error, int log, int stopped, int go)
{
    strncpy(root, below, sizeof root - 1);
    root_length = strlen(root);
    number = 0;
    point = at;
    mode = what;
    failure = error;
    log_fd = log;
    stopped_fd = stopped;
    go_fd = go;
}

long faults_disarm(void)
{
    root_length = 0;
    return number;
}

#define REAL(type, name, ...)                       \
    static type (*real)(__VA_ARGS__);               \
    if (!real)                                      \
    real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static void locate(char *out, int folder, const char *path)
{
    char link[64];
    ssize_t length = 0;
    out[0] = 0;
    if (path && path[0] == '/') {
        snprintf(out, PATH_MAX, "%s", path);
        return;
    }
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    length = readlink(link, out, PATH_MAX - 1);
    if (length < 0)
        length = 0;
    out[length] = 0;
    if (path)
        snprintf(out + length, PATH_MAX - length, "/%s", path);
}

static int is_below(const char *path)
{
    return !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static void watch(struct call *call, const char *name, int needs_space, int folder, const char *path)
{
    struct stat found;
    int saved = errno;
    call->watched = 0;
    if (!root_length)
        return;
    call->name = name;
    call->needs_space = needs_space;
    call->second[0] = 0;
    locate(call->path, folder, path);
    call->watched = is_below(call->path);
    call->inode = 0;
    call->size = -1;
    if (!(path ? fstatat(folder, path, &found, AT_SYMLINK_NOFOLLOW) : fstat(folder, &found))) {
        call->inode = found.st_ino;
        call->size = found.st_size;
    }
    errno = saved;
}

static void note(const struct call *call, const char *result)
{
    char line[3 * PATH_MAX];
    int saved = errno;
    int length = snprintf(line, sizeof line, "%ld\t%s\t%s\t%lu\t%ld\t%s\t%s\n", call->number, call->name, result,
                          call->inode, call->size, call->path, call->second);
    syscall(SYS_write, log_fd, line, length);
    errno = saved;
}

/* Whether the call must fail with errno instead of being done. */
static int strikes(struct call *call)
{
    char byte = '.';
    if (!call->watched)
        return 0;
    call->number = ++number;
    if (mode == FULL && number >= point && call->needs_space) {
        errno = ENOSPC;
        return 1;
    }
    if (number != point)
        return 0;
    if (mode == KILL) {
        note(call, "killed");
        syscall(SYS_kill, getpid(), SIGKILL);
    }
    if (mode == STOP) {
        syscall(SYS_write, stopped_fd, &byte, 1);
        while (syscall(SYS_read, go_fd, &byte, 1) < 0 && errno == EINTR)
            ;
    }
    errno = failure;
    return mode == FAIL;
}

static long done(struct call *call, long result)
{
    struct stat found;
    int saved = errno;
    char text[32];
    if (!call->watched)
        return result;
    if (result >= 0 && !strcmp(call->name, "open") && !fstat(result, &found))
        call->inode = found.st_ino;
    if (result < 0)
        snprintf(text, sizeof text, "errno %d", saved);
    else
        snprintf(text, sizeof text, "%ld", result);
    note(call, text);
    errno = saved;
    return result;
}

/* One wrapper: what it is called in the log, whether it needs space, and which file it is about. */
#define WRAP(type, function, shown, space, folder, path, parameters, arguments, types) \
    type function parameters                                                       \
    {                                                                              \
        REAL(type, function, types);                                                   \
        struct call call;                                                          \
        watch(&call, shown, space, folder, path);                                  \
        return (type)done(&call, strikes(&call) ? -1 : (long)real arguments);      \
    }

#define ARGS(...) __VA_ARGS__

/* A disk that fills up in the middle of a write takes a part of it, and refuses what comes after. */
ssize_t write(int fd, const void *data, size_t size)
{
    REAL(ssize_t, write, int, const void *, size_t);
    struct call call;
    int refused;
    watch(&call, "write", 1, fd, NULL);
    refused = strikes(&call);
    if (call.watched && mode == SHORT && number == point) {
        size /= 2;
        mode = FULL;
        point++;
    }
    return (ssize_t)done(&call, refused ? -1 : (long)real(fd, data, size));
}

WRAP(ssize_t, pwrite, "write", 1, fd, NULL, (int fd, const void *data, size_t size, off_t at),
     (fd, data, size, at), ARGS(int, const void *, size_t, off_t))
WRAP(ssize_t, pwrite64, "write", 1, fd, NULL, (int fd, const void *data, size_t size, off64_t at),
     (fd, data, size, at), ARGS(int, const void *, size_t, off64_t))
WRAP(ssize_t, writev, "write", 1, fd, NULL, (int fd, const struct iovec *parts, int count), (fd, parts, count),
     ARGS(int, const struct iovec *, int))
WRAP(ssize_t, sendfile, "write", 1, fd, NULL, (int fd, int from, off_t *at, size_t size), (fd, from, at, size),
     ARGS(int, int, off_t *, size_t))
WRAP(ssize_t, sendfile64, "write", 1, fd, NULL, (int fd, int from, off64_t *at, size_t size),
     (fd, from, at, size), ARGS(int, int, off64_t *, size_t))
WRAP(ssize_t, copy_file_range, "write", 1, fd, NULL,
     (int from, off64_t *from_at, int fd, off64_t *at, size_t size, unsigned flags),
     (from, from_at, fd, at, size, flags), ARGS(int, off64_t *, int, off64_t *, size_t, unsigned))
WRAP(int, ftruncate, "truncate", 0, fd, NULL, (int fd, off_t size), (fd, size), ARGS(int, off_t))
WRAP(int, ftruncate64, "truncate", 0, fd, NULL, (int fd, off64_t size), (fd, size), ARGS(int, off64_t))
WRAP(int, truncate, "truncate", 0, AT_FDCWD, path, (const char *path, off_t size), (path, size),
     ARGS(const char *, off_t))
WRAP(int, truncate64, "truncate", 0, AT_FDCWD, path, (const char *path, off64_t size), (path, size),
     ARGS(const char *, off64_t))
WRAP(int, fchmod, "chmod", 0, fd, NULL, (int fd, mode_t bits), (fd, bits), ARGS(int, mode_t))
WRAP(int, chmod, "chmod", 0, AT_FDCWD, path, (const char *path, mode_t bits), (path, bits),
     ARGS(const char *, mode_t))
WRAP(int, fchmodat, "chmod", 0, folder, path, (int folder, const char *path, mode_t bits, int flags),
     (folder, path, bits, flags), ARGS(int, const char *, mode_t, int))
WRAP(int, futimens, "utimes", 0, fd, NULL, (int fd, const struct timespec times[2]), (fd, times),
     ARGS(int, const struct timespec *))
WRAP(int, utimensat, "utimes", 0, folder, path,
     (int folder, const char *path, const struct timespec times[2], int flags), (folder, path, times, flags),
     ARGS(int, const char *, const struct timespec *, int))
WRAP(int, utimes, "utimes", 0, AT_FDCWD, path, (const char *path, const struct timeval times[2]), (path, times),
     ARGS(const char *, const struct timeval *))
WRAP(int, utime, "utimes", 0, AT_FDCWD, path, (const char *path, const struct utimbuf *times), (path, times),
     ARGS(const char *, const struct utimbuf *))
WRAP(int, unlink, "unlink", 0, AT_FDCWD, path, (const char *path), (path), ARGS(const char *))
WRAP(int, unlinkat, "unlink", 0, folder, path, (int folder, const char *path, int flags), (folder, path, flags),
     ARGS(int, const char *, int))
WRAP(int, rmdir, "rmdir", 0, AT_FDCWD, path, (const char *path), (path), ARGS(const char *))
WRAP(int, mkdir, "mkdir", 1, AT_FDCWD, path, (const char *path, mode_t bits), (path, bits),
     ARGS(const char *, mode_t))
WRAP(int, mkdirat, "mkdir", 1, folder, path, (int folder, const char *path, mode_t bits), (folder, path, bits),
     ARGS(int, const char *, mode_t))
WRAP(int, symlink, "symlink", 1, AT_FDCWD, path, (const char *to, const char *path), (to, path),
     ARGS(const char *, const char *))
WRAP(int, symlinkat, "symlink", 1, folder, path, (const char *to, int folder, const char *path),
     (to, folder, path), ARGS(const char *, int, const char *))

/* Of two paths the call is watched if either is below the root. */
#define WRAP_TWO(function, shown, space, one_folder, one, two_folder, two, parameters, arguments, types) \
    int function parameters                                                                          \
    {                                                                                                \
        REAL(int, function, types);                                                                  \
        struct call call;                                                                            \
        watch(&call, shown, space, one_folder, one);                                                 \
        if (root_length) {                                                                           \
            locate(call.second, two_folder, two);                                                    \
            call.watched |= is_below(call.second);                                                   \
        }                                                                                            \
        return (int)done(&call, strikes(&call) ? -1 : real arguments);                               \
    }

WRAP_TWO(rename, "rename", 0, AT_FDCWD, from, AT_FDCWD, to, (const char *from, const char *to), (from, to),
         ARGS(const char *, const char *))
WRAP_TWO(renameat, "rename", 0, folder, from, to_folder, to,
         (int folder, const char *from, int to_folder, const char *to), (folder, from, to_folder, to),
         ARGS(int, const char *, int, const char *))
WRAP_TWO(renameat2, "rename", 0, folder, from, to_folder, to,
         (int folder, const char *from, int to_folder, const char *to, unsigned flags),
         (folder, from, to_folder, to, flags), ARGS(int, const char *, int, const char *, unsigned))
WRAP_TWO(link, "link", 1, AT_FDCWD, from, AT_FDCWD, to, (const char *from, const char *to), (from, to),
         ARGS(const char *, const char *))
WRAP_TWO(linkat, "link", 1, folder, from, to_folder, to,
         (int folder, const char *from, int to_folder, const char *to, int flags),
         (folder, from, to_folder, to, flags), ARGS(int, const char *, int, const char *, int))

/* Counted, answered, and not done. */
#define WRAP_SYNC(name)                                               \
    int name(int fd)                                                  \
    {                                                                 \
        REAL(int, name, int);                                         \
        struct call call;                                             \
        watch(&call, "fsync", 0, fd, NULL);                           \
        if (!call.watched)                                            \
            return real(fd);                                          \
        return (int)done(&call, strikes(&call) ? -1 : 0);             \
    }

WRAP_SYNC(fsync)
WRAP_SYNC(fdatasync)

/* Opening counts where it may make a file or empty one. */
static int is_change(int flags)
{
    return flags & (O_CREAT | O_TRUNC) || (flags & O_TMPFILE) == O_TMPFILE;
}

static void watch_open(struct call *call, int folder, const char *path, int flags)
{
    watch(call, "open", 1, folder, path);
    if (call->watched && call->size >= 0) {
        call->needs_space = 0;
        if (flags & O_TRUNC)
            call->name = "truncate";
    }
}

#define BITS(flags)                                                              \
    mode_t bits = 0;                                                             \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {                   \
        va_list rest;                                                            \
        va_start(rest, flags);                                                   \
        bits = va_arg(rest, mode_t);                                             \
        va_end(rest);                                                            \
    }

#define WRAP_OPEN(name)                                                          \
    int name(const char *path, int flags, ...)                                   \
    {                                                                            \
        BITS(flags)                                                              \
        REAL(int, name, const char *, int, ...);                                 \
        struct call call;                                                        \
        if (!root_length || !is_change(flags))                                   \
            return real(path, flags, bits);                                      \
        watch_open(&call, AT_FDCWD, path, flags);                               \
        return (int)done(&call, strikes(&call) ? -1 : real(path, flags, bits));  \
    }

#define WRAP_OPENAT(name)                                                                \
    int name(int folder, const char *path, int flags, ...)                               \
    {                                                                                    \
        BITS(flags)                                                                      \
        REAL(int, name, int, const char *, int, ...);                                    \
        struct call call;                                                                \
        if (!root_length || !is_change(flags))                                           \
            return real(folder, path, flags, bits);                                      \
        watch_open(&call, folder, path, flags);                                       \
        return (int)done(&call, strikes(&call) ? -1 : real(folder, path, flags, bits));  \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

int creat(const char *path, mode_t bits)
{
    return open(path, O_CREAT | O_WRONLY | O_TRUNC, bits);
}

int creat64(const char *path, mode_t bits)
{
    return open64(path, O_CREAT | O_WRONLY | O_TRUNC, bits);
}
