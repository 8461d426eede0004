#include "api/operations/hold_connection.h"

#include "api/access/completion.h"
#include "api/access/credentials.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/problem.h"
#include "api/http/represent.h"
#include "api/http/state_text.h"
#include "api/http/text_line.h"
#include "api/operations/acquisition.h"
#include "api/operations/events.h"
#include "api/operations/not_held.h"
#include "api/stats/lock_event.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

struct connection_hold {
    LIST_ENTRY(connection_hold) entry; /* in the API's list while there is a renewer */
    struct exchange *exchange;         /* NULL if the client went before the stream began */
    struct renewer *renewer;           /* NULL before the stream begins */
    struct attempt attempt;            /* of the request whose connection this is */
    int64_t fence;
    bool is_final; /* no renewal makes the hold longer */
};

/* Frees the line. */
static void hold_connection_write(struct exchange *exchange, char *line)
{
    exchange_write(exchange, line, strlen(line));
    free(line);
}

/* The JSON of the hold with the event as its first member. */
static void write_granted(struct exchange *exchange, const struct hold *hold)
{
    static const char EVENT[] = "{\"event\":\"granted\",";
    char *line = represent_hold(exchange->name, acquisition_token(exchange), hold);
    exchange_write(exchange, EVENT, sizeof EVENT - 1);
    exchange_write(exchange, line + 1, strlen(line + 1));
    free(line);
}

/* Call this when the stream has ended or its client has gone, and the renewer has stopped. */
static void hold_connection_end(struct connection_hold *held)
{
    held->exchange->hung_up = NULL;
    LIST_REMOVE(held, entry);
    free(held);
}

/* For a hold at its max_held, `why` says more than that it expired. */
static void lost(void *context, const char *why, const struct hold_end *end)
{
    struct connection_hold *held = context;
    struct exchange *exchange = held->exchange;
    bool is_known = end && end->fence > 0;
    char ended[STATE_TEXT], detail[STATE_TEXT + 16];
    snprintf(detail, sizeof detail, "%s", why);
    if (is_known && !(held->is_final && slice_equals(end->reason, "expired"))) {
        state_text_end(end, ended);
        snprintf(detail, sizeof detail, "the hold %s", ended);
    }
    json_t *line =
        json_pack("{s:s, s:o}", "event", "lost", "detail", represent_text(slice_of(detail)));
    if (is_known)
        json_object_set_new(line, "ended", represent_end(end));
    hold_connection_write(exchange, dump_line(line));
    hold_connection_end(held);
    exchange_finish(exchange);
}

static void hold_connection_beat(struct connection_hold *held, int64_t ttl_ms)
{
    char *line =
        text_line("{\"event\":\"heartbeat\",\"fence\":%" PRId64 ",\"ttl_ms\":%" PRId64 "%s}",
                  held->fence, ttl_ms, held->is_final ? ",\"renewable\":false" : "");
    hold_connection_write(held->exchange, line);
}

/* After SIGHUP read a new tokens-file, a caller whose PUT would be refused loses the stream. */
static bool hold_connection_lasts(struct connection_hold *held)
{
    if (credentials_last(held->exchange))
        return true;
    renewer_stop(held->renewer);
    lost(held, "The API key may not hold this lock any more. The hold ends when its TTL is over.",
         NULL);
    return false;
}

static void hold_connection_on_renewed(void *context, const struct hold *hold)
{
    struct connection_hold *held = context;
    if (!hold_connection_lasts(held))
        return;
    lock_event_renewed(held->exchange, held->exchange->name, LOCKS_DONE, hold);
    held->is_final = hold->is_final;
    hold_connection_beat(held, hold->ttl_ms);
}

/* Writes even while Redis is down: a proxy that cuts a silent connection would cause a release once
 * Redis is back. */
static void hold_connection_on_silent(void *context, int64_t left_ms)
{
    struct connection_hold *held = context;
    if (hold_connection_lasts(held))
        hold_connection_beat(held, left_ms);
}

/* A release for a client that has gone. */
struct parting {
    struct asker asker;
    struct slice name;
    char name_bytes[NAME_LENGTH];
};

/* No client is left to answer. If the release failed, the hold ends by its TTL. */
static void hold_connection_on_released(void *context, const struct locks_reply *reply)
{
    struct parting *parting = context;
    if (reply->result == LOCKS_DONE && !reply->release.repeated) {
        struct lock_event event = lock_event_of(LOCK_EVENT_RELEASED, parting->name);
        lock_event_set_release(&event, &reply->release);
        asker_report(&parting->asker, event);
    }
    asker_clear(&parting->asker);
    free(parting);
}

