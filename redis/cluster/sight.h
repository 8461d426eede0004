/* sight.h: until when most of the primaries of a Cluster have said that a node is still one of
 * them.
 */
#ifndef BATON_REDIS_SIGHT_H
#define BATON_REDIS_SIGHT_H

#include "redis/address/url.h"
#include "redis/cluster/slots.h"

#include <stdint.h>
#include <uv.h>

/* A primary that was replaced may not know of it: it was cut off a moment ago, or stood still and
 * goes on. Whoever hears nobody else is granted locks there, while others are by its successor. So
 * a node is in sight for SIGHT_MS after the primaries were asked of which most have named it;
 * itself among them, for it is one of those that the Cluster counts. Two majorities have a primary
 * in common, but for the one in question: so once most of them name the successor, the old one is
 * in nobody's sight SIGHT_MS later. Only a cut in the moment of an election, which some primaries
 * have voted in and then do not hear the end of, may leave both with a majority, and Redis with two
 * primaries that both go on.
 *
 * It keeps a connection to every primary. Used on its loop's thread alone. Nodes have the numbers
 * of redis/cluster/roster.h. */
struct sight;

enum {
    SIGHT_MS = 2500,       /* enough for an answer that is lost, and a new connection */
    SIGHT_ASK_MS = 1000,   /* between two questions to the same primary, at most; */
    SIGHT_SPACE_MS = 50,   /* and at least */
    SIGHT_ANSWER_MS = 500, /* without an answer for this long its connection is given up */
};

/* Called from the loop; none may close the sight. */
struct sight_events {
    void *context;
    /* The number of what the node `by` calls so; CLUSTER_NOBODY: nobody that is known. */
    unsigned (*find)(void *context, const struct slot_node *named, unsigned by);
    /* sight_end may say something else than before, or the time of sight_wake has come. */
    void (*changed)(void *context);
};

/* `url` outlives it. */
struct sight *sight_open(uv_loop_t *loop, const struct redis_url *url,
                         const struct sight_events *events);
void sight_close(struct sight *sight, void (*closed)(void *context), void *context);

/* The node is one of the primaries, and is there; it is none any more. */
void sight_add(struct sight *sight, unsigned node, const char *host, int port);
void sight_remove(struct sight *sight, unsigned node);

/* All are asked as soon as that is decent. */
void sight_doubt(struct sight *sight);

/* On the loop's clock, in ms; 0: most have not named it so far, or not in their latest answers. */
uint64_t sight_end(const struct sight *sight, unsigned node);

/* `changed` is to be called at `due` (on the loop's clock, in ms) or before. */
void sight_wake(struct sight *sight, uint64_t due);

#endif
