/* routes.h: the table of routes: one row for each operation of openapi.yaml. */
#ifndef BATON_API_ROUTES_H
#define BATON_API_ROUTES_H

#include "api/http/route.h"

extern const struct route ROUTES[];
extern const size_t ROUTE_COUNT;

/* The route for a method and a raw path; HEAD uses the route of GET. Sets *ret_name to the raw
 * text for {name}, or absent. If no route fits, returns NULL and writes the path's methods to
 * `ret_allowed`, "" if there is no such path. */
enum { ROUTE_ALLOWED_LENGTH = 64 };
const struct route *route_find(const char *method, struct slice path, struct slice *ret_name,
                               char ret_allowed[ROUTE_ALLOWED_LENGTH]);

/* An ending that no name in a path may have: an operation of Baton, or a call of other services,
 * such as /locks/a/renew. So their clients do not get a lock of that name here. */
struct last_segment {
    const char *text;   /* with the slash before it */
    const char *method; /* the method of the call that the client means */
};

/* Returns NULL unless the path is below /locks/ and ends so. The path is raw: a percent-encoded
 * letter counts, a percent-encoded slash does not. Sets *ret_length to the length of the raw
 * text. */
const struct last_segment *route_last_segment(struct slice path, size_t *ret_length);

/* Whether monitors ask for it: health and metrics. Takes NULL. */
bool route_is_probe(const struct route *route);

/* Whether it watches for changes, rather than acts on locks. Takes NULL. */
bool route_watches(const struct route *route);

#endif
