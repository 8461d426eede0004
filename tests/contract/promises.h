/* promises.h: the replies that openapi.yaml says there are, and which of them were seen. */
#ifndef BATON_TESTS_CONTRACT_PROMISES_H
#define BATON_TESTS_CONTRACT_PROMISES_H

#include "tests/contract/spec.h"
#include "tests/support/http.h"

/* A new object with a member for each operation, status, media type and problem's code, such as
 * "acquireLock 409 application/problem+json locked"; none seen yet. */
json_t *promises_of(const struct spec *spec);

/* Notes that the client's latest reply was seen. */
void promises_note(json_t *promises, const char *operation, struct http_client *client);

/* Those of this code cannot be provoked here. */
void promises_excuse(json_t *promises, const char *code);

/* Prints those that were not seen and returns how many they are. */
size_t promises_print_unseen(const json_t *promises);

#endif
