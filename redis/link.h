/* link.h: one connection to one Redis that comes back by itself, and the scripts called over it. */
#ifndef BATON_REDIS_LINK_H
#define BATON_REDIS_LINK_H

#include "redis/store.h"

struct link;

/* As struct store_events; `code` is -EPROTO where trying again won't help unless somebody acts,
 * else -EAGAIN. */
struct link_events {
    void *context;
    void (*up)(void *context);
    void (*down)(void *context, int code, const char *reason);
    void (*warning)(void *context, const char *text);
};

/* All as their namesakes in store.h; no event may be NULL. */
int link_open(struct link **ret, uv_loop_t *loop, const struct redis_url *url,
              const struct link_events *events, struct failure *failure);

void link_close(struct link *link, void (*closed)(void *context), void *context);

void link_eval(struct link *link, const struct script *script, struct slice key,
               const struct slice *arguments, size_t argument_count, store_done *done,
               void *context);

bool link_is_up(const struct link *link);
const char *link_trouble(const struct link *link);
struct store_figures link_figures(const struct link *link);

#endif
