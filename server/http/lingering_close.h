/* lingering_close.h: writes a last reply to connections that are not served, and closes them
 * later. */
#ifndef BATON_SERVER_HTTP_LINGERING_CLOSE_H
#define BATON_SERVER_HTTP_LINGERING_CLOSE_H

#include <stddef.h>
#include <uv.h>

/* If a socket is closed while its client still sends, the connection is reset and the reply may be
 * lost. So each stays open for a second. Their number is limited, and the oldest closes first, so
 * that clients that reconnect again and again cost no more. */
struct lingering_closes;

enum { LINGERING_MOST = 32 }; /* descriptors */

struct lingering_closes *lingering_closes_open(uv_loop_t *loop);

/* Closes all. The loop frees the record in this turn. */
void lingering_closes_close(struct lingering_closes *lingering);

/* Writes the text without blocking, and takes the descriptor over. */
void lingering_close_begin(struct lingering_closes *lingering, int fd, const char *text,
                           size_t length);

#endif
