/* target.h: splits and decodes the target of a request line. */
#ifndef BATON_API_HTTP_TARGET_H
#define BATON_API_HTTP_TARGET_H

#include "base/slice.h"

/* The path and the query of a raw target, in origin form ("/locks/a?ttl=5s") or absolute form
 * ("http://host/locks/a"). "http://host" has the path "/", a constant (RFC 9110, 4.2.3); else both
 * point into `target`. Anything else has an empty path. The query is absent where there is no
 * question mark. */
void target_split(const char *target, struct slice *ret_path, struct slice *ret_query);

/* Decodes %XX into `bytes`, which has room for text.length bytes. Returns 0 and sets *ret_length,
 * or -EINVAL for a % without two hexadecimal digits. */
int percent_decode(struct slice text, char *bytes, size_t *ret_length);

/* Writes the text and a NUL, every character that is not unreserved (RFC 3986) as %XX: at most 3 *
 * text.length + 1 bytes. Returns the length without the NUL. */
size_t percent_encode(struct slice text, char *ret);

/* Removes the first name=value from a query, undecoded. Returns false at the end. A name without
 * "=" has an absent value. */
bool query_next(struct slice *query, struct slice *ret_name, struct slice *ret_value);

#endif
