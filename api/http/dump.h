/* dump.h: a JSON document as compact text. */
#ifndef BATON_API_HTTP_DUMP_H
#define BATON_API_HTTP_DUMP_H

#include "base/slice.h"

#include <jansson.h>

/* A value that dump_line writes as it stands here: for JSON that a client sent, whose numbers and
 * escapes are to stay as they were. NULL where it is no JSON object on one
 * line. Nothing but dump_line knows
 * what it is. */
json_t *dump_verbatim(struct slice object);

/* The document as one line, newline included, for free(3). Takes the document over. */
char *dump_line(json_t *document);

#endif
