#include "api/operations/offered.h"

#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/route.h"

/* What a quorum (redis+quorum://) or batond's own Redis does not offer, and why. */
static const struct refusal {
    enum field_id field;
    bool by_quorum, by_embedded;
    const char *why;
} FIELDS_REFUSED[] = {
    {FIELD_LIMIT, true, false,
     "not supported by a quorum, because each member would count by itself, and different "
     "majorities could grant more holds than the limit. Leave it out."},
    {FIELD_CONFIRM, true, false,
     "not supported by a quorum, because a majority of independent servers has each hold, and "
     "their replicas do not count. Leave it out."},
    {FIELD_CONFIRM, false, true,
     "not supported here, because the Redis that batond has started has no replicas to "
     "confirm anything. Leave it out, or start batond with a redis-url."},
};

static const struct {
    const char *operation;
    const char *why;
} OPERATIONS_REFUSED[] = {
    {"listLocks", "A quorum (redis+quorum://) cannot list locks, because no member knows them all. "
                  "Inspect each lock by its name."},
    {"watchLocks", "A quorum (redis+quorum://) cannot watch a prefix, because no member knows all "
                   "changes. Watch each lock by its name."},
};

static bool asks_for(const struct exchange *exchange, enum field_id field)
{
    return field_given(&exchange->parameters, field) && exchange->parameters.numbers[field] > 0;
}

static bool is_by(const struct refusal *refusal, const struct api *api)
{
    return (refusal->by_quorum && api->quorum) || (refusal->by_embedded && api->embedded);
}

bool offered_check(struct exchange *exchange)
{
    const struct api *api = exchange->api;
    if (!api->quorum && !api->embedded)
        return true;
    for (size_t i = 0; i < sizeof FIELDS_REFUSED / sizeof FIELDS_REFUSED[0]; i++)
        if (is_by(&FIELDS_REFUSED[i], api) && asks_for(exchange, FIELDS_REFUSED[i].field)) {
            field_refuse(exchange, FIELDS_REFUSED[i].field, FIELDS_REFUSED[i].why);
            return false;
        }
    if (!api->quorum)
        return true;
    for (size_t i = 0; i < sizeof OPERATIONS_REFUSED / sizeof OPERATIONS_REFUSED[0]; i++)
        if (strcmp(exchange->route->operation_id, OPERATIONS_REFUSED[i].operation) == 0) {
            problem_simply(exchange, PROBLEM_UNSUPPORTED, "%s", OPERATIONS_REFUSED[i].why);
            return false;
        }
    return true;
}
