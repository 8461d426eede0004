/* preflight.h: checks, before batond starts, that most members of a quorum answer. */
#ifndef BATON_REDIS_QUORUM_PREFLIGHT_H
#define BATON_REDIS_QUORUM_PREFLIGHT_H

struct failure;
struct redis_url;

/* See store_preflight. `url` is of the kind REDIS_QUORUM. */
int preflight_quorum(const struct redis_url *url, int timeout_ms, struct failure *failure);

#endif
