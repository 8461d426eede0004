/* ask.h: sends the requests that cases.h writes as text. */
#ifndef BATON_TESTS_CONTRACT_ASK_H
#define BATON_TESTS_CONTRACT_ASK_H

#include "tests/support/http.h"

#include <stddef.h>

/* Sends "METHOD target", then header lines, then behind an empty line the body, with so many spaces
 * behind it. Returns the status. Fails the test where there is no reply at all. */
long ask(struct http_client *client, const char *request, size_t padding);

#endif
