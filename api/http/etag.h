/* etag.h: a lock's version as an entity tag (RFC 9110, section 8.8.3). */
#ifndef BATON_API_HTTP_ETAG_H
#define BATON_API_HTTP_ETAG_H

#include <stdbool.h>
#include <stdint.h>

struct exchange;

/* Adds the ETag header. */
void etag_reply(struct exchange *exchange, int64_t version);

/* Whether If-None-Match (NULL if absent) lists this version, so that nothing has changed. Compares
 * weakly, as the RFC asks for GET; `*` fits any version. */
bool etag_matches(const char *if_none_match, int64_t version);

/* The same for any other ETag, including its quotes. */
bool etag_is_among(const char *if_none_match, const char *tag);

#endif
