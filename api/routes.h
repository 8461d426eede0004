/* routes.h: the table of resources: what openapi.yaml describes, a row for each operation. */
#ifndef BATON_API_ROUTES_H
#define BATON_API_ROUTES_H

#include "api/http/route.h"

extern const struct route ROUTES[];
extern const size_t ROUTE_COUNT;

/* The route for a method and a raw path; HEAD goes where GET goes. Sets *ret_name to the raw
 * segment that stands for {name}, else absent. Where no route fits, returns NULL, and writes the
 * methods that the path has to `ret_allowed`, "" where there is no such path. */
enum { ROUTE_ALLOWED_LENGTH = 64 };
const struct route *route_find(const char *method, struct slice path, struct slice *ret_name,
                               char ret_allowed[ROUTE_ALLOWED_LENGTH]);

/* Whether monitors ask for it all the time. Takes NULL. */
bool route_is_probe(const struct route *route);

/* Whether its requests are told of changes, rather than hold locks. Takes NULL. */
bool route_watches(const struct route *route);

#endif
