/* judge.h: holds a real reply against what openapi.yaml says of it. */
#ifndef BATON_TESTS_CONTRACT_JUDGE_H
#define BATON_TESTS_CONTRACT_JUDGE_H

#include "base/failure.h"
#include "tests/contract/spec.h"
#include "tests/support/http.h"

#include <stdbool.h>

/* Whether the client's latest reply is one that the operation may give: its status and media type
 * are listed, every header that is required is there, none is there that is not listed, and headers
 * and body are what the schemas allow and name. Else false with a failure that says what is wrong.
 */
bool judge_reply(const struct spec *spec, const struct spec_operation *operation,
                 struct http_client *client, struct failure *failure);

/* Whether a problem agrees with itself and with the table of problems: code, type, title, status,
 * the request's path and id, Retry-After. True for any reply that is no problem document. */
bool judge_problem(struct http_client *client, const char *path, struct failure *failure);

/* The media type of the client's latest reply, without its parameters; "" where there is none. */
void judge_media_type(struct http_client *client, char type[64]);

#endif
