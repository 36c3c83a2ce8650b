/* Numbers the system calls on what lies below one folder, and lets one of them fail, be cut short, or kill the process.

   Preloaded (LD_PRELOAD) it is below Python and every library: what they ask the system goes through here.
   `fault_arm` begins to count. Modes: 0 only counts; 1 the call fails with `error`; 2 the process dies before it;
   3 behind it; 4 of a write half arrives, then the process dies; 5 of a write half arrives, then it fails.
   `lasting`: every later call that changes something fails as well, or where the first one only looks, that looks.
*/
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static size_t folder_length;
static atomic_long count;
static long chosen = -1;
static int mode, code, lasting, is_armed, is_changing;
static int trace = -1;

enum { PASS, FAIL, HALF };

void fault_arm(const char *below, long number, int what, int error, int lasts, int trace_descriptor) {
    strncpy(folder, below, sizeof folder - 1);
    folder_length = strlen(folder);
    count = 0;
    chosen = number, mode = what, code = error, lasting = lasts, trace = trace_descriptor, is_armed = 1;
}

void fault_disarm(void) { is_armed = 0; }

static int is_below(const char *path) {
    return strncmp(path, folder, folder_length) == 0 && (path[folder_length] == '/' || path[folder_length] == 0);
}

static int named(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t (*really)(const char *, char *, size_t) = dlsym(RTLD_NEXT, "readlink");
    ssize_t length = really(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

/* That works on a full disk too. */
static int gives_room(const char *kind) {
    return code == ENOSPC && (strcmp(kind, "unlink") == 0 || strcmp(kind, "ftruncate") == 0);
}

/* What is to happen to this call. */
static int meet(const char *kind, const char *path, int changes) {
    long number = count++;
    if (trace >= 0) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%s %d %s\n", kind, changes, path);
        ssize_t (*really)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
        if (really(trace, line, length) < 0) abort();
    }
    if (number == chosen) {
        is_changing = changes;
        if (mode == 2) raise(SIGKILL);
        if (mode == 1) return errno = code, FAIL;
        if (mode == 4 || mode == 5) return HALF;
    } else if (lasting && number > chosen && is_changing == changes && mode == 1 && !gives_room(kind)) {
        return errno = code, FAIL;
    }
    return PASS;
}

static int by_path(const char *kind, int at, const char *path, int changes) {
    char whole[2 * PATH_MAX] = "";
    if (!is_armed || path == NULL) return PASS;
    if (path[0] != '/' && at != AT_FDCWD && named(at, whole)) strcat(whole, "/");
    strncat(whole, path, PATH_MAX - 1);
    return is_below(whole) ? meet(kind, whole, changes) : PASS;
}

static int by_descriptor(const char *kind, int descriptor, int changes) {
    char path[PATH_MAX];
    if (!is_armed || !named(descriptor, path)) return PASS;
    return is_below(path) ? meet(kind, path, changes) : PASS;
}

static void behind(void) {
    if (is_armed && mode == 3 && count - 1 == chosen) raise(SIGKILL);
}

#define REALLY(type, name, ...) type (*really)(__VA_ARGS__) = dlsym(RTLD_NEXT, #name)

#define BY_DESCRIPTOR(type, name, kind, changes, parameters, ...) \
    type name parameters { \
        type (*really) parameters = dlsym(RTLD_NEXT, #name); \
        int met = by_descriptor(kind, descriptor, changes); \
        if (met == FAIL) return -1; \
        type done = really(__VA_ARGS__); \
        behind(); \
        return done; \
    }

#define BY_PATH(type, name, kind, at, path, changes, failed, parameters, ...) \
    type name parameters { \
        type (*really) parameters = dlsym(RTLD_NEXT, #name); \
        if (by_path(kind, at, path, changes) == FAIL) return failed; \
        type done = really(__VA_ARGS__); \
        behind(); \
        return done; \
    }

#define OPENS(name, at, parameters, ...) \
    int name parameters { \
        int (*really) parameters = (void *)dlsym(RTLD_NEXT, #name); \
        mode_t permissions = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list more; \
            va_start(more, flags); \
            permissions = va_arg(more, mode_t); \
            va_end(more); \
        } \
        if (by_path(flags & O_CREAT ? "create" : "open", at, path, (flags & O_CREAT) != 0) == FAIL) return -1; \
        int done = really(__VA_ARGS__, permissions); \
        behind(); \
        return done; \
    }

OPENS(open, AT_FDCWD, (const char *path, int flags, ...), path, flags)
OPENS(open64, AT_FDCWD, (const char *path, int flags, ...), path, flags)
OPENS(openat, at, (int at, const char *path, int flags, ...), at, path, flags)
OPENS(openat64, at, (int at, const char *path, int flags, ...), at, path, flags)

#define STATS(suffix, type) \
    BY_DESCRIPTOR(int, fstat##suffix, "fstat", 0, (int descriptor, struct type *found), descriptor, found) \
    BY_PATH(int, stat##suffix, "stat", AT_FDCWD, path, 0, -1, (const char *path, struct type *found), path, found) \
    BY_PATH(int, lstat##suffix, "lstat", AT_FDCWD, path, 0, -1, (const char *path, struct type *found), path, found) \
    BY_PATH(int, fstatat##suffix, "stat", at, path, 0, -1, (int at, const char *path, struct type *found, int flags), \
            at, path, found, flags)
STATS(, stat)
STATS(64, stat64)

BY_DESCRIPTOR(ssize_t, read, "read", 0, (int descriptor, void *data, size_t size), descriptor, data, size)
BY_DESCRIPTOR(ssize_t, pread64, "read", 0, (int descriptor, void *data, size_t size, off_t at), descriptor, data, size, at)
BY_DESCRIPTOR(ssize_t, preadv64, "read", 0, (int descriptor, const struct iovec *data, int parts, off_t at),
              descriptor, data, parts, at)
BY_DESCRIPTOR(ssize_t, preadv64v2, "read", 0, (int descriptor, const struct iovec *data, int parts, off_t at, int flags),
              descriptor, data, parts, at, flags)
BY_DESCRIPTOR(off_t, lseek64, "lseek", 0, (int descriptor, off_t at, int from), descriptor, at, from)
BY_PATH(DIR *, opendir, "opendir", AT_FDCWD, path, 0, NULL, (const char *path), path)

struct dirent64 *readdir64(DIR *directory) {
    REALLY(struct dirent64 *, readdir64, DIR *);
    if (by_descriptor("readdir", dirfd(directory), 0) == FAIL) return NULL;
    struct dirent64 *done = really(directory);
    behind();
    return done;
}

int fcntl64(int descriptor, int command, ...) {
    int (*really)(int, int, ...) = (void *)dlsym(RTLD_NEXT, "fcntl64");
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    /* The locks only: F_OFD_GETLK, F_OFD_SETLK. */
    if (command >= 36 && command <= 38 && by_descriptor("lock", descriptor, 0) == FAIL) return -1;
    int done = really(descriptor, command, argument);
    if (command >= 36 && command <= 38) behind();
    return done;
}

int close(int descriptor) {
    REALLY(int, close, int);
    int met = by_descriptor("close", descriptor, 0);
    int done = really(descriptor); /* it is closed, also where the last of what was written can't be kept */
    if (met == FAIL) return errno = code, -1;
    behind();
    return done;
}

/* Behind half a write. */
static void cut_short(void) {
    if (mode == 4) raise(SIGKILL);
    chosen++; /* a full disk cuts a write short, and refuses only the next one */
    mode = 1;
}

ssize_t write(int descriptor, const void *data, size_t size) {
    REALLY(ssize_t, write, int, const void *, size_t);
    int met = by_descriptor("write", descriptor, 1);
    if (met == FAIL) return -1;
    ssize_t done = really(descriptor, data, met == HALF ? size / 2 : size);
    if (met == HALF) cut_short();
    else behind();
    return done;
}

ssize_t writev(int descriptor, const struct iovec *data, int parts) {
    REALLY(ssize_t, writev, int, const struct iovec *, int);
    int met = by_descriptor("write", descriptor, 1);
    if (met == FAIL) return -1;
    if (met == HALF) {
        struct iovec half = {data[0].iov_base, parts > 1 ? data[0].iov_len : data[0].iov_len / 2};
        ssize_t done = really(descriptor, &half, 1);
        cut_short();
        return done;
    }
    ssize_t done = really(descriptor, data, parts);
    behind();
    return done;
}

BY_DESCRIPTOR(int, fsync, "fsync", 1, (int descriptor), descriptor)
BY_DESCRIPTOR(int, ftruncate64, "ftruncate", 1, (int descriptor, off_t size), descriptor, size)
BY_DESCRIPTOR(int, futimens, "utime", 1, (int descriptor, const struct timespec times[2]), descriptor, times)
BY_DESCRIPTOR(int, fchmod, "chmod", 1, (int descriptor, mode_t permissions), descriptor, permissions)
BY_PATH(int, chmod, "chmod", AT_FDCWD, path, 1, -1, (const char *path, mode_t permissions), path, permissions)
BY_PATH(int, mkdir, "mkdir", AT_FDCWD, path, 1, -1, (const char *path, mode_t permissions), path, permissions)
BY_PATH(int, rmdir, "rmdir", AT_FDCWD, path, 1, -1, (const char *path), path)
BY_PATH(int, unlink, "unlink", AT_FDCWD, path, 1, -1, (const char *path), path)
BY_PATH(int, link, "link", AT_FDCWD, path, 1, -1, (const char *path, const char *new), path, new)
BY_PATH(int, linkat, "link", at, path, 1, -1, (int at, const char *path, int to, const char *new, int flags),
        at, path, to, new, flags)
BY_PATH(int, rename, "rename", AT_FDCWD, path, 1, -1, (const char *path, const char *new), path, new)
