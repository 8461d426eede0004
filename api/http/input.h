/* input.h: reads one value of the request into its parameter, or refuses it and says what the field
 * expects. */
#ifndef BATON_API_HTTP_INPUT_H
#define BATON_API_HTTP_INPUT_H

#include "api/http/exchange.h"

struct input {
    struct exchange *exchange;
    enum field_id id;
    const char *name; /* the client's name for it */
    bool in_ms;       /* a duration as an integer of milliseconds */
};

/* Each sets the parameter, which points to the value. Returns false if the value does not fit and
 * it has answered with a problem. */
bool input_set_from_query(const struct input *input, struct slice text);
bool input_set_from_json(const struct input *input, const json_t *value);
bool input_set_text(const struct input *input, struct slice text);
bool input_set_integer(const struct input *input, struct slice text);
bool input_set_number(const struct input *input, int64_t number);

/* Answers that the value does not fit. Returns false. */
bool input_refuse(const struct input *input);

#endif
