/* head_check.h: judges by its request line and header fields whether a request is HTTP that
 * everybody between its client and us reads alike, and may be served at all. */
#ifndef BATON_SERVER_HTTP_HEAD_CHECK_H
#define BATON_SERVER_HTTP_HEAD_CHECK_H

#include "base/slice.h"

/* What it has seen of a request so far. Of any thread; the slices are kept until head_check_passes.
 */
struct head_check {
    struct slice target;
    struct slice host; /* the value of the first Host field */
    bool is_1_0;
    unsigned hosts, lengths, codings; /* how many fields of the kind there are */
    /* What is wrong first, and what is expected, in words for the client; NULL where nothing is. */
    const char *refusal;
};

/* Begins with the three parts of the request line, as they were sent. */
void head_check_begin(struct head_check *check, struct slice method, struct slice target,
                      struct slice version);

/* Then each header field, with its value as it was sent but for the white space in front. */
void head_check_field(struct head_check *check, struct slice name, struct slice value);

/* Then the verdict: false where the request is to be refused and its connection to be ended. */
bool head_check_passes(struct head_check *check);

#endif
