/* answer.h: what must be true of every answer of the API. */
#ifndef BATON_TESTS_FUZZ_ANSWER_H
#define BATON_TESTS_FUZZ_ANSWER_H

#include "api/http/exchange.h"

/* It has a status; JSON is JSON, a problem says what it is about, a granted hold is whole. */
void answer_judge(const struct exchange *exchange);

/* The lines that a stream has written so far: JSON each, or server-sent events of JSON. */
void answer_judge_stream(const struct exchange *exchange);

/* The same for a body that was read off a connection. */
void answer_judge_body(unsigned status, struct slice content_type, struct slice body);

#endif
