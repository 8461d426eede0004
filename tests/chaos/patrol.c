#include "tests/chaos/patrol.h"

#include "tests/history/reply.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/http.h"
#include "tests/support/seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAUSE_MS = 20, /* before a request is repeated */
    PATIENCE_MS = 60000,
    ANSWER_MS = 10000, /* beyond the wait */
    WAIT_MS = 3000,
    KEEP_MS = 5000,
    NAP_MS = 10,
    SHORT_MS = 30,
    LONG_MS = 400,
    SHOWN_LINES = 8,
};

struct patrol_client {
    struct patrol *patrol;
    int number, tokens;
    uint64_t random;
    struct http_client *http;
    struct record record;
    pthread_t thread;
};

/* One way from the first request for a lock to its release. */
struct visit {
    struct patrol_client *client;
    int name, token;
    bool shared;
    int64_t wait_ms;
    char path[64], token_text[80], header[100];
};

void patrol_path(int name, char *path, size_t size)
{
    snprintf(path, size, "/locks/patrol-%d", name);
}

void patrol_key(int name, char *key, size_t size)
{
    snprintf(key, size, "baton:{patrol-%d}", name);
}

static unsigned draw(struct patrol_client *client, unsigned below)
{
    return seed_draw(&client->random, below);
}

/* Under the lock. */
static void show(struct patrol *patrol, const char *what, const struct visit *visit)
{
    const struct http_client *http = visit->client->http;
    if (patrol->shown++ < SHOWN_LINES)
        fprintf(stderr, "%s: %s, token %d: %ld %s%s\n", what, visit->path, visit->token,
                http->reply.status, http->reply.body, http->reply.trouble);
}

static void tally(struct visit *visit, int64_t took_ms)
{
    struct patrol *patrol = visit->client->patrol;
    long status = visit->client->http->reply.status;
    pthread_mutex_lock(&patrol->lock);
    struct patrol_counts *counts = &patrol->counts;
    if (took_ms > counts->slowest)
        counts->slowest = took_ms;
    if (status == 0 || (status != 200 && status != 201 && status != 409 && status != 503))
        show(patrol, "a strange reply", visit);
    const char *code = status == 503 ? http_text(visit->client->http, "code") : NULL;
    counts->failed += status == 503;
    counts->quarantined += code && strcmp(code, "quarantined") == 0;
    counts->silent += status == 0;
    counts->strange +=
        status != 0 && status != 200 && status != 201 && status != 409 && status != 503;
    pthread_mutex_unlock(&patrol->lock);
}

/* Sends it once and writes down what came. */
static struct event *ask_once(struct visit *visit, enum operation operation, const char *body,
                              int64_t ttl_ms)
{
    static const char *const METHODS[OPERATIONS] = {"POST", "PUT", "DELETE", "DELETE", "GET"};
    struct http_client *http = visit->client->http;
    int64_t wait_ms = operation == ACQUIRE ? visit->wait_ms : 0;
    struct event *event =
        record_add(&visit->client->record,
                   &(struct event){.operation = operation,
                                   .name = visit->name,
                                   .token = visit->token,
                                   .owner = visit->token,
                                   .shared = visit->shared,
                                   .server = visit->client->number % PATROL_SERVERS + 1,
                                   .ttl_ms = ttl_ms,
                                   .wait_ms = wait_ms,
                                   .keep_ms = wait_ms ? KEEP_MS : 0,
                                   .sent = clock_us()});
    http_request(http, &(struct http_call){.method = METHODS[operation],
                                           .path = visit->path,
                                           .body = body,
                                           .headers = LIST(visit->header),
                                           .timeout_ms = ANSWER_MS + wait_ms});
    event->received = clock_us();
    event->outcome = reply_outcome(event, http->reply.status, http->reply.json);
    if (event->outcome != UNKNOWN)
        reply_read(event, http_header(http, "ETag"), http->reply.json);
    tally(visit, (event->received - event->sent) / 1000 - wait_ms);
    return event;
}

