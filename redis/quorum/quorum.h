/* quorum.h: several independent primaries as the parts of one store: each is a store of one server.
 */
#ifndef BATON_REDIS_QUORUM_QUORUM_H
#define BATON_REDIS_QUORUM_QUORUM_H

#include "redis/store.h"

/* What the members say is put together by locks/, for only that knows what it means. Here each has
 * its connection, its inbox and its number, which is its place in the URL. */
struct quorum;

/* All as their namesakes in store.h; the URL is of the kind REDIS_QUORUM. */
int quorum_open(struct quorum **ret, uv_loop_t *loop, const struct redis_url *url,
                const struct store_events *events);
void quorum_close(struct quorum *quorum, void (*closed)(void *context), void *context);
unsigned quorum_count(const struct quorum *quorum);
struct store *quorum_member(const struct quorum *quorum, unsigned part);
int quorum_listen(struct quorum *quorum, struct slice channel);
unsigned quorum_telling(const struct quorum *quorum);

/* More than half of the members are up. */
bool quorum_is_up(const struct quorum *quorum);
const char *quorum_trouble(const struct quorum *quorum);

/* The member that is telling something now; outside of events, the first. */
const char *quorum_place(const struct quorum *quorum);

/* How many members are up, and which are not. Valid until the loop goes on. */
const char *quorum_summary(struct quorum *quorum);

struct store_figures quorum_figures(const struct quorum *quorum);

#endif