/* `attempt` protects the hold if the client has reconnected: the new connection has it by now. */
static void release(struct exchange *exchange, const struct attempt *attempt)
{
    struct parting *parting = memory_checked(malloc(sizeof *parting));
    parting->asker = asker_of(exchange);
    parting->name = (struct slice){parting->name_bytes, exchange->name.length};
    memcpy(parting->name_bytes, exchange->name.bytes, exchange->name.length);
    locks_release_connection(exchange->api->locks, exchange->name, exchange->holder.token, attempt,
                             hold_connection_on_released, parting);
}

static void hold_connection_on_hung_up(struct exchange *exchange)
{
    struct connection_hold *held = exchange->below;
    struct attempt attempt = held->attempt;
    renewer_stop(held->renewer);
    hold_connection_end(held);
    release(exchange, &attempt);
}

static void drain(struct connection_hold *held)
{
    static const char LINE[] = "{\"event\":\"draining\"}\n";
    struct exchange *exchange = held->exchange;
    renewer_stop(held->renewer);
    hold_connection_end(held);
    exchange_write(exchange, LINE, sizeof LINE - 1);
    exchange_finish(exchange);
}

static void hold_connection_begin(struct connection_hold *held, unsigned status,
                                  const struct hold *hold)
{
    struct exchange *exchange = held->exchange;
    struct api *api = exchange->api;
    const struct renewer_events events = {held, hold_connection_on_renewed, lost};
    held->renewer = renewer_start(api->locks, exchange->name, exchange->holder.token, hold->ttl_ms,
                                  acquisition_replicas(exchange), &events);
    renewer_beat(held->renewer, EVENTS_SILENCE_MS, hold_connection_on_silent);
    held->fence = hold->fence;
    held->is_final = hold->is_final;
    LIST_INSERT_HEAD(&api->connection_holds, held, entry);
    exchange->below = held;
    exchange->hung_up = hold_connection_on_hung_up;

    acquisition_headers(exchange, hold);
    exchange_stream(exchange, status, "application/x-ndjson");
    write_granted(exchange, hold);
    exchange_resume(exchange);
    if (api->draining)
        drain(held);
}

static void hung_up_early(struct exchange *exchange)
{
    struct connection_hold *held = exchange->below;
    exchange->hung_up = NULL;
    held->exchange = NULL;
    release(exchange, &held->attempt);
}

/* A hold from an earlier request gets its whole TTL first, so that the renewer has time enough. */
static void prolonged(void *context, const struct locks_reply *reply)
{
    struct connection_hold *held = context;
    struct exchange *exchange = held->exchange;
    if (!exchange) {
        free(held);
    } else if (reply->result == LOCKS_DONE || reply->result == LOCKS_MAX_HELD) {
        lock_event_renewed(exchange, exchange->name, reply->result, &reply->hold);
        hold_connection_begin(held, 200, &reply->hold);
    } else {
        exchange->hung_up = NULL;
        free(held);
        if (reply->result == LOCKS_UNCONFIRMED)
            problem_unconfirmed_renewal(exchange, reply->error);
        else if (reply->result == LOCKS_NOT_HELD)
            not_held(exchange, &reply->view.last_release,
                     "The hold that this token had has just ended. Acquire the lock again.",
                     ", while this request asked for it. Acquire the lock again.");
        else
            acquisition_refuse(exchange, reply->result, NULL, reply->error, slice_of(NULL));
        exchange_resume(exchange);
    }
}

void hold_connection(struct exchange *exchange, const struct locks_reply *reply)
{
    struct connection_hold *held = memory_checked(calloc(1, sizeof *held));
    held->exchange = exchange;
    held->attempt = reply->attempt;
    if (reply->result == LOCKS_DONE) {
        hold_connection_begin(held, 201, &reply->hold);
        return;
    }
    exchange->below = held;
    exchange->hung_up = hung_up_early;
    locks_renew(exchange->api->locks, exchange->name, exchange->holder.token,
                exchange->parameters.numbers[FIELD_TTL], acquisition_replicas(exchange), prolonged,
                held);
}

void hold_connection_drain(struct api *api)
{
    struct connection_hold *next;
    for (struct connection_hold *held = LIST_FIRST(&api->connection_holds); held; held = next) {
        next = LIST_NEXT(held, entry);
        drain(held);
    }
}
