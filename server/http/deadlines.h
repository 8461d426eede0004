/* deadlines.h: until when each connection may take for what it is about: lists in the order in
 * which their deadlines end, so that each step costs the same however many there are. */
#ifndef BATON_SERVER_HTTP_DEADLINES_H
#define BATON_SERVER_HTTP_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum deadline_kind {
    DEADLINE_NONE,  /* it waits by right, or has missed one */
    DEADLINE_HEAD,  /* of a request: its line and header fields */
    DEADLINE_BODY,  /* of a request */
    DEADLINE_REPLY, /* is to be read by the client */
    DEADLINE_IDLE,  /* until the next request */
    DEADLINE_KINDS,
};

/* To be embedded; zeroed before the first use. */
struct deadline {
    enum deadline_kind kind;
    uint64_t at;
    TAILQ_ENTRY(deadline) others;
};

/* All of one kind last for the same time, so that each list is in order by itself. */
struct deadlines {
    int64_t lasts_ms[DEADLINE_KINDS];
    TAILQ_HEAD(deadline_list, deadline) lists[DEADLINE_KINDS];
};

/* `lasts_ms` for each kind; that of DEADLINE_NONE does not matter. */
void deadlines_init(struct deadlines *deadlines, const int64_t lasts_ms[DEADLINE_KINDS]);

/* In place of the one before; with DEADLINE_NONE, none. `now_ms` may not go back. */
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, enum deadline_kind kind,
                   uint64_t now_ms);

/* When the next one ends; false where there is none. */
bool deadlines_next(const struct deadlines *deadlines, uint64_t *ret_at);

/* Of this kind the one that ends first; NULL where there is none. */
struct deadline *deadlines_first(const struct deadlines *deadlines, enum deadline_kind kind);

/* One that has been missed, NULL where none has. It stays until it is set to another. */
struct deadline *deadlines_missed(const struct deadlines *deadlines, uint64_t now_ms);

#endif
