/* journal.h: writes the access log, a line for each request, and the audit log, a line for each
 * begin and end of a hold. */
#ifndef BATON_SERVER_LOG_JOURNAL_H
#define BATON_SERVER_LOG_JOURNAL_H

#include "api/stats/lock_event.h"
#include "server/log/log.h"

/* Both show a token as the first digits of its SHA-256, the same in the log of each batond: printf
 * %s TOKEN | sha256sum | cut -c 1-12. A token has 128 random bits, so the digest needs no salt. */

/* A request that has ended. */
struct outcome {
    const struct exchange *exchange;
    const char *client;        /* its address, or "" */
    const char *forwarded_for; /* the client of a trusted proxy, or "" */
    int64_t took_us;           /* from the complete request to the end of the reply; -1: it was
                                * never complete */
    uint64_t bytes;            /* of the reply's body */
    bool delivered;            /* all of the reply was sent */
};

/* Whether requests are logged. `log` may be NULL. */
bool journal_wants_requests(const struct log *log);

/* Writes the line of the access log: at info, or at debug for the probes of monitors. */
void journal_answered(const struct log *log, const struct outcome *outcome);

/* Writes the line of the audit log, at info, if the event begins or ends a hold. `exchange` may be
 * NULL, as may `log`. */
void journal_happened(const struct log *log, const struct lock_event *event,
                      const struct exchange *exchange);

#endif
