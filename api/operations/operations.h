/* operations.h: the handlers of the routes; each has a file of its own, named as its operationId.
 * DELETE /locks has two: release_locks hands force=true on to break_locks. */
#ifndef BATON_API_OPERATIONS_OPERATIONS_H
#define BATON_API_OPERATIONS_OPERATIONS_H

#include "api/http/route.h"

enum handling acquire_lock(struct exchange *exchange);
enum handling renew_lock(struct exchange *exchange);
enum handling release_lock(struct exchange *exchange);
enum handling inspect_lock(struct exchange *exchange);
enum handling list_locks(struct exchange *exchange);
enum handling watch_lock(struct exchange *exchange);
enum handling acquire_locks(struct exchange *exchange);
enum handling renew_locks(struct exchange *exchange);
enum handling release_locks(struct exchange *exchange);
enum handling break_locks(struct exchange *exchange);
enum handling watch_locks(struct exchange *exchange);
enum handling get_liveness(struct exchange *exchange);
enum handling get_readiness(struct exchange *exchange);
enum handling get_metrics(struct exchange *exchange);
enum handling get_stats(struct exchange *exchange);
enum handling get_quarantine(struct exchange *exchange);
enum handling end_quarantine(struct exchange *exchange);
enum handling get_caller(struct exchange *exchange);
enum handling get_openapi(struct exchange *exchange);
enum handling get_ui(struct exchange *exchange);
enum handling get_start(struct exchange *exchange);

#endif
