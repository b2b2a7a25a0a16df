/* Counts the calls of a process that change files in one folder, and causes a fault at one of them, or from
 * one of them on.
 *
 * The library is loaded with LD_PRELOAD, and counts calls after faults_arm(). The fault `mode` occurs at call
 * number `point`. The log contains each call: number, name, result, inode, size before, path, second path.
 * fsync and fdatasync are counted but not executed: a killed process does not lose data that the kernel has,
 * and tests derive the states after a power failure from the log.
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
static long point, call_count;
static enum mode mode;
static int error_number, log_fd, stopped_fd, resume_fd;

struct call {
    const char *name;
    int is_watched, needs_space;
    long number;
    unsigned long inode;
    long size; /* before the call; -1 if the file does not exist */
    char path[PATH_MAX], second_path[PATH_MAX];
};

void faults_arm(const char *folder, long call_number, int fault_mode, int error, int log,
                int stopped, int resume)
{
    strncpy(root, folder, sizeof root - 1);
    root_length = strlen(root);
    call_count = 0;
    point = call_number;
    mode = fault_mode;
    error_number = error;
    log_fd = log;
    stopped_fd = stopped;
    resume_fd = resume;
}

long faults_disarm(void)
{
    root_length = 0;
    return call_count;
}

#define REAL(type, name, ...)         \
    static type (*real)(__VA_ARGS__); \
    if (!real)                        \
    real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static void build_path(char *out, int folder, const char *path)
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

static int is_in_root(const char *path)
{
    return !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static void begin_call(struct call *call, const char *name, int needs_space, int folder, const char *path)
{
    struct stat status;
    int saved_errno = errno;
    call->is_watched = 0;
    if (!root_length)
        return;
    call->name = name;
    call->needs_space = needs_space;
    call->second_path[0] = 0;
    build_path(call->path, folder, path);
    call->is_watched = is_in_root(call->path);
    call->inode = 0;
    call->size = -1;
    if (!(path ? fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) : fstat(folder, &status))) {
        call->inode = status.st_ino;
        call->size = status.st_size;
    }
    errno = saved_errno;
}

static void write_log(const struct call *call, const char *result)
{
    char line[3 * PATH_MAX];
    int saved_errno = errno;
    int length = snprintf(line, sizeof line, "%ld\t%s\t%s\t%lu\t%ld\t%s\t%s\n", call->number, call->name, result,
                          call->inode, call->size, call->path, call->second_path);
    syscall(SYS_write, log_fd, line, length);
    errno = saved_errno;
}

/* Cause the fault of this call, if any. Return 1 if the call must fail with errno and not be executed. */
static int apply_fault(struct call *call)
{
    char byte = '.';
    if (!call->is_watched)
        return 0;
    call->number = ++call_count;
    if (mode == FULL && call_count >= point && call->needs_space) {
        errno = ENOSPC;
        return 1;
    }
    if (call_count != point)
        return 0;
    if (mode == KILL) {
        write_log(call, "killed");
        syscall(SYS_kill, getpid(), SIGKILL);
    }
    if (mode == STOP) {
        syscall(SYS_write, stopped_fd, &byte, 1);
        while (syscall(SYS_read, resume_fd, &byte, 1) < 0 && errno == EINTR)
            ;
    }
    errno = error_number;
    return mode == FAIL;
}

static long record_result(struct call *call, long result)
{
    struct stat status;
    int saved_errno = errno;
    char text[32];
    if (!call->is_watched)
        return result;
    if (result >= 0 && !strcmp(call->name, "open") && !fstat(result, &status))
        call->inode = status.st_ino;
    if (result < 0)
        snprintf(text, sizeof text, "errno %d", saved_errno);
    else
        snprintf(text, sizeof text, "%ld", result);
    write_log(call, text);
    errno = saved_errno;
    return result;
}

/* A wrapper of a function: its name in the log, whether it needs disk space, and its file. */
#define WRAP(type, function, log_name, needs_space, folder, path, parameters, arguments, types) \
    type function parameters                                                                    \
    {                                                                                           \
        REAL(type, function, types);                                                            \
        struct call call;                                                                       \
        begin_call(&call, log_name, needs_space, folder, path);                                 \
        return (type)record_result(&call, apply_fault(&call) ? -1 : (long)real arguments);      \
    }

#define ARGS(...) __VA_ARGS__

/* If the disk becomes full during a write, a part is written, and all later writes fail. */
ssize_t write(int fd, const void *data, size_t size)
{
    REAL(ssize_t, write, int, const void *, size_t);
    struct call call;
    int is_failed;
    begin_call(&call, "write", 1, fd, NULL);
    is_failed = apply_fault(&call);
    if (call.is_watched && mode == SHORT && call_count == point) {
        size /= 2;
        mode = FULL;
        point++;
    }
    return (ssize_t)record_result(&call, is_failed ? -1 : (long)real(fd, data, size));
}

