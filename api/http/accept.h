/* accept.h: which media type a client prefers, by its Accept (RFC 9110, 12.5.1). */
#ifndef BATON_API_HTTP_ACCEPT_H
#define BATON_API_HTTP_ACCEPT_H

#include <stdbool.h>

/* Each takes the field's value; NULL if the request has none, which accepts all. */

/* Whether plain text is wanted: it has a higher quality than JSON, which wins a tie. Clients that
 * take anything name text/plain first, as Spring's RestTemplate does. */
bool accept_prefers_text(const char *accept);

/* Whether a stream of events is wanted: text/event-stream is named, and has a higher quality than
 * JSON or the same and an earlier place. */
bool accept_prefers_events(const char *accept);

/* Whether a page is wanted: text/html is named, as by every browser, and has no lower quality than
 * plain text. */
bool accept_prefers_page(const char *accept);

#endif
