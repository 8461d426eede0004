#include "api/access/permission.h"

#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/route.h"

bool permission_to_read(const struct exchange *exchange, struct slice name)
{
    return principal_may(exchange->principal, VERB_READ, name);
}

void permission_hide_others(const struct exchange *exchange, struct lock_view *view)
{
    if (permission_to_read(exchange, exchange->name))
        return;
    if (!view->mine || view->hold_count > 1)
        view->holder_count = 0;
    view->waiter_count = 0;
    view->all_waiters = NULL;
    view->last_release.fence = 0;
}

/* The verb that the request needs. A break needs another one than a release. To watch by a token,
 * `read` or `acquire` is enough. */
static enum verb permission_verb(const struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    if (parameters->numbers[FIELD_FORCE])
        return VERB_BREAK;
    if ((exchange->route->fields & FIELD_BIT(FIELD_UNTIL)) &&
        field_given(parameters, FIELD_LOCK_TOKEN) && !permission_to_read(exchange, exchange->name))
        return VERB_ACQUIRE;
    return exchange->route->needs;
}

/* Answers 403. `prefix` begins the names that a rule would need; `where` names them in words. */
static bool permission_refuse(struct exchange *exchange, enum verb verb, struct slice prefix,
                              const char *where)
{
    struct slice name = exchange->principal->name;
    json_t *document = problem_new(exchange, PROBLEM_FORBIDDEN,
                                   "\"%.*s\" has no rule with the verb \"%s\"%s. Ask the "
                                   "operator of batond to add one to the tokens-file.",
                                   (int)name.length, name.bytes, VERB_WORDS[verb], where);
    json_object_set_new(document, "verb", json_string(VERB_WORDS[verb]));
    json_object_set_new(document, "prefix", represent_text(prefix));
    problem_answer(exchange, PROBLEM_FORBIDDEN, document);
    return false;
}

static bool permission_check_names(struct exchange *exchange, enum verb verb)
{
    const struct parameters *parameters = &exchange->parameters;
    for (int64_t i = 0; i < parameters->numbers[FIELD_NAMES]; i++)
        if (!principal_may(exchange->principal, verb, parameters->names[i]))
            return permission_refuse(exchange, verb, parameters->names[i], " for one of the names");
    return true;
}

static bool permission_check_name(struct exchange *exchange, enum verb verb)
{
    return principal_may(exchange->principal, verb, exchange->name) ||
           permission_refuse(exchange, verb, exchange->name, " for this name");
}

/* A break without a name breaks all names with the given prefix; without a prefix, all names. */
static bool permission_check_break(struct exchange *exchange)
{
    struct slice given = exchange->parameters.texts[FIELD_PREFIX];
    struct slice prefix = given.bytes ? given : slice_of("");
    return principal_may(exchange->principal, VERB_BREAK, prefix) ||
           permission_refuse(exchange, VERB_BREAK, prefix,
                             prefix.length > 0 ? " for all names with this prefix"
                                               : " for all names (the prefix \"\")");
}

static bool permission_check_prefix(struct exchange *exchange, enum verb verb)
{
    struct slice *prefix = &exchange->parameters.texts[FIELD_PREFIX];
    return principal_narrow(exchange->principal, verb, prefix) ||
           permission_refuse(exchange, verb, *prefix, " for names with this prefix");
}

bool permission_check(struct exchange *exchange)
{
    if (exchange->route->needs == VERB_NONE || exchange->route->needs == VERB_ANY)
        return true;
    enum verb verb = permission_verb(exchange);
    if (exchange->name.length > 0)
        return permission_check_name(exchange, verb);
    if (verb == VERB_BREAK)
        return permission_check_break(exchange);
    if (exchange->route->fields & FIELD_BIT(FIELD_NAMES))
        return permission_check_names(exchange, verb);
    if (exchange->route->fields & FIELD_BIT(FIELD_PREFIX))
        return permission_check_prefix(exchange, verb);
    return principal_may_somewhere(exchange->principal, verb) ||
           permission_refuse(exchange, verb, slice_of(""), "");
}