/* The same until there is another answer than 503. NULL where there is none for a minute. */
static struct event *ask(struct visit *visit, enum operation operation, const char *body,
                         int64_t ttl_ms)
{
    struct patrol *patrol = visit->client->patrol;
    int64_t begun = clock_ms();
    for (;;) {
        struct event *event = ask_once(visit, operation, body, ttl_ms);
        int64_t failing = event->sent / 1000 - begun;
        pthread_mutex_lock(&patrol->lock);
        if (failing > patrol->counts.longest_failure)
            patrol->counts.longest_failure = failing;
        pthread_mutex_unlock(&patrol->lock);
        if (event->outcome != UNKNOWN)
            return event;
        if (clock_ms() - begun > PATIENCE_MS)
            return NULL;
        clock_sleep_ms(PAUSE_MS);
    }
}

static void note_grant(struct patrol *patrol)
{
    int64_t now = clock_ms();
    pthread_mutex_lock(&patrol->lock);
    patrol->counts.grants++;
    if (patrol->last_grant && now - patrol->last_grant > patrol->counts.longest_stall)
        patrol->counts.longest_stall = now - patrol->last_grant;
    patrol->last_grant = now;
    pthread_mutex_unlock(&patrol->lock);
}

static void count(struct visit *visit, size_t *counter)
{
    pthread_mutex_lock(&visit->client->patrol->lock);
    ++*counter;
    pthread_mutex_unlock(&visit->client->patrol->lock);
}

static bool is_gone(const struct event *event)
{
    return !event || event->outcome == NOT_HELD || event->not_mine;
}

/* Looks after it and renews it. False where it is gone. */
static bool stay(struct visit *visit)
{
    struct patrol *patrol = visit->client->patrol;
    char body[60];
    clock_sleep_ms(draw(visit->client, LONG_MS / 2));
    if (is_gone(ask(visit, INSPECT, NULL, 0)))
        return false;
    snprintf(body, sizeof body, "{\"ttl_ms\":%" PRId64 "}", patrol->plan.ttl_ms);
    struct event *event = ask(visit, RENEW, body, patrol->plan.ttl_ms);
    if (!event || event->outcome != DONE)
        return false;
    count(visit, &patrol->counts.renewals);
    clock_sleep_ms(draw(visit->client, LONG_MS / 2));
    return true;
}

static void keep(struct visit *visit)
{
    struct patrol_client *client = visit->client;
    if (draw(client, 4) > 0)
        clock_sleep_ms(draw(client, SHORT_MS));
    else if (!stay(visit))
        return;
    if (!is_gone(ask(visit, RELEASE, NULL, 0)))
        count(visit, &client->patrol->counts.releases);
}

static void begin(struct visit *visit, struct patrol_client *client)
{
    struct patrol *patrol = client->patrol;
    int few = patrol->plan.names / 10 > 0 ? patrol->plan.names / 10 : 1;
    *visit = (struct visit){.client = client, .token = client->number * 1000000 + client->tokens++};
    visit->name = (int)draw(client, (unsigned)(draw(client, 2) ? patrol->plan.names : few));
    visit->shared = visit->name % 4 == 1 && draw(client, 3) > 0;
    visit->wait_ms = draw(client, 3) ? WAIT_MS : 0;
    patrol_path(visit->name, visit->path, sizeof visit->path);
    snprintf(visit->token_text, sizeof visit->token_text, "patrol-%016" PRIx64 "-%d",
             patrol->plan.seed, visit->token);
    snprintf(visit->header, sizeof visit->header, "Lock-Token: %s", visit->token_text);
}

