#include "redis/embedded/state_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    TRIED = 64 * 1024, /* bytes: enough for redis-server to start and to run some commands */
    FULL = 4 * TRIED,  /* the disk counts as full if fewer bytes are left */
};

static int make_directories(const char *path, struct failure *failure)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part)
        return failure_set(
            failure, -ENAMETOOLONG,
            "the state directory's path is empty or too long. Choose another with --state-dir.");
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return failure_set(failure, -errno,
                               "cannot make the state directory %s: %s. Choose another with "
                               "--state-dir, or set --redis-url.",
                               part, strerror(errno));
        part[i] = path[i];
    }
    return 0;
}

/* A directory of an earlier start has a lock of ours. Any other may be a shared one, such as
 * /var/local. */
static bool is_of_earlier_start(const char *path)
{
    char lock[PATH_MAX + sizeof STATE_DIRECTORY_LOCK + 1];
    struct stat about;
    snprintf(lock, sizeof lock, "%s/%s", path, STATE_DIRECTORY_LOCK);
    return lstat(lock, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid();
}

/* Kubernetes opens a volume to its fsGroup, with all that is in it, before each start of a pod.
 * So the group loses the right to enter, too. */
static bool close_to_group(const char *path, struct stat *about)
{
    return !(about->st_mode & S_IWOTH) && is_of_earlier_start(path) &&
           chmod(path, about->st_mode & S_IRWXU) == 0 && stat(path, about) == 0;
}

/* Does not check the parents. A user with write access to a parent can replace the directory, but
 * batond refuses a directory of another user at its next start. */
static int check_rights(const char *path, bool *ret_closed, struct failure *failure)
{
    struct stat about;
    if (stat(path, &about) < 0)
        return failure_set(failure, -errno, "cannot examine the state directory %s: %s", path,
                           strerror(errno));
    if (about.st_uid != geteuid())
        return failure_set(
            failure, -EPERM,
            "the state directory %s belongs to user %u, but batond runs as user %u. The owner "
            "could change the locks in it: chown it, or choose another with --state-dir.",
            path, about.st_uid, geteuid());
    *ret_closed = about.st_mode & S_IWGRP && close_to_group(path, &about);
    if (about.st_mode & (S_IWGRP | S_IWOTH))
        return failure_set(
            failure, -EPERM,
            "other users may write in the state directory %s (mode %04o), and so change the locks "
            "in it. Run chmod go-w %s, or choose another directory with --state-dir.",
            path, about.st_mode & 07777, path);
    return 0;
}

int state_directory_open(const char *path, char ret_path[PATH_MAX], bool *ret_closed,
                         struct failure *failure)
{
    int result = make_directories(path, failure);
    if (result < 0)
        return result;
    if (!realpath(path, ret_path) || access(ret_path, R_OK | W_OK | X_OK) < 0)
        return failure_set(failure, -errno, "cannot use the state directory %s: %s", path,
                           strerror(errno));
    return check_rights(ret_path, ret_closed, failure);
}

bool state_directory_is_full(const char *path)
{
    struct statvfs about;
    return statvfs(path, &about) == 0 && about.f_bavail * about.f_frsize < FULL;
}

int state_directory_try_to_write(void)
{
    static const char NOTHING[TRIED];
    int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) /* if the file system has no unnamed files, redis-server itself tries */
        return errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT ? 0 : errno;
    errno = 0;
    ssize_t written = write(fd, NOTHING, sizeof NOTHING);
    int error = written == (ssize_t)sizeof NOTHING ? 0 : errno ? errno : ENOSPC;
    close(fd);
    return error;
}
