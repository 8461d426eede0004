/* link.h: one connection to one Redis that comes back by itself, and the scripts called over it. */
#ifndef BATON_REDIS_LINK_H
#define BATON_REDIS_LINK_H

#include "redis/guide.h"
#include "redis/store.h"

struct link;

/* As struct store_events; `code` is -EPROTO where trying again won't help unless somebody acts,
 * else -EAGAIN. */
struct link_events {
    void *context;
    void (*up)(void *context);
    void (*down)(void *context, int code, const char *reason);
    void (*warning)(void *context, const char *text);
    /* Redis answered a link_track: with an error, or NULL. Not told where the link is lost first.
     */
    void (*tracked)(void *context, const char *error);
    /* A script has run, so long after it was given to link_eval. */
    void (*answered)(void *context, uint64_t nanoseconds);
};

/* All as their namesakes in store.h, `guide` as in session.h; no event may be NULL, but `answered`
 * of who runs no script. */
int link_open(struct link **ret, uv_loop_t *loop, const struct redis_url *url, struct guide *guide,
              const struct link_events *events, struct failure *failure);

void link_close(struct link *link, void (*closed)(void *context), void *context);

void link_eval(struct link *link, const struct script *script, struct slice key,
               const struct slice *arguments, size_t argument_count, store_done *done,
               void *context);

/* While it is up: CLIENT TRACKING for the keys that begin with `prefix`, told to the connection
 * that Redis calls `client_id`; and no more of that. */
void link_track(struct link *link, int64_t client_id, struct slice prefix);
void link_untrack(struct link *link);

/* As store_mark. */
struct store_mark link_mark(const struct link *link);

/* The run of Redis that answers, or did so last; "" where it does not say. */
const char *link_run_id(const struct link *link);

bool link_is_up(const struct link *link);
const char *link_trouble(const struct link *link);

/* What it is connected to, or tries to be, for messages. */
const char *link_place(const struct link *link);
struct store_figures link_figures(const struct link *link);

#endif
