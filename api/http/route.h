/* route.h: one operation of the API: its method and path, what it accepts and needs, its handler.
 */
#ifndef BATON_API_HTTP_ROUTE_H
#define BATON_API_HTTP_ROUTE_H

#include "api/principals/principal.h"

struct exchange;

/* What a handler has done with an exchange. */
enum handling {
    ANSWERED, /* its reply is complete */
    PARKED,   /* exchange_resume will be called, from the loop */
    WAITING,  /* parked while its client stays: the server watches for a hang-up */
};

struct route {
    const char *method;
    const char *path; /* "{name}" may have slashes */
    const char *operation_id;
    unsigned fields; /* FIELD_BIT of each field that it accepts */
    enum verb needs; /* the right that the caller needs; VERB_NONE: the route is open to all;
                      * VERB_ANY: any known caller */
    enum handling (*handle)(struct exchange *exchange);
};

#endif
