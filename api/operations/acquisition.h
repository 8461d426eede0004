/* acquisition.h: shared by acquireLock and acquireLocks: the request with its defaults, and the
 * answers without a grant. */
#ifndef BATON_API_OPERATIONS_ACQUISITION_H
#define BATON_API_OPERATIONS_ACQUISITION_H

#include "api/http/exchange.h"

/* Builds the request from the parameters, except for its name. Makes a token and an owner if the
 * client gave none. Returns false if it has answered, because two fields exclude each other. */
bool acquisition_read(struct exchange *exchange, struct acquire *ret);

/* How many replicas of Redis must confirm this request: the server's setting, or the client's
 * number if that is higher. */
int64_t acquisition_replicas(const struct exchange *exchange);

/* The token that the client gave, or that was made for it. */
struct slice acquisition_token(const struct exchange *exchange);

/* Answers with the bare token, for shell scripts. */
void acquisition_answer_token(struct exchange *exchange, unsigned status);

/* Adds the headers of a reply with a hold of the exchange's name. */
void acquisition_headers(struct exchange *exchange, const struct hold *hold);

/* Answers with the problem for a result that is not a hold. `refused` is the one of several names
 * that was refused; absent if there is only one name. */
void acquisition_refuse(struct exchange *exchange, enum locks_result result,
                        const struct lock_view *view, const char *error, struct slice refused);

#endif
