/* dump.h: a JSON document as compact text. */
#ifndef BATON_API_HTTP_DUMP_H
#define BATON_API_HTTP_DUMP_H

#include "base/slice.h"

#include <jansson.h>

/* A value that dump_line writes unchanged: for a client's JSON, whose numbers and escapes must stay
 * as they are. NULL if it is not a JSON object on one line. Only dump_line understands it. */
json_t *dump_verbatim(struct slice object);

/* The document as one line, newline included, for free(3). Takes the document over. */
char *dump_line(json_t *document);

#endif
