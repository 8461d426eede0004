#include "base/file.h"

#include "base/memory.h"
#include "base/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_too_long(const struct file_options *options, struct failure *failure)
{
    return failure_set(failure, -EINVAL, "--%s: %s has more than %zu bytes", options->setting,
                       options->path, options->longest);
}

static int file_cannot_read(const struct file_options *options, int error, struct failure *failure)
{
    return failure_set(failure, -EINVAL, "--%s: cannot read %s: %s", options->setting,
                       options->path, strerror(error));
}

/* A user who can read or write such a file can act for any client. */
static int file_check_owner(const struct file_options *options, const struct stat *file,
                            struct failure *failure)
{
    if (file->st_uid != 0 && file->st_uid != geteuid())
        return failure_set(failure, -EINVAL,
                           "--%s: %s belongs to user %u. It has to belong to root or to user %u "
                           "(the user of batond): chown it.",
                           options->setting, options->path, (unsigned)file->st_uid,
                           (unsigned)geteuid());
    if (file->st_mode & (S_IWGRP | S_IRWXO))
        return failure_set(failure, -EINVAL,
                           "--%s: other users may read or write %s (mode %04o). Use chmod 600, or "
                           "640 if its group has to read it.",
                           options->setting, options->path, (unsigned)file->st_mode & 07777);
    return 0;
}

static int file_check(const struct file_options *options, int fd, struct failure *failure)
{
    struct stat file;
    if (fstat(fd, &file) < 0)
        return file_cannot_read(options, errno, failure);
    if (!S_ISREG(file.st_mode))
        return failure_set(failure, -EINVAL, "--%s: %s is not a regular file", options->setting,
                           options->path);
    if ((size_t)file.st_size > options->longest)
        return file_too_long(options, failure);
    return options->is_private ? file_check_owner(options, &file, failure) : 0;
}

/* Reads `size` bytes, or up to the end. Returns a negative errno if reading fails. */
static ssize_t file_read_all(int fd, char *bytes, size_t size)
{
    size_t length = 0;
    while (length < size) {
        ssize_t got = read(fd, bytes + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

/* The file may grow while it is read. */
static int file_read_bytes(const struct file_options *options, int fd, char *bytes,
                           size_t *ret_length, struct failure *failure)
{
    ssize_t length = file_read_all(fd, bytes, options->longest + 1);
    if (length < 0)
        return file_cannot_read(options, (int)-length, failure);
    if ((size_t)length > options->longest)
        return file_too_long(options, failure);
    bytes[length] = '\0';
    if (!ret_length && strlen(bytes) < (size_t)length)
        return failure_set(failure, -EINVAL, "--%s: %s is not a text file", options->setting,
                           options->path);
    struct slice text = slice_skip_mark((struct slice){bytes, (size_t)length});
    memmove(bytes, text.bytes, text.length + 1);
    if (ret_length)
        *ret_length = text.length;
    return 0;
}

int file_read(const struct file_options *options, char **ret, size_t *ret_length,
              struct failure *failure)
{
    int fd = open(options->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return file_cannot_read(options, errno, failure);
    char *bytes = memory_checked(calloc(1, options->longest + 2));
    int result = file_check(options, fd, failure);
    if (result == 0)
        result = file_read_bytes(options, fd, bytes, ret_length, failure);
    close(fd);
    if (result == 0)
        *ret = bytes;
    else
        free(bytes);
    return result;
}
