/* head_check.h: checks the request line and the header fields: every proxy between the client and
 * us must read the request in the same way, and batond must serve such requests. */
#ifndef BATON_SERVER_HTTP_HEAD_CHECK_H
#define BATON_SERVER_HTTP_HEAD_CHECK_H

#include "base/slice.h"

/* The state of one check. Any thread may use it; it refers to the slices until
 * head_check_passes. */
struct head_check {
    struct slice target;
    struct slice host; /* the value of the first Host field */
    bool is_1_0;
    unsigned hosts, lengths, codings; /* number of fields of each kind */
    /* The first fault and what is expected, for the client; NULL: none. */
    const char *refusal;
};

/* Call this first, with the three parts of the request line as they were sent. */
void head_check_begin(struct head_check *check, struct slice method, struct slice target,
                      struct slice version);

/* Call this for each header field; the value is as it was sent, without leading white space. */
void head_check_field(struct head_check *check, struct slice name, struct slice value);

/* The verdict: if false, refuse the request and end its connection. */
bool head_check_passes(struct head_check *check);

#endif
