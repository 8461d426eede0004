/* confirm.h: whether replicas have what Redis has answered: the question and the reply. */
#ifndef BATON_REDIS_TYPES_CONFIRM_H
#define BATON_REDIS_TYPES_CONFIRM_H

#include <stdint.h>

enum { STORE_REPLICAS_MOST = 8 }; /* that can be asked to confirm */

/* Where an answer of Redis stands among all: which connection it came by, and when its script was
 * sent (uv_hrtime). */
struct store_mark {
    unsigned part;
    uint64_t connection; /* of that part; 0: none */
    uint64_t sent;
};

/* `error` is NULL where enough replicas have it, else says why not or why that is not known, for
 * clients; valid during the callback. */
typedef void store_confirmed(void *context, const char *error);

#endif
