/* tracking.h: makes Redis report changed keys to the inbox, also after session or inbox were lost.
 */
#ifndef BATON_REDIS_NODE_TRACKING_H
#define BATON_REDIS_NODE_TRACKING_H

#include "base/failure.h"
#include "redis/node/inbox.h"
#include "redis/wire/session.h"

/* A CLIENT TRACKING belongs to the session's connection and reports to the inbox's connection, so a
 * loss of either ends it. Redis does not report the inbox's loss to the session. Off at first. */
struct tracking {
    call_answered *answered; /* as in session_ask, for CLIENT TRACKING ON; set by the owner */
    bool wanted;
    char *prefix;
    size_t prefix_length;
    unsigned awaiting; /* answers to CLIENT TRACKING ON that have not come yet */
    bool missed;       /* changes may have been missed since the last loss */
    bool trouble_is_reported;
};

/* If `inbox` is NULL or not listening, tracking starts with tracking_resume. */
void tracking_begin(struct tracking *tracking, struct session *session, const struct inbox *inbox,
                    struct slice prefix);

void tracking_end(struct tracking *tracking, struct session *session);

/* The session has a new connection: no answer comes on the old one any more. */
void tracking_reset(struct tracking *tracking);

/* The session or the inbox has a new connection. */
void tracking_resume(struct tracking *tracking, struct session *session, const struct inbox *inbox);

/* Redis has answered: `error` is NULL or its error. Returns true if Redis reports every change from
 * now on, but earlier changes may have been missed. */
bool tracking_answered(struct tracking *tracking, const char *error);

/* Fills `warning` and returns true if the operator should learn of `error`. */
bool tracking_warn(struct tracking *tracking, const struct inbox *inbox, const char *error,
                   struct failure *warning);

void tracking_free(struct tracking *tracking);

#endif
