/* delivery_check.h: finds out whether a reply with a new hold reached its client, if the connection
 * ended after the reply. */
#ifndef BATON_SERVER_HTTP_DELIVERY_CHECK_H
#define BATON_SERVER_HTTP_DELIVERY_CHECK_H

#include "api/operations/undelivered.h"
#include "server/metrics/metrics.h"

#include <uv.h>

/* A client can disconnect between the last check of the socket and the reply. Its kernel shows
 * that: a client that closes after the reply has come acknowledges the reply with its FIN at the
 * latest. A client that closed before answers the reply with a reset. A reset alone proves nothing:
 * proxies also reset connections that they have read to the end, and then may never send the
 * acknowledgement.
 *
 * Use it on the worker's thread alone. */
struct delivery_checks;

enum { DELIVERIES_MOST = 64 }; /* descriptors; further replies count as received */

struct delivery_checks *delivery_checks_open(uv_loop_t *loop, struct metrics *metrics);

/* The reply was the last on this connection, and the library is about to close it. If the client
 * had closed before the reply came, takes its holds back, now or when that shows. Takes
 * `undelivered` over. */
void delivery_check(struct delivery_checks *deliveries, int fd, struct undelivered *undelivered);

/* The same, before the library sends close_notify to a TLS client: that would delete what the
 * kernel knows of a reset. The connection may go on. Returns true, and takes `undelivered` over, if
 * the reply certainly did not reach its client. */
bool delivery_check_find_refused(struct delivery_checks *deliveries, int fd,
                                 struct undelivered *undelivered);

/* Counts every open check as received. The loop frees the record in this turn. */
void delivery_checks_close(struct delivery_checks *deliveries);

#endif
