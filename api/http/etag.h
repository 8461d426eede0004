/* etag.h: a lock's version as an entity tag (RFC 9110, section 8.8.3), and the fence of a hold. */
#ifndef BATON_API_HTTP_ETAG_H
#define BATON_API_HTTP_ETAG_H

#include <stdbool.h>
#include <stdint.h>

struct exchange;
struct lock_view;

/* Adds the ETag header. */
void etag_reply(struct exchange *exchange, int64_t version);

/* Adds the Lock-Fence header, unless `fence` is 0. */
void fence_reply(struct exchange *exchange, int64_t fence);

/* Adds both for a lock; no fence if it has several holds. */
void etag_reply_view(struct exchange *exchange, const struct lock_view *view);

/* Whether If-None-Match (NULL if absent) lists this version, so that nothing has changed. Compares
 * weakly, as the RFC asks for GET; `*` fits any version. */
bool etag_matches(const char *if_none_match, int64_t version);

/* The same for any other ETag, including its quotes. */
bool etag_is_among(const char *if_none_match, const char *tag);

#endif
