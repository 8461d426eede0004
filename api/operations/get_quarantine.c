#include "api/access/credentials.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/operations/operations.h"
#include "base/date.h"

#include <stdio.h>

enum { MS_PER_SECOND = 1000, US_PER_MS = 1000, SECONDS_PER_DAY = 86400, MOMENT_TEXT = 48 };

/* In the format of RFC 3339. */
static json_t *moment_of(int64_t us)
{
    char text[MOMENT_TEXT];
    int64_t ms = us / US_PER_MS, s = ms / MS_PER_SECOND;
    struct date date = date_of(s / SECONDS_PER_DAY);
    int second = (int)(s % SECONDS_PER_DAY);
    snprintf(text, sizeof text, "%04u-%02u-%02uT%02d:%02d:%02d.%03dZ", date.year, date.month,
             date.day, second / 3600, second / 60 % 60, second % 60, (int)(ms % MS_PER_SECOND));
    return json_string(text);
}

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
    json_object_set_new(server, "since", moment_of(state->since_us));
    json_object_set_new(server, "until", moment_of(state->until_us));
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
