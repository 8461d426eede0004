/* input.h: one value on its way from the request into its parameters: read as its field wants it,
 * or refused with what was expected. */
#ifndef BATON_API_HTTP_INPUT_H
#define BATON_API_HTTP_INPUT_H

#include "api/http/exchange.h"

struct input {
    struct exchange *exchange;
    enum field_id id;
    const char *name; /* as the client calls it */
    bool in_query;
};

/* Each sets the parameter, which refers to the value. False where the exchange has been answered
 * with a problem, since the value does not fit. */
bool input_set_from_query(const struct input *input, struct slice text);
bool input_set_from_json(const struct input *input, const json_t *value);
bool input_set_text(const struct input *input, struct slice text);
bool input_set_integer(const struct input *input, struct slice text);

/* Answers so. Returns false. */
bool input_refuse(const struct input *input);

#endif
