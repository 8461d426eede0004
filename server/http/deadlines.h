/* deadlines.h: the deadline of each connection. One list per kind, in the order of time, so that
 * each step costs the same for any number of connections. */
#ifndef BATON_SERVER_HTTP_DEADLINES_H
#define BATON_SERVER_HTTP_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum deadline_kind {
    DEADLINE_NONE,  /* no time limit, or already missed */
    DEADLINE_HEAD,  /* until the request line and the header fields have come */
    DEADLINE_BODY,  /* until the body has come */
    DEADLINE_REPLY, /* until the client has read the reply */
    DEADLINE_IDLE,  /* until the next request */
    DEADLINE_KINDS,
};

/* Embed it, zeroed. */
struct deadline {
    enum deadline_kind kind;
    uint64_t at;
    TAILQ_ENTRY(deadline) others;
};

/* All deadlines of a kind last for the same time, so each list is in order without sorting. */
struct deadlines {
    int64_t lasts_ms[DEADLINE_KINDS];
    TAILQ_HEAD(deadline_list, deadline) lists[DEADLINE_KINDS];
};

/* `lasts_ms` has a time for each kind except DEADLINE_NONE. */
void deadlines_init(struct deadlines *deadlines, const int64_t lasts_ms[DEADLINE_KINDS]);

/* Replaces the deadline; DEADLINE_NONE: it has none. `now_ms` must not go back. */
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, enum deadline_kind kind,
                   uint64_t now_ms);

/* The time of the first deadline of all; false if there is none. */
bool deadlines_next(const struct deadlines *deadlines, uint64_t *ret_at);

/* The first of this kind; NULL if there is none. */
struct deadline *deadlines_first(const struct deadlines *deadlines, enum deadline_kind kind);

/* A missed deadline, NULL if there is none. It stays in its list until you set it again. */
struct deadline *deadlines_missed(const struct deadlines *deadlines, uint64_t now_ms);

#endif
