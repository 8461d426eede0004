#include "tests/chaos/holders.h"

#include "tests/support/clock.h"
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
    TOKEN_SIZE = 150,
};

static int ttl_ms(const struct holder *holder)
{
    return holder->holders->ttl_ms ? holder->holders->ttl_ms : HOLDER_TTL_MS;
}

static int64_t end_of_ttl(int64_t sent, const struct http_client *http)
{
    return sent + http_integer(http, "ttl_ms") * US_PER_MS;
}

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

/* A request about the hold; the reply is the client's latest. */
static void ask_about(struct http_client *http, const char *method, const char *path,
                      const char *token)
{
    char header[TOKEN_SIZE + 16];
    snprintf(header, sizeof header, "Lock-Token: %s", token);
    http_request(http, &(struct http_call){.method = method,
                                           .path = path,
                                           .headers = (const char *const[]){header, NULL},
                                           .timeout_ms = ANSWER_MS});
}

static void note_loss(struct claim *claim)
{
    int64_t now = clock_us();
    claim->lost = now < claim->until;
    if (claim->lost)
        claim->until = now;
}

/* Returns false where there is nothing to hold any more. */
static bool renew(struct holder *holder, struct http_client *http, struct claim *claim,
                  const char *path, const char *token)
{
    char ask[64];
    int64_t sent = clock_us();
    snprintf(ask, sizeof ask, "%s?ttl=%dms", path, ttl_ms(holder));
    ask_about(http, "PUT", ask, token);
    count(holder, http, sent);
    if (http->reply.status == 200 && end_of_ttl(sent, http) > claim->until && sent < claim->until)
        claim->until = end_of_ttl(sent, http);
    if (http->reply.status == 409)
        note_loss(claim);
    return http->reply.status != 409;
}

static void release(struct holder *holder, struct http_client *http, struct claim *claim,
                    const char *path, const char *token)
{
    int64_t until = claim->until, sent = clock_us();
    if (sent < until)
        claim->until = sent;
    ask_about(http, "DELETE", path, token);
    count(holder, http, sent);
    if (http->reply.status == 409)
        claim->lost = clock_us() < until;
}

/* One in six forgets it, two renew it for a while, the others are quick. */
static void keep(struct holder *holder, struct http_client *http, struct claim *claim,
                 const char *path, const char *token)
{
    unsigned way = seed_draw(&holder->random, 6);
    if (way == 0) {
        while (clock_us() < claim->until && !holder->holders->stop)
            clock_sleep_ms(PAUSE_MS);
        return;
    }
    if (way > 2)
        clock_sleep_ms(SHORT_MS);
    for (unsigned left = way > 2 ? 0 : 1 + seed_draw(&holder->random, RENEWALS_MOST); left > 0;
         left--) {
        clock_sleep_ms(RENEW_MS);
        if (!renew(holder, http, claim, path, token))
            return;
    }
    release(holder, http, claim, path, token);
}

static void take_one(struct holder *holder, struct http_client *http)
{
    char ask[100], path[32], token[TOKEN_SIZE];
    int name = (int)seed_draw(&holder->random, HOLDER_NAMES);
    snprintf(path, sizeof path, "/locks/held-%d", name);
    snprintf(ask, sizeof ask, "%s?ttl=%dms&wait=%ums", path, ttl_ms(holder),
             seed_draw(&holder->random, 2) * HOLDER_WAIT_MS);
    int64_t sent = clock_us();
    http_request(http, &(struct http_call){.method = "POST", .path = ask, .timeout_ms = ANSWER_MS});
    int64_t told = clock_us();
    count(holder, http, sent);
    if (http->reply.status != 201)
        return;
    const char *text = http_text(http, "token");
    snprintf(token, sizeof token, "%s", text ? text : "");
    struct claim *claim =
        ledger_add(&holder->ledger, &(struct claim){.name = name,
                                                    .client = holder->number,
                                                    .fence = http_integer(http, "fence"),
                                                    .sent = sent,
                                                    .told = told,
                                                    .until = end_of_ttl(sent, http)});
    keep(holder, http, claim, path, token);
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

void holders_end(struct holders *holders, struct ledger *ledger)
{
    holders->stop = true;
    for (int i = 0; i < holders->count; i++) {
        pthread_join(holders->holder[i].thread, NULL);
        ledger_take(ledger, &holders->holder[i].ledger);
        if (holders->holder[i].slowest_us > holders->slowest_us)
            holders->slowest_us = holders->holder[i].slowest_us;
    }
}
