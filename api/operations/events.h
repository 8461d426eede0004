/* events.h: shared by watchLock and watchLocks: the version to start at, the time to end at, and
 * server-sent events (text/event-stream). */
#ifndef BATON_API_OPERATIONS_EVENTS_H
#define BATON_API_OPERATIONS_EVENTS_H

#include "api/http/context.h"
#include "api/http/exchange.h"

#include <sys/queue.h>

/* The longest silence of a stream, in ms: proxies close a silent connection after about a
 * minute. */
enum { EVENTS_SILENCE_MS = 15000 };

/* A request that watches. A plain request gets one reply. A stream watches in rounds. Each ends
 * with something new or with a sign of life. The next round begins when the client has read the
 * last one, so a slow client gets the then present state, and nothing piles up. */
struct events {
    struct exchange *exchange;
    int64_t after;    /* the version that the client knows */
    int64_t until_ms; /* when the stream ends, by the monotonic clock; INT64_MAX: never */
    bool begun;       /* the stream has begun: from now on only events can be sent */
    bool resumed;     /* its first round is being sent; it is in the API's event_streams */
    LIST_ENTRY(events) others;
};

/* Reads the parameters of the watch. */
void events_read(struct events *events, struct exchange *exchange);

/* Call this when the exchange is over or the client has gone. */
void events_close(struct events *events);

/* Sets whether Redis is up. Sends a change to every stream as an event `store`, except to a client
 * that is behind with reading: the result of its next round shows it. */
void events_set_store(struct api *api, bool is_available);

/* How long the next round may wait, in ms. */
int64_t events_wait(const struct events *events);

/* Writes an event with one line of data. `id` is where the client resumes after it; NULL: no place
 * to resume at. The first event begins the stream. */
void events_event(struct events *events, const char *event, const char *id, struct slice data);

/* Writes a sign of life without an event, and `id` as above. */
void events_nothing(struct events *events, const char *id);

/* Sends the events of the round. If it is the last round, `drained` is not called. */
void events_end_round(struct events *events);

/* Whether the client may still see the result of a round. During a long stream, SIGHUP may have
 * removed the right. */
bool events_may_be_seen(const struct events *events);

/* Ends a watch whose round has failed: with a problem, or with the end of the stream. */
void events_fail(struct events *events, const char *error);

#endif
