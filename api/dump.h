/* dump.h: a JSON document as compact text. */
#ifndef BATON_API_DUMP_H
#define BATON_API_DUMP_H

#include <jansson.h>

/* The document as one line, newline included, for free(3). Takes the document over. */
char *dump_line(json_t *document);

#endif
