/* lingering_close.h: the last word to connections that are not served, and their end in good order.
 */
#ifndef BATON_SERVER_HTTP_LINGERING_CLOSE_H
#define BATON_SERVER_HTTP_LINGERING_CLOSE_H

#include <stddef.h>
#include <uv.h>

/* A socket that is closed while its client is still sending is reset, and what was written to it
 * may be lost: so each stays for a second. Only so many do at a time, the oldest going first, so
 * that whoever comes again and again costs no more than that. */
struct lingering_closes;

enum { LINGERING_MOST = 32 }; /* descriptors */

struct lingering_closes *lingering_closes_open(uv_loop_t *loop);

/* Closes all. The record is freed by the loop, in this turn. */
void lingering_closes_close(struct lingering_closes *lingering);

/* Writes the text, as far as it can be written at once, and takes the descriptor over. */
void lingering_close_begin(struct lingering_closes *lingering, int fd, const char *text,
                           size_t length);

#endif
