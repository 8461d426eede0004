#include "cli/token.h"

#include "base/base64url.h"
#include "base/memory.h"
#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_BYTES = 16, TOKEN_LONGEST = 128 };

void token_make(char token[TOKEN_SIZE])
{
    unsigned char bytes[TOKEN_BYTES];
    random_bytes(bytes, sizeof bytes);
    base64url_encode(bytes, sizeof bytes, token);
}

int token_read(const char *path, char token[TOKEN_SIZE], struct failure *failure)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    size_t valid = 0;
    token[0] = '\0';
    bool is_read = file && (fgets(token, TOKEN_SIZE, file) || !ferror(file));
    int error = errno;
    if (file && file != stdin)
        fclose(file);
    if (!is_read)
        return failure_set(
            failure, -EINVAL, "--token-file: cannot read %s: %s.%s", path, strerror(error),
            error == ENOENT ? " Was the hold released? That removes the file. See who "
                              "has the lock with baton show NAME."
                            : "");
    token[strcspn(token, "\r\n")] = '\0';
    while (token[valid] > ' ' && token[valid] < 0x7f) /* what may stand in a header */
        valid++;
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

bool token_file_is_replaceable(const char *path)
{
    struct stat older;
    return path[0] && (lstat(path, &older) < 0 || S_ISREG(older.st_mode));
}

int token_file_open(struct token_file *file, const char *path, struct failure *failure)
{
    *file = (struct token_file){.path = path, .fd = -1};
    if (!token_file_is_replaceable(path))
        return failure_set(failure, -EINVAL,
                           "--token-file: \"%s\" is not a file. Name one in a directory that you "
                           "can write to.",
                           path);
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
