/* tracking.h: keeps Redis telling the inbox of changed keys, over losses of link and inbox. */
#ifndef BATON_REDIS_PUBSUB_TRACKING_H
#define BATON_REDIS_PUBSUB_TRACKING_H

#include "base/failure.h"
#include "redis/pubsub/inbox.h"
#include "redis/wire/link.h"

/* Redis keeps a CLIENT TRACKING with the link's connection and sends to the inbox's, so it is lost
 * with either; of a loss of the inbox's, Redis says nothing to the link's. Zeroed is off. */
struct tracking {
    bool wanted;
    char *prefix;
    size_t prefix_length;
    unsigned awaiting; /* answers to CLIENT TRACKING ON */
    bool missed;       /* changes, since it was lost */
    bool trouble_is_told;
};

/* `inbox` may be NULL, or not be listening: then it begins with tracking_resume. */
void tracking_begin(struct tracking *tracking, struct link *link, const struct inbox *inbox,
                    struct slice prefix);

void tracking_end(struct tracking *tracking, struct link *link);

/* The link has a new connection: no answer comes on the old one. */
void tracking_reset(struct tracking *tracking);

/* The link or the inbox has a new connection. */
void tracking_resume(struct tracking *tracking, struct link *link, const struct inbox *inbox);

/* Redis answered: with an error, or NULL. Returns true if from now on every change is told, but
 * earlier ones may have been missed. */
bool tracking_answered(struct tracking *tracking, const char *error);

/* Whether `error` is to be told: then `warning` is filled. */
bool tracking_warn(struct tracking *tracking, const struct inbox *inbox, const char *error,
                   struct failure *warning);

/* Frees what it holds. */
void tracking_free(struct tracking *tracking);

#endif
