#include "tests/support/principals_file.h"

#include "base/digest.h"
#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void principal_token(const char *name, char token[PRINCIPAL_TOKEN_TEXT])
{
    struct digest digest = digest_of(slice_of(name));
    char hex[DIGEST_HEX_LENGTH + 1];
    digest_format(&digest, hex);
    snprintf(token, PRINCIPAL_TOKEN_TEXT, "baton_%.43s", hex);
}

void principal_header(const char *name, char header[PRINCIPAL_HEADER_TEXT])
{
    char token[PRINCIPAL_TOKEN_TEXT];
    principal_token(name, token);
    snprintf(header, PRINCIPAL_HEADER_TEXT, "Authorization: Bearer %s", token);
}

void principals_file_put(const char *path, const char *text, unsigned mode)
{
    char new_path[512];
    snprintf(new_path, sizeof new_path, "%s.new", path);
    int fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t length = strlen(text);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    assert_int_equal(rename(new_path, path), 0);
}

static void print_principal(FILE *out, const struct file_principal *principal)
{
    char token[PRINCIPAL_TOKEN_TEXT], hex[DIGEST_HEX_LENGTH + 1];
    principal_token(principal->name, token);
    struct digest digest = digest_of(slice_of(token));
    digest_format(&digest, hex);
    fprintf(out, "{\"name\":\"%s\",\"sha256\":\"%s\",\"rules\":%s%s}", principal->name, hex,
            principal->rules, principal->more ? principal->more : "");
}

void principals_file_write(const char *path, const struct file_principal *principals, size_t count)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    fputs("{\"principals\":[", out);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ",\n" : "\n", out);
        print_principal(out, &principals[i]);
    }
    fputs("\n]}\n", out);
    fclose(out);
    principals_file_put(path, text, 0600);
    free(text);
}
