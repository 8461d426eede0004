/* api.h: the HTTP API as a whole: takes an exchange and has it answered. */
#ifndef BATON_API_API_H
#define BATON_API_API_H

#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/route.h"

/* Judges an exchange by its head: whether there is such a route, who asks, how often, and whether
 * its body may be kept. False where it has been answered, so that nothing of its body is needed. */
bool api_admit(struct api *api, struct exchange *exchange);

/* Answers an exchange that was admitted and has its body, or parks it: then exchange->answered is
 * called later, from the loop and not before api_handle has returned. */
enum handling api_handle(struct exchange *exchange);

/* Answers an exchange that is no proper HTTP, and why not. */
void api_refuse_request(struct api *api, struct exchange *exchange, const char *why);

/* Answers an exchange that was admitted, whose body is longer than EXCHANGE_BODY_LONGEST. */
void api_refuse_body(struct exchange *exchange);

/* Answers an exchange whose request line and header fields are larger than `most` bytes. */
void api_refuse_head(struct api *api, struct exchange *exchange, size_t most);

/* Replaces the principals; takes the reference over. A request under way keeps its principal. */
void api_set_principals(struct api *api, struct principals *principals);

/* This batond is about to stop. Waiting requests get 503 `draining`, watches get what is known,
 * streams end, and readiness is denied from now on. Other requests are served as before. */
void api_drain(struct api *api);

/* Says whether Redis can be asked, as known without asking it. A change is sent to all streams of
 * events. */
void api_set_store(struct api *api, bool is_available);

/* Whether the reply carries a new hold, which the client cannot learn of in another way. */
bool api_has_granted(const struct exchange *exchange);

#endif
