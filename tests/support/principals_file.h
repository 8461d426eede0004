/* principals_file.h: a tokens-file of a test's own, with tokens that the test can work out. */
#ifndef BATON_TESTS_SUPPORT_PRINCIPALS_FILE_H
#define BATON_TESTS_SUPPORT_PRINCIPALS_FILE_H

#include <stddef.h>

enum { PRINCIPAL_TOKEN_TEXT = 64, PRINCIPAL_HEADER_TEXT = 128 };

struct file_principal {
    const char *name;
    const char *rules; /* a JSON list */
    const char *more;  /* further members, each with a comma in front; NULL: none */
};

/* The token of the principal of that name: always the same. */
void principal_token(const char *name, char token[PRINCIPAL_TOKEN_TEXT]);

/* "Authorization: Bearer TOKEN" for it. */
void principal_header(const char *name, char header[PRINCIPAL_HEADER_TEXT]);

/* Writes a tokens-file of these, in the place of one that is there. Fails the test where it cannot.
 */
void principals_file_write(const char *path, const struct file_principal *principals, size_t count);

/* The same for any text, and with these permissions. */
void principals_file_put(const char *path, const char *text, unsigned mode);

#endif
