/* journal.h: a line of the log for each request that was answered, for who looks for one of them.
 */
#ifndef BATON_SERVER_JOURNAL_H
#define BATON_SERVER_JOURNAL_H

#include "api/exchange.h"
#include "server/log.h"

/* At the level debug only; NULL logs nothing. A token stands there as the first digits of its
 * SHA-256, which is the same in the log of each batond, and for whoever has the token:
 * printf %s TOKEN | sha256sum | cut -c 1-12. No salt is needed to keep it secret, since tokens are
 * 128 random bits. */
void journal_answered(const struct log *log, const struct exchange *exchange);

#endif
