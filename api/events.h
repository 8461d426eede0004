/* events.h: what both kinds of watching have in common: after which version and for how long, and
 * server-sent events (text/event-stream) where the client wants them. */
#ifndef BATON_API_EVENTS_H
#define BATON_API_EVENTS_H

#include "api/exchange.h"

/* A request that watches. One for a reply answers once; a stream watches in rounds, each of which
 * ends with something new or with a sign of life. */
struct events {
    struct exchange *exchange;
    int64_t after;    /* the version that the client knows */
    int64_t until_ms; /* of the monotonic clock: when a stream ends; INT64_MAX where it does not */
    bool begun;       /* the stream has */
};

/* Reads what the client wants to know. */
void events_read(struct events *events, struct exchange *exchange);

/* How long to wait in the next round. */
int64_t events_wait(const struct events *events);

/* Appends an event to `text`: its data is the document, which is taken over. With an `id` the
 * client knows from then on where to go on; 0 for none. A NULL text is an empty one; it is never
 * NULL afterwards, and goes to events_send at last. */
char *events_add(char *text, const char *event, int64_t id, json_t *document);

/* The same for no event at all: a sign of life, and `id` as above. */
char *events_add_nothing(char *text, int64_t id);

/* Sends what a round has brought, and begins the stream before the first. False where the stream
 * has ended with it: nothing is to be watched any more. */
bool events_send(struct events *events, char *text);

/* Whether what a round has brought may be sent. A stream has no end of its own, and SIGHUP may have
 * taken from its client what it could see. */
bool events_may_be_seen(const struct events *events);

/* What a round has brought is not to be had: answers with the problem, or ends the stream. */
void events_fail(struct events *events, const char *error);

#endif
