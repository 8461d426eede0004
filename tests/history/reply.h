/* reply.h: what a reply of Baton says, as a part of an event. */
#ifndef BATON_TESTS_HISTORY_REPLY_H
#define BATON_TESTS_HISTORY_REPLY_H

#include "tests/history/history.h"

#include <jansson.h>

/* What became of the event's operation, by the status (0: no reply) and the body (may be NULL). */
enum outcome reply_outcome(const struct event *event, long status, const json_t *body);

/* Sets what the reply said: `etag` and `body` may be NULL. */
void reply_read(struct event *event, const char *etag, const json_t *body);

#endif
