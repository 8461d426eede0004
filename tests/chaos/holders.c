#include "tests/chaos/holders.h"

#include "tests/history/reply.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/http.h"
#include "tests/support/seed.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ANSWER_MS = 4000,
    PAUSE_MS = 10,  /* between two locks of a client */
    SHORT_MS = 5,   /* a hold */
    RENEW_MS = 300, /* between renewals */
    RENEWALS_MOST = 5,
    US_PER_MS = 1000,
    TOKENS_EACH = 10000000,
};

static int ttl_ms(const struct holder *holder)
{
    return holder->holders->ttl_ms ? holder->holders->ttl_ms : HOLDER_TTL_MS;
}

/* One way from the request for a lock to its end. */
struct visit {
    struct holder *holder;
    struct http_client *http;
    int name, token;
    char header[60];
    int64_t fence;
    int64_t until; /* when the hold ends, if the client does nothing more */
};

static void count(struct holder *holder, const struct http_client *http, int64_t sent)
{
    struct holders *holders = holder->holders;
    int64_t took = clock_us() - sent;
    long status = http->reply.status;
    if (took > holder->slowest_us && !holders->patient)
        holder->slowest_us = took;
    if (status == 409)
        holders->refusals++;
    else if (status == 503)
        holders->away++;
    else if (status == 0)
        holders->silent += !holders->patient;
    else if (status != 200 && status != 201 && holders->strange++ == 0)
        fprintf(stderr, "a strange reply: %ld %s%s\n", status, http->reply.body,
                http->reply.trouble);
}

/* Sends it, and writes down what came. A member of a quorum may answer a release with the number
 * that it has given itself, so the hold's is that of its grant. */
static const struct event *ask(struct visit *visit, enum operation operation, int64_t ttl_ms,
                               int64_t wait_ms)
{
    static const char *const METHODS[OPERATIONS] = {"POST", "PUT", "DELETE", "DELETE", "GET"};
    char path[120], terms[80] = "";
    struct http_client *http = visit->http;
    struct event *event = record_add(&visit->holder->record, &(struct event){.operation = operation,
                                                                             .name = visit->name,
                                                                             .token = visit->token,
                                                                             .owner = visit->token,
                                                                             .ttl_ms = ttl_ms,
                                                                             .wait_ms = wait_ms,
                                                                             .sent = clock_us()});
    if (operation == ACQUIRE)
        snprintf(terms, sizeof terms, "&wait=%dms&owner=o%d", (int)wait_ms, visit->token);
    snprintf(path, sizeof path, ttl_ms ? "/locks/held-%d?ttl=%dms%s" : "/locks/held-%d",
             visit->name, (int)ttl_ms, terms);
    http_request(http, &(struct http_call){.method = METHODS[operation],
                                           .path = path,
                                           .headers = LIST(visit->header),
                                           .timeout_ms = ANSWER_MS});
    event->received = clock_us();
    event->outcome = reply_outcome(event, http->reply.status, http->reply.json);
    if (event->outcome != UNKNOWN)
        reply_read(event, http_header(http, "ETag"), http->reply.json);
    if (operation == ACQUIRE)
        visit->fence = event->fence;
    count(visit->holder, http, event->sent);
    return event;
}

/* Returns false where there is nothing to hold any more. */
static bool renew(struct visit *visit)
{
    const struct event *event = ask(visit, RENEW, ttl_ms(visit->holder), 0);
    if (event->outcome == DONE)
        visit->until = event->sent + event->left_ms * US_PER_MS;
    return event->outcome != NOT_HELD;
}

/* One in six forgets it, two renew it for a while, the others are quick. */
static void keep(struct visit *visit)
{
    struct holder *holder = visit->holder;
    unsigned way = seed_draw(&holder->random, 6);
    if (way == 0) {
        while (clock_us() < visit->until && !holder->holders->stop)
            clock_sleep_ms(PAUSE_MS);
        return;
    }
    if (way > 2)
        clock_sleep_ms(SHORT_MS);
    for (unsigned left = way > 2 ? 0 : 1 + seed_draw(&holder->random, RENEWALS_MOST); left > 0;
         left--) {
        clock_sleep_ms(RENEW_MS);
        if (!renew(visit))
            return;
    }
    ask(visit, RELEASE, 0, 0);
}

static void take_one(struct holder *holder, struct http_client *http)
{
    struct visit visit = {.holder = holder,
                          .http = http,
                          .name = (int)seed_draw(&holder->random, HOLDER_NAMES),
                          .token = holder->number * TOKENS_EACH + holder->tokens++};
    snprintf(visit.header, sizeof visit.header, "Lock-Token: holder-of-a-lock-%010d", visit.token);
    const struct event *event =
        ask(&visit, ACQUIRE, ttl_ms(holder), seed_draw(&holder->random, 2) * HOLDER_WAIT_MS);
    if (event->outcome != DONE)
        return;
    visit.until = event->sent + event->left_ms * US_PER_MS;
    keep(&visit);
}

static void *play(void *context)
{
    struct holder *holder = context;
    if (holder->host >= 0)
        hosts_enter(holder->holders->hosts, holder->host);
    struct http_client *http = http_client_new(holder->url);
    while (!holder->holders->stop) {
        take_one(holder, http);
        clock_sleep_ms(PAUSE_MS);
    }
    http_client_free(http);
    return NULL;
}

void holders_add(struct holders *holders, int count, int host, const char *url)
{
    for (; count > 0 && holders->count < HOLDERS_MOST; count--) {
        struct holder *holder = &holders->holder[holders->count];
        *holder = (struct holder){.holders = holders,
                                  .number = holders->count++,
                                  .host = host,
                                  .random = (uint64_t)clock_us() + (uint64_t)holders->count};
        snprintf(holder->url, sizeof holder->url, "%s", url);
    }
}

void holders_start(struct holders *holders)
{
    for (int i = 0; i < holders->count; i++)
        if (pthread_create(&holders->holder[i].thread, NULL, play, &holders->holder[i]))
            abort();
}

void holders_end(struct holders *holders, struct record *record)
{
    holders->stop = true;
    for (int i = 0; i < holders->count; i++) {
        pthread_join(holders->holder[i].thread, NULL);
        record_take(record, &holders->holder[i].record);
        if (holders->holder[i].slowest_us > holders->slowest_us)
            holders->slowest_us = holders->holder[i].slowest_us;
    }
}
