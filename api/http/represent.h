/* represent.h: holds and locks as JSON. */
#ifndef BATON_API_HTTP_REPRESENT_H
#define BATON_API_HTTP_REPRESENT_H

#include "api/http/exchange.h"

#include <jansson.h>

/* Each returns a new reference (or text), and aborts if memory has run out. */

/* A hold as its owner sees it, as text for free(3). */
char *represent_hold(struct slice name, struct slice token, const struct hold *hold);

/* The same as a JSON value, for use in another document. */
json_t *represent_hold_document(struct slice name, struct slice token, const struct hold *hold);

/* A release, for the client that released. */
json_t *represent_release_document(struct slice name, const struct release *release);

/* The same as a line of text, for free(3). */
char *represent_release(struct slice name, const struct release *release);

/* A lock as every reader sees it. */
json_t *represent_view(struct slice name, const struct lock_view *view);

/* The same for the client of this exchange: with `mine`, if it sent a token, and `position`, if
 * that token waits. */
json_t *represent_view_for(const struct exchange *exchange, const struct lock_view *view);

/* Adds the position of the token's waiter to a document, if it waits. */
void represent_position(json_t *document, const struct lock_view *view);

/* Answers with the lock as a line of text, for the client of this exchange. */
void reply_view_line(struct exchange *exchange, const struct lock_view *view);

/* The holders alone, for a refused client. */
json_t *represent_holders(const struct lock_view *view);

/* How a hold ended; null if unknown. */
json_t *represent_end(const struct hold_end *end);

/* A time in microseconds since 1970, in the format of RFC 3339. */
json_t *represent_moment(int64_t us);

/* The owner by the client's name, without its realm. */
json_t *represent_owner(struct slice owner);

/* Text from Redis; if it is not valid UTF-8, an empty string. */
json_t *represent_text(struct slice text);

#endif
