/* guarded.h: a batond with a tokens-file, and requests of the principals that are in it. */
#ifndef BATON_TESTS_INTEGRATION_GUARDED_H
#define BATON_TESTS_INTEGRATION_GUARDED_H

#include "tests/integration/service.h"
#include "tests/support/principals_file.h"

struct guarded {
    struct service service;
    struct temp_dir dir;
    char file[128]; /* the tokens-file */
};

/* Starts one on a Redis of its own, with so many workers, or with these flags (few), and these
 * principals.
 */
void guarded_open(struct guarded *guarded, const struct file_principal *principals, size_t count,
                  int workers);
void guarded_open_with(struct guarded *guarded, const struct file_principal *principals,
                       size_t count, const char *const *arguments);
void guarded_close(struct guarded *guarded);

/* Writes the file anew and has batond read it. `heard` is what it has to log of that. */
void guarded_reload(struct guarded *guarded, const struct file_principal *principals, size_t count);
void guarded_reload_text(struct guarded *guarded, const char *text, const char *heard);

/* What one sends: as this principal (NULL: without credentials), with a token (NULL: none), with
 * one more header (NULL: none), and a body (NULL: none). Returns the status. */
struct as {
    const char *principal;
    const char *token;
    const char *header;
    const char *body;
};
long asks(struct http_client *client, struct as as, const char *request);

/* The same where the status is known; fails the test where it is another. */
#define asks_for(client, as, request, status)                                                      \
    asks_for_at(client, as, request, status, __FILE__, __LINE__)
void asks_for_at(struct http_client *client, struct as as, const char *request, long status,
                 const char *file, int line);

#define AS(name)           ((struct as){.principal = (name)})
#define AS_WITH(name, its) ((struct as){.principal = (name), .token = (its)})

#endif
