/* request_head.h: checks the head of a request from libmicrohttpd, including what the library hides
 * from its callbacks. */
#ifndef BATON_SERVER_HTTP_REQUEST_HEAD_H
#define BATON_SERVER_HTTP_REQUEST_HEAD_H

#include <microhttpd.h>

/* Bytes of the request line and the header fields. */
size_t request_head_length(struct MHD_Connection *connection);

/* For MHD_OPTION_STRICT_FOR_CLIENT. */
int request_head_strictness(void);

/* For the first call of the access handler, with what it was given and the target as it was sent.
 * Returns what is wrong with the request, and what is expected, in words that last for ever; NULL
 * where it may be served. */
const char *request_head_refusal(struct MHD_Connection *connection, const char *target,
                                 const char *url, const char *method, const char *version);

#endif
