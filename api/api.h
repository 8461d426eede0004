/* api.h: the HTTP API: answers one exchange. */
#ifndef BATON_API_API_H
#define BATON_API_API_H

#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/route.h"

/* Checks an exchange by its head: the route, the caller, the caller's rate, and whether there is
 * room for its body. Returns false if it has answered: then the server needs no body. */
bool api_admit(struct api *api, struct exchange *exchange);

/* Answers an exchange that was admitted and has its body, or parks it: then exchange->answered is
 * called later, from the loop and not before api_handle returns. */
enum handling api_handle(struct exchange *exchange);

/* Answers a request that is not proper HTTP; `why` says what is wrong. */
void api_refuse_request(struct api *api, struct exchange *exchange, const char *why);

/* Answers an admitted exchange whose body is longer than EXCHANGE_BODY_LONGEST. */
void api_refuse_body(struct exchange *exchange);

/* Answers an exchange whose request line and header fields are larger than `most` bytes. */
void api_refuse_head(struct api *api, struct exchange *exchange, size_t most);

/* Replaces the principals; takes the reference over. A request under way keeps its principal. */
void api_set_principals(struct api *api, struct principals *principals);

/* Call this before batond stops. Waiting requests get 503 `draining`, watches get the present
 * state, streams end, and readiness fails from now on. Other requests are served as before. */
void api_drain(struct api *api);

/* Sets whether Redis is up, as known without asking it. Sends a change to all streams of events. */
void api_set_store(struct api *api, bool is_available);

/* Whether the reply has a new hold, which the client can learn from nothing else. */
bool api_has_granted(const struct exchange *exchange);

#endif
