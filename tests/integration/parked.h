/* parked.h: a request that is under way while the test goes on: one that waits, or whose reply is a
 * stream. */
#ifndef BATON_TESTS_INTEGRATION_PARKED_H
#define BATON_TESTS_INTEGRATION_PARKED_H

#include "tests/integration/service.h"

enum { PARKED_TEXT = 128 * 1024 };

struct parked {
    struct http_client client; /* once complete, its reply: for http_text, member and the like */
    int fd;
    size_t length;
    size_t seen; /* up to where parked_hears has looked */
    bool closed; /* by batond */
    char text[PARKED_TEXT];
};

/* Sends `request` ("METHOD TARGET") with one more header and a body (either may be NULL), and does
 * not wait. Fails the test where it cannot. */
struct parked *parked_send(int port, const char *header, const char *request, const char *body);

/* The same with a token as the Lock-Token. */
struct parked *parked_send_token(int port, const char *token, const char *request);

/* Whether nothing has come, and does not for so long. */
bool parked_waits(struct parked *parked, int ms);

/* Waits for the whole reply, at most so long. Returns its status, 0 where it does not come. */
long parked_answer(struct parked *parked, int timeout_ms);

/* Whether `text` comes in the reply, behind what was heard before. */
bool parked_hears(struct parked *parked, const char *text, int timeout_ms);

/* Whether batond ends the reply and the connection. */
bool parked_ends(struct parked *parked, int timeout_ms);

/* Hangs up and frees it, at whatever point it is. */
void parked_close(struct parked *parked);

#endif
