#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/represent.h"
#include "api/operations/operations.h"

static json_t *verbs_of(const struct rule *rule)
{
    json_t *verbs = json_array();
    for (enum verb verb = 0; verb < VERB_COUNT; verb++)
        if (rule->verbs & VERB_BIT(verb))
            json_array_append_new(verbs, json_string(VERB_WORDS[verb]));
    return verbs;
}

static void add_bound(json_t *object, const char *name, int64_t ms)
{
    if (ms > 0)
        json_object_set_new(object, name, json_integer(ms));
}

static json_t *rules_of(const struct principal *principal)
{
    json_t *rules = json_array();
    for (size_t i = 0; i < principal->rule_count; i++) {
        const struct rule *rule = &principal->rules[i];
        json_t *object = json_object();
        json_object_set_new(object, "prefix", represent_text(rule->prefix));
        json_object_set_new(object, "verbs", verbs_of(rule));
        add_bound(object, "max_ttl_ms", rule->max_ttl_ms);
        add_bound(object, "max_held_ms", rule->max_held_ms);
        json_array_append_new(rules, object);
    }
    return rules;
}

/* The caller as batond sees it: so that it can check which key its requests have, and whether a
 * proxy passes its address on. */
enum handling get_caller(struct exchange *exchange)
{
    const struct principal *principal = exchange->principal;
    json_t *document = json_object();
    json_object_set_new(document, "principal",
                        principal->name.length > 0 ? represent_text(principal->name) : json_null());
    json_object_set_new(document, "rules", rules_of(principal));
    json_object_set_new(document, "client", json_string(exchange->head.client));
    json_object_set_new(document, "version", json_string(BATON_VERSION));
    reply_json(exchange, 200, "application/json", document);
    return ANSWERED;
}
