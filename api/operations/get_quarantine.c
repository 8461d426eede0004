#include "api/access/credentials.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/represent.h"
#include "api/operations/operations.h"

static void add_why(json_t *object, enum quarantine_reason reason)
{
    json_object_set_new(object, "reason", json_string(quarantine_word(reason)));
    json_object_set_new(object, "because", json_string(quarantine_text(reason)));
}

/* Only callers with the right to metrics see the address of Redis. */
static json_t *server_of(const struct quarantine_state *state, bool may_know_place)
{
    json_t *server = json_object();
    if (may_know_place)
        json_object_set_new(server, "server", json_string(state->server));
    add_why(server, state->reason);
    json_object_set_new(server, "since", represent_moment(state->since_us));
    json_object_set_new(server, "until", represent_moment(state->until_us));
    json_object_set_new(server, "left_ms", json_integer(state->left_ms));
    return server;
}

enum handling get_quarantine(struct exchange *exchange)
{
    const struct locks *locks = exchange->api->locks;
    bool may_know_place = credentials_allow(exchange, VERB_METRICS);
    enum quarantine_reason reason;
    struct quarantine_state state;
    unsigned position = 0;
    int64_t left_ms = locks_pause(locks, &reason);
    json_t *document = json_object(), *servers = json_array();
    json_object_set_new(document, "quarantined", json_boolean(left_ms > 0));
    json_object_set_new(document, "left_ms", json_integer(left_ms));
    if (left_ms > 0)
        add_why(document, reason);
    while (locks_next_quarantine(locks, &position, &state))
        json_array_append_new(servers, server_of(&state, may_know_place));
    json_object_set_new(document, "servers", servers);
    json_object_set_new(document, "loss_would_cost_ms",
                        json_integer(locks_pause_after_loss(locks)));
    reply_json(exchange, 200, "application/json", document);
    return ANSWERED;
}