WRAP(ssize_t, pwrite, "write", 1, fd, NULL, (int fd, const void *data, size_t size, off_t offset),
     (fd, data, size, offset), ARGS(int, const void *, size_t, off_t))
WRAP(ssize_t, pwrite64, "write", 1, fd, NULL, (int fd, const void *data, size_t size, off64_t offset),
     (fd, data, size, offset), ARGS(int, const void *, size_t, off64_t))
WRAP(ssize_t, writev, "write", 1, fd, NULL, (int fd, const struct iovec *parts, int count), (fd, parts, count),
     ARGS(int, const struct iovec *, int))
WRAP(ssize_t, sendfile, "write", 1, fd, NULL, (int fd, int from, off_t *offset, size_t size), (fd, from, offset, size),
     ARGS(int, int, off_t *, size_t))
WRAP(ssize_t, sendfile64, "write", 1, fd, NULL, (int fd, int from, off64_t *offset, size_t size),
     (fd, from, offset, size), ARGS(int, int, off64_t *, size_t))
WRAP(ssize_t, copy_file_range, "write", 1, fd, NULL,
     (int from, off64_t *from_offset, int fd, off64_t *offset, size_t size, unsigned flags),
     (from, from_offset, fd, offset, size, flags), ARGS(int, off64_t *, int, off64_t *, size_t, unsigned))
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

/* A call with two paths is watched if one of them is in the folder. */
#define WRAP_TWO(function, log_name, needs_space, one_folder, one, two_folder, two, parameters, arguments, \
                 types)                                                                                    \
    int function parameters                                                                                \
    {                                                                                                      \
        REAL(int, function, types);                                                                        \
        struct call call;                                                                                  \
        begin_call(&call, log_name, needs_space, one_folder, one);                                         \
        if (root_length) {                                                                                 \
            build_path(call.second_path, two_folder, two);                                                 \
            call.is_watched |= is_in_root(call.second_path);                                               \
        }                                                                                                  \
        return (int)record_result(&call, apply_fault(&call) ? -1 : real arguments);                        \
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

/* These calls are counted and return success, but are not executed. */
#define WRAP_SYNC(name)                                                \
    int name(int fd)                                                   \
    {                                                                  \
        REAL(int, name, int);                                          \
        struct call call;                                              \
        begin_call(&call, "fsync", 0, fd, NULL);                       \
        if (!call.is_watched)                                          \
            return real(fd);                                           \
        return (int)record_result(&call, apply_fault(&call) ? -1 : 0); \
    }

WRAP_SYNC(fsync)
WRAP_SYNC(fdatasync)

/* Return true if an open can create a file or truncate one. */
static int is_change(int flags)
{
    return flags & (O_CREAT | O_TRUNC) || (flags & O_TMPFILE) == O_TMPFILE;
}

static void begin_open(struct call *call, int folder, const char *path, int flags)
{
    begin_call(call, "open", 1, folder, path);
    if (call->is_watched && call->size >= 0) {
        call->needs_space = 0;
        if (flags & O_TRUNC)
            call->name = "truncate";
    }
}

#define READ_MODE(flags)                                       \
    mode_t bits = 0;                                           \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list arguments;                                     \
        va_start(arguments, flags);                            \
        bits = va_arg(arguments, mode_t);                      \
        va_end(arguments);                                     \
    }

#define WRAP_OPEN(name)                                                                      \
    int name(const char *path, int flags, ...)                                               \
    {                                                                                        \
        READ_MODE(flags)                                                                     \
        REAL(int, name, const char *, int, ...);                                             \
        struct call call;                                                                    \
        if (!root_length || !is_change(flags))                                               \
            return real(path, flags, bits);                                                  \
        begin_open(&call, AT_FDCWD, path, flags);                                            \
        return (int)record_result(&call, apply_fault(&call) ? -1 : real(path, flags, bits)); \
    }

#define WRAP_OPENAT(name)                                                                            \
    int name(int folder, const char *path, int flags, ...)                                           \
    {                                                                                                \
        READ_MODE(flags)                                                                             \
        REAL(int, name, int, const char *, int, ...);                                                \
        struct call call;                                                                            \
        if (!root_length || !is_change(flags))                                                       \
            return real(folder, path, flags, bits);                                                  \
        begin_open(&call, folder, path, flags);                                                      \
        return (int)record_result(&call, apply_fault(&call) ? -1 : real(folder, path, flags, bits)); \
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