static void write_wish(const struct visit *visit, char *body, size_t size)
{
    int length = snprintf(body, size, "{\"owner\":\"o%d\",\"ttl_ms\":%" PRId64 ",\"mode\":\"%s\"",
                          visit->token, visit->client->patrol->plan.ttl_ms,
                          visit->shared ? "shared" : "exclusive");
    if (visit->wait_ms)
        length += snprintf(body + length, size - (size_t)length,
                           ",\"wait_ms\":%" PRId64 ",\"keep_ms\":%d", visit->wait_ms, KEEP_MS);
    snprintf(body + length, size - (size_t)length, "}");
}

static void make_visit(struct patrol_client *client)
{
    struct patrol *patrol = client->patrol;
    struct visit visit;
    char body[200];
    begin(&visit, client);
    write_wish(&visit, body, sizeof body);
    struct event *event = ask(&visit, ACQUIRE, body, patrol->plan.ttl_ms);
    if (!event)
        return;
    if (event->outcome != DONE && event->outcome != HOLDING) {
        count(&visit, &patrol->counts.refusals);
        return;
    }
    note_grant(patrol);
    keep(&visit);
}

static void *go_round(void *context)
{
    struct patrol_client *client = context;
    while (!client->patrol->stop) {
        make_visit(client);
        clock_sleep_ms(draw(client, 10));
    }
    return NULL;
}

static void *nap(void *context)
{
    struct patrol *patrol = context;
    while (!patrol->stop) {
        int64_t begun = clock_ms();
        clock_sleep_ms(NAP_MS);
        int64_t late = clock_ms() - begun - NAP_MS;
        pthread_mutex_lock(&patrol->lock);
        if (late > patrol->counts.longest_nap)
            patrol->counts.longest_nap = late;
        pthread_mutex_unlock(&patrol->lock);
    }
    return NULL;
}

void patrol_start(struct patrol *patrol, const struct patrol_plan *plan)
{
    *patrol = (struct patrol){.plan = *plan};
    patrol->clients = calloc((size_t)plan->clients, sizeof *patrol->clients);
    pthread_mutex_init(&patrol->lock, NULL);
    if (pthread_create(&patrol->watchman, NULL, nap, patrol))
        abort();
    for (int i = 0; i < plan->clients; i++) {
        struct patrol_client *client = &patrol->clients[i];
        *client = (struct patrol_client){.patrol = patrol,
                                         .number = i + 1,
                                         .random = plan->seed * 1000003 + (uint64_t)i,
                                         .http = http_client_new(plan->urls[i % PATROL_SERVERS])};
        if (pthread_create(&client->thread, NULL, go_round, client))
            abort();
    }
}

void patrol_stop(struct patrol *patrol, struct record *ret)
{
    *ret = (struct record){.events = NULL};
    patrol->stop = true;
    pthread_join(patrol->watchman, NULL);
    for (int i = 0; i < patrol->plan.clients; i++) {
        struct patrol_client *client = &patrol->clients[i];
        pthread_join(client->thread, NULL);
        record_take(ret, &client->record);
        http_client_free(client->http);
    }
    free(patrol->clients);
}

struct patrol_counts patrol_look(struct patrol *patrol)
{
    pthread_mutex_lock(&patrol->lock);
    struct patrol_counts counts = patrol->counts;
    patrol->counts.slowest = patrol->counts.longest_nap = 0;
    patrol->counts.longest_failure = patrol->counts.longest_stall = 0;
    pthread_mutex_unlock(&patrol->lock);
    return counts;
}

void patrol_print(const char *what, const struct patrol_counts *counts)
{
    print_message(
        "%s: %zu grants, %zu renewals, %zu refusals, %zu times 503 (%zu quarantined), %zu without "
        "a reply; the slowest reply %" PRId64 " ms, a client without an answer for %" PRId64
        " ms, all without a grant for %" PRId64 " ms (and the machine stood still for %" PRId64
        " ms)\n",
        what, counts->grants, counts->renewals, counts->refusals, counts->failed,
        counts->quarantined, counts->silent, counts->slowest, counts->longest_failure,
        counts->longest_stall, counts->longest_nap);
}
