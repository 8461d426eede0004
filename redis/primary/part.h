/* part.h: one of the primaries behind a store: the link to it, who is told of its keys, and who
 * confirms what it has answered. */
#ifndef BATON_REDIS_PART_H
#define BATON_REDIS_PART_H

#include "redis/pubsub/inbox.h"
#include "redis/wire/link.h"

/* Used on its loop's thread alone. */
struct part;

/* As their namesakes of struct store_events, none NULL but `stamp` and `late`; `number` is the
 * part's. */
struct part_events {
    void *context;
    void (*up)(void *context, unsigned number);
    void (*down)(void *context, unsigned number, const char *reason);
    void (*warning)(void *context, const char *text);
    void (*touched)(void *context, struct slice key);
    void (*answered)(void *context, unsigned number, uint64_t nanoseconds);
    void (*late)(void *context, unsigned number); /* as that of link.h */
    void (*stamp)(void *context, unsigned number, uint64_t now, char stamp[STORE_STAMP_LENGTH]);
    /* As that of link.h; NULL where no call has a routing. */
    void (*redirected)(void *context, struct call *call, const char *error);
    /* The marker's key is not served there: another one is to be given. May be NULL. */
    void (*marker_astray)(void *context, unsigned number);
};

struct part_options {
    uv_loop_t *loop;
    const struct redis_url *url; /* outlives the part */
    struct guide *guide;         /* as in session.h */
    unsigned number;
    struct part_events events;
};

/* Returns 0 or a negative errno. */
int part_open(struct part **ret, const struct part_options *options);

/* `closed` when the memory is gone. */
void part_close(struct part *part, void (*closed)(void *context), void *context);

struct link *part_link(struct part *part);
bool part_is_up(const struct part *part);

/* As store_mark. */
struct store_mark part_mark(const struct part *part);

/* From now on, and each time that `inbox` listens again, it is told of changed keys, while that is
 * asked for. */
void part_heard_by(struct part *part, const struct inbox *inbox);

/* As store_track and store_untrack. */
void part_track(struct part *part, struct slice prefix);
void part_untrack(struct part *part);

/* As store_expect_replicas; may be called again, with another key. */
void part_expect_replicas(struct part *part, struct slice key, int replicas);

/* As store_confirm. */
void part_confirm(struct part *part, struct store_mark mark, int replicas, int64_t timeout_ms,
                  store_confirmed *done, void *context);

#endif
