/* chunk_check.h: finds lines between the chunks of a body that end with LF alone. */
#ifndef BATON_SERVER_HTTP_CHUNK_CHECK_H
#define BATON_SERVER_HTTP_CHUNK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libmicrohttpd 0.9 takes LF for CR LF, and hands over only the chunks' content. But each of its
 * runs parses what has arrived in one buffer, so the lines of that run lie around what it hands
 * over. The line of a chunk that arrives in a later run is gone by then. */
struct chunk_check {
    const char *start;  /* where each run begins to parse; NULL: no check */
    const char *end;    /* behind the last piece of a body; NULL: none yet */
    char last;          /* last byte of that piece */
    uint64_t run;       /* the run of that piece */
    bool has_bare_feed; /* such a line was found */
};

/* Call this for each piece of the body. */
void chunk_check_piece(struct chunk_check *check, const char *piece, size_t length, uint64_t run);

/* Call this when the body is complete. */
void chunk_check_end(struct chunk_check *check, uint64_t run);

#endif
