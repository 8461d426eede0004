/* cross_site.h: refuses requests that a page of another site may have caused. */
#ifndef BATON_API_HTTP_CROSS_SITE_H
#define BATON_API_HTTP_CROSS_SITE_H

#include <stdbool.h>

struct exchange;

/* A page can make a browser send requests with the password or certificate that the browser has for
 * this batond, and to addresses that only the browser's machine can reach. So, on routes that are
 * not open to everybody, two kinds of request get 403 `untrusted_origin`:
 *
 * A request that changes something and does not come from a page of this batond, by Sec-Fetch-Site,
 * or by Origin without that. A client that sends neither is not a browser.
 *
 * If every client has every right: a request whose Host another site's DNS could point here, so
 * that its page would count as batond's own ("DNS rebinding"). Allowed are an address, a name
 * without a dot, localhost and names below it, names below .internal, .svc or .cluster.local, and
 * the names in struct api's allowed_hosts. host_name_compared says when a final dot makes a
 * difference.
 *
 * Returns false if it has answered. */
bool cross_site_check(struct exchange *exchange);

/* Whether a text is a valid allowed_hosts: names without ports, separated by commas. A name that
 * begins with a dot allows all names below it; * allows any. The empty text is an empty list. */
bool cross_site_hosts_are_valid(const char *list);

#endif
