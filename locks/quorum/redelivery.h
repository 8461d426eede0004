/* redelivery.h: sends a script to a member of a quorum again and again until the member replies,
 * such as one that takes a hold back. Internal to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_REDELIVERY_H
#define BATON_LOCKS_QUORUM_REDELIVERY_H

#include "redis/store.h"

struct locks;

/* At once. Beyond that a script is sent only once, and what it concerns ends by its TTL. */
enum { REDELIVERIES_MOST = 100000 };

/* A list of all that have no reply yet, sent or not. */
struct redeliveries {
    struct redelivery *first;
    unsigned count;
};

void redeliveries_free(struct redeliveries *redeliveries);

/* Sends the script to the member now, or when the member is up again, until it replies. It gives up
 * useful_ms from now, since what the script concerns has then ended by itself. Everything is
 * copied. The member runs it before anything that is sent by the same connection later. */
void redelivery_add(struct locks *locks, struct redeliveries *redeliveries, unsigned member,
                    const struct script *script, struct slice key, const struct slice *arguments,
                    size_t argument_count, int64_t useful_ms);

/* The member is up again. */
void redeliveries_send(struct locks *locks, struct redeliveries *redeliveries, unsigned member);

/* Call this about once a second: sends again what a member refused, and drops what is too late. */
void redeliveries_try_again(struct locks *locks, struct redeliveries *redeliveries);

/* Whether no member that is up has yet to reply. */
bool redeliveries_are_settled(const struct locks *locks, const struct redeliveries *redeliveries);

#endif
