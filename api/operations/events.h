/* events.h: what watching a lock and watching a prefix share: the version and time to start and end
 * at, and server-sent events (text/event-stream). */
#ifndef BATON_API_OPERATIONS_EVENTS_H
#define BATON_API_OPERATIONS_EVENTS_H

#include "api/http/context.h"
#include "api/http/exchange.h"

#include <sys/queue.h>

/* A request that watches. One for a reply answers once; a stream watches in rounds, each of which
 * ends with something new or with a sign of life. The next round begins when the stream has been
 * drained: a client that reads slowly is told what is new then, and nothing piles up for it. */
struct events {
    struct exchange *exchange;
    int64_t after;    /* the version that the client knows */
    int64_t until_ms; /* of the monotonic clock: when a stream ends; INT64_MAX where it does not */
    bool begun;       /* the stream has: nothing but events can be answered */
    bool resumed;     /* its first round is on its way; it is among the streams of its API */
    LIST_ENTRY(events) others;
};

/* Reads the parameters of the watch. */
void events_read(struct events *events, struct exchange *exchange);

/* Ends the watch: the exchange is over or the client has gone. */
void events_close(struct events *events);

/* Says whether Redis can be asked. A change goes to every stream as an event `store`, except to a
 * client that is behind with reading: the result of its next round shows it. */
void events_set_store(struct api *api, bool is_available);

/* How long to wait in the next round. */
int64_t events_wait(const struct events *events);

/* Writes an event, whose data is one line. With an `id` the client knows from then on where to go
 * on; NULL for none. The first one of all begins the stream. */
void events_event(struct events *events, const char *event, const char *id, struct slice data);

/* The same for no event at all: a sign of life, and `id` as above. */
void events_nothing(struct events *events, const char *id);

/* Sends what the round has brought. Where the stream ends with it, it is never drained. */
void events_end_round(struct events *events);

/* Whether the result of a round may be sent. A stream lasts long, and SIGHUP may have taken the
 * right to see it from the client. */
bool events_may_be_seen(const struct events *events);

/* A round has failed: answers with the problem, or ends the stream. */
void events_fail(struct events *events, const char *error);

#endif
