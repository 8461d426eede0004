/* journal.h: the lines of the log that tell of requests (the access log) and of locks (the audit
 * log). */
#ifndef BATON_SERVER_LOG_JOURNAL_H
#define BATON_SERVER_LOG_JOURNAL_H

#include "api/stats/lock_event.h"
#include "server/log/log.h"

/* In both, a token stands as the first digits of its SHA-256, which is the same in the log of each
 * batond, and for whoever has the token: printf %s TOKEN | sha256sum | cut -c 1-12. No salt is
 * needed to keep it secret, since tokens are 128 random bits. */

/* A request that has come to its end. */
struct outcome {
    const struct exchange *exchange;
    const char *client;        /* its address, or "" */
    const char *forwarded_for; /* whom a trusted proxy has sent it for, or "" */
    int64_t took_us;           /* from the whole request to the end of the reply; -1: it was never
                                * whole */
    uint64_t bytes;            /* of the reply's body */
    bool delivered;            /* all of the reply was sent */
};

/* Whether there is a line for requests. `log` may be NULL. */
bool journal_wants_requests(const struct log *log);

/* The line of the access log: at the level info, or debug for what monitors ask. */
void journal_answered(const struct log *log, const struct outcome *outcome);

/* The line of the audit log: at the level info, for the begin and the end of a hold; nothing for
 * all else. `exchange` may be NULL, as may `log`. */
void journal_happened(const struct log *log, const struct lock_event *event,
                      const struct exchange *exchange);

#endif
