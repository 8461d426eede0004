#include "cli/token.h"

#include "base/base64url.h"
#include "base/memory.h"
#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TOKEN_BYTES = 16, TOKEN_LONGEST = 128 };

void token_make(char token[TOKEN_SIZE])
{
    unsigned char bytes[TOKEN_BYTES];
    random_bytes(bytes, sizeof bytes);
    base64url_encode(bytes, sizeof bytes, token);
}

/* Fills the buffer up to the end of the file. Returns the length, or a negative errno. */
static ssize_t token_read_all(int fd, char *buffer, size_t size)
{
    size_t length = 0;
    ssize_t got = 1;
    while (length < size && got > 0) {
        got = read(fd, buffer + length, size - length);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got < 0)
            return -errno;
        else
            length += (size_t)got;
    }
    return (ssize_t)length;
}

/* What may stand in a header: visible ASCII. */
static size_t token_length(const char *token)
{
    size_t length = 0;
    while (token[length] > ' ' && token[length] < 0x7f)
        length++;
    return length;
}

int token_read(const char *path, char token[TOKEN_SIZE], struct failure *failure)
{
    int is_input = strcmp(path, "-") == 0;
    int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t length = fd < 0 ? -errno : token_read_all(fd, token, TOKEN_SIZE - 1);
    if (fd >= 0 && !is_input)
        close(fd);
    if (length < 0)
        return failure_set(failure, -EINVAL, "--token-file: cannot read %s: %s", path,
                           strerror((int)-length));
    token[length] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    size_t valid = token_length(token);
    if (valid == 0 || token[valid] || valid > TOKEN_LONGEST)
        return failure_set(failure, -EINVAL,
                           "--token-file: %s has no token. baton acquire --token-file writes one.",
                           path);
    return 0;
}

static int token_file_fail(struct token_file *file, const char *verb, struct failure *failure)
{
    int error = errno;
    return failure_set(failure, -error, "--token-file: cannot %s %s: %s", verb, file->path,
                       strerror(error));
}

int token_file_open(struct token_file *file, const char *path, struct failure *failure)
{
    *file = (struct token_file){.path = path, .fd = -1};
    if (asprintf(&file->draft, "%s.XXXXXX", path) < 0)
        file->draft = NULL;
    memory_checked(file->draft);
    file->fd = mkostemp(file->draft, O_CLOEXEC); /* its mode is 0600 */
    if (file->fd >= 0)
        return 0;
    int result = token_file_fail(file, "write", failure);
    free(file->draft);
    file->draft = NULL;
    return result;
}

int token_file_put(struct token_file *file, const char *token, struct failure *failure)
{
    if (dprintf(file->fd, "%s\n", token) < 0)
        return token_file_fail(file, "write", failure);
    if (rename(file->draft, file->path) < 0)
        return token_file_fail(file, "put", failure);
    free(file->draft);
    file->draft = NULL;
    return 0;
}

void token_file_close(struct token_file *file)
{
    if (file->draft) {
        unlink(file->draft);
        free(file->draft);
    }
    if (file->path)
        close(file->fd);
    *file = (struct token_file){0};
}
