/* confirm.h: whether replicas have what Redis has answered. */
#ifndef BATON_REDIS_TYPES_CONFIRM_H
#define BATON_REDIS_TYPES_CONFIRM_H

#include <stdint.h>

enum { STORE_REPLICAS_MOST = 8 }; /* the most replicas that can be asked */

/* Where an answer of Redis stands among all its answers: by which connection it came, and when its
 * script was sent (uv_hrtime). */
struct store_mark {
    unsigned shard;
    uint64_t connection; /* of that shard; 0: none */
    uint64_t sent;
};

/* `error` is NULL if enough replicas have the data. Else it says, for clients, why they do not, or
 * why batond cannot know. It is valid during the callback. */
typedef void store_confirmed(void *context, const char *error);

#endif
