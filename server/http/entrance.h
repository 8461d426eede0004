/* entrance.h: leads a request of libmicrohttpd's past the gate, with what the library hides from
 * its callbacks where that can be told. */
#ifndef BATON_SERVER_HTTP_ENTRANCE_H
#define BATON_SERVER_HTTP_ENTRANCE_H

#include <microhttpd.h>

/* For MHD_OPTION_STRICT_FOR_CLIENT. */
int entrance_strictness(void);

/* For the first call of the access handler, with what it was given and the target as it was sent.
 * Returns what is wrong with the request, and what is expected, in words that last for ever; NULL
 * where it may be served. */
const char *entrance_refusal(struct MHD_Connection *connection, const char *target, const char *url,
                             const char *method, const char *version);

#endif
