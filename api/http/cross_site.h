/* cross_site.h: whether a page of another site may be behind a request. */
#ifndef BATON_API_HTTP_CROSS_SITE_H
#define BATON_API_HTTP_CROSS_SITE_H

#include <stdbool.h>

struct exchange;

/* A browser sends what a page tells it to, along with the password or certificate that it has for
 * this batond, and to addresses that only its own machine can reach. So two things are refused with
 * 403 `untrusted_origin`, where the route is not for everybody; false: it has been answered.
 *
 * What changes something and does not come from a page of this batond, as the browser says in
 * Sec-Fetch-Site, or in Origin where it does not send that. Who sends neither is no browser.
 *
 * Where whoever can connect may do all: a Host that the DNS of others could have pointed here, so
 * that their page would count as one of this batond ("DNS rebinding"). What cannot be so is an
 * address, a name without a dot, one below .localhost, .internal, .svc or .cluster.local, and what
 * struct api's allowed_hosts lists. */
bool cross_site_check(struct exchange *exchange);

/* Whether a text can be that list: names with commas between, without ports; one that begins with a
 * dot is for all below it, and * for any. The empty text is an empty list. */
bool cross_site_hosts_are_valid(const char *list);

#endif
