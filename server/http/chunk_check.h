/* chunk_check.h: finds lines between the chunks of a body that end with LF alone. */
#ifndef BATON_SERVER_HTTP_CHUNK_CHECK_H
#define BATON_SERVER_HTTP_CHUNK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libmicrohttpd 0.9 takes LF for CR LF, and hands over the bodies of chunks alone. But each run of
 * it parses what has come in one buffer, so the lines of that run lie around what it hands over. A
 * line whose chunk comes in a later run is gone by then. */
struct chunk_check {
    const char *start;  /* where each run begins to parse; NULL: nothing is checked */
    const char *end;    /* behind the last piece of a body; NULL: none has come */
    char last;          /* byte of that piece */
    uint64_t run;       /* in which it came */
    bool has_bare_feed; /* a line was found */
};

/* Call this for each piece of the body. */
void chunk_check_piece(struct chunk_check *check, const char *piece, size_t length, uint64_t run);

/* Call this when the body is complete. */
void chunk_check_end(struct chunk_check *check, uint64_t run);

#endif
