/* api.h: the HTTP interface as a whole: takes an exchange, sees to it that it is answered. */
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

/* From now on these may ask; takes the reference over. Requests under way go on as those they were.
 */
void api_set_principals(struct api *api, struct principals *principals);

/* This batond is about to stop. Whoever waits is answered 503 `draining`, watches get what there
 * is, streams end, and readiness is denied from now on; all else is served as before. */
void api_drain(struct api *api);

/* Whether Redis can be asked, as far as is known without asking it: streams of events are told
 * where that has changed. */
void api_set_store(struct api *api, bool is_available);

/* Whether the reply tells of a new hold, which nobody else can tell the client of. */
bool api_has_granted(const struct exchange *exchange);

#endif
