/* delivery_check.h: finds out of a reply that tells of a new hold whether it came to its client,
 * where the connection ended after it. */
#ifndef BATON_SERVER_HTTP_DELIVERY_CHECK_H
#define BATON_SERVER_HTTP_DELIVERY_CHECK_H

#include "api/operations/undelivered.h"
#include "server/metrics/metrics.h"

#include <uv.h>

/* Between the last look at the socket and the reply a client can go. Its kernel tells: whoever
 * closes after the reply has come acknowledges it no later than with its FIN, and whoever has
 * closed before answers the reply with a reset. A reset alone proves nothing: proxies reset
 * connections of which they have read all, and then the acknowledgement may never have been sent.
 *
 * Used on the worker's thread alone. */
struct delivery_checks;

enum { DELIVERIES_MOST = 64 }; /* descriptors; of more at a time it is not found out */

struct delivery_checks *delivery_checks_open(uv_loop_t *loop, struct metrics *metrics);

/* The reply was the last on this connection, which the library is about to close. What it told of
 * is taken back if the client had closed before the reply came; now, or when that shows. Takes
 * `undelivered` over. */
void delivery_check(struct delivery_checks *deliveries, int fd, struct undelivered *undelivered);

/* The same before the library says goodbye to a TLS client, which would take away what the kernel
 * knows of a reset; the connection may go on. Returns true, and takes `undelivered` over, where it
 * has shown by now that the reply did not come to its client. */
bool delivery_check_find_refused(struct delivery_checks *deliveries, int fd,
                                 struct undelivered *undelivered);

/* Takes every reply whose fate is open for received. The record is freed by the loop, in this turn.
 */
void delivery_checks_close(struct delivery_checks *deliveries);

#endif
