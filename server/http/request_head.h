/* request_head.h: runs head_check on a request of libmicrohttpd, and finds what the library hides
 * from its callbacks. */
#ifndef BATON_SERVER_HTTP_REQUEST_HEAD_H
#define BATON_SERVER_HTTP_REQUEST_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>

/* Bytes of the request line and the header fields. */
size_t request_head_length(struct MHD_Connection *connection);

/* For MHD_OPTION_STRICT_FOR_CLIENT. */
int request_head_strictness(void);

/* Call this in the first call of the access handler, with its arguments and the target as it was
 * sent. Returns the fault and what is expected, as a constant text; NULL if there is none. */
const char *request_head_refusal(struct MHD_Connection *connection, const char *target,
                                 const char *url, const char *method, const char *version);

/* Returns the first fault of a header field; NULL: none has one. */
const char *request_head_field_refusal(struct MHD_Connection *connection);

/* Whether libmicrohttpd is of version 0.9. */
bool request_head_is_0_9(void);

#endif
