#include "tests/history/crowd.h"

#include "tests/history/reply.h"
#include "tests/support/clock.h"
#include "tests/support/http.h"
#include "tests/support/raw.h"
#include "tests/support/seed.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    THREADS_MOST = 64,
    TOKENS_PER_THREAD = 1000000,
    TOKEN_TEXT = 129,
    MADE_KEPT = 64, /* tokens made by the server that a thread still knows */
    RECENT = 6,     /* a thread goes on with its latest tokens, or its latest that got a hold */
    GHOST_OWNER = 500,
    OWN_OWNER = 1000, /* and above: owners of a single token */
};

/* How a busy name is used. Besides, each thread has a quiet one, where an end may long go unnoticed
 * and the next to come is often the holder that is late. */
static const struct flavour {
    unsigned owners; /* 0: each token has an owner of its own */
    unsigned exclusive_percent;
    int limits[4];
} FLAVOURS[] = {
    {0, 100, {0, 0, 0, 0}}, {3, 50, {0, 0, 0, 0}}, {0, 8, {3, 3, 3, 3}},
    {6, 30, {0, 0, 0, 0}},  {5, 5, {2, 2, 2, 4}},  {4, 40, {0, 2, 2, 5}},
};
enum { BUSY_NAMES = sizeof FLAVOURS / sizeof FLAVOURS[0], NAMES = BUSY_NAMES + THREADS_MOST };

/* What follows from a token's number: whoever uses it asks for the same. */
struct wish {
    int token;
    int name;
    int owner;
    bool reentrant;
    bool shared;
    int limit;
    int permits;
    int64_t ttl_ms;
    int64_t at_least_ms;
    bool made_by_server;
    bool ghost; /* its requests may be abandoned; its owner is one of the ghosts */
};

/* One step of a thread, drawn as a whole, whatever the replies were. */
struct step {
    enum operation operation;
    bool new_token;
    int back;     /* that many tokens ago */
    bool granted; /* of those that got a hold, else of all */
    int thread;
    bool other_name;
    bool disguised; /* as another owner than the token's, who wants another kind of hold */
    bool with_token;
    bool conditional;
    bool abandoned;
    bool again; /* the same request once more, to another server */
    int server;
    int64_t ttl_ms; /* of a renewal; 0: none given */
    int64_t pause_us;
    int64_t hang_up_us;
};

struct client {
    const struct crowd_plan *plan;
    int number;
    uint64_t random;
    int tokens; /* that it has used so far */
    int granted[RECENT];
    int grants;
    struct http_client *http[CROWD_SERVERS];
    char made[MADE_KEPT][TOKEN_TEXT];
    int64_t seen[NAMES]; /* the version last seen of each name */
    struct record record;
    int64_t deadline_us;
    pthread_t thread;
};

static unsigned draw(struct client *client, unsigned below)
{
    return seed_draw(&client->random, below);
}

static struct wish wish_of(const struct client *client, int token)
{
    uint64_t hash = seed_mix(client->plan->seed ^ seed_mix((uint64_t)token));
    bool quiet = (hash >> 40) % 6 == 0;
    const struct flavour *flavour = &FLAVOURS[hash % BUSY_NAMES];
    struct wish wish = {.token = token, .name = (int)(hash % BUSY_NAMES)};
    if (quiet)
        wish.name = BUSY_NAMES + token / TOKENS_PER_THREAD;
    hash = seed_mix(hash);
    wish.owner = flavour->owners ? (int)(hash % flavour->owners) : OWN_OWNER + token;
    wish.reentrant = flavour->owners && (hash >> 44) % 3 > 0;
    wish.shared = (hash >> 8) % 100 >= flavour->exclusive_percent;
    wish.limit = wish.shared ? flavour->limits[(hash >> 16) % 4] : 0;
    wish.permits = wish.limit > 1 && (hash >> 48) % 4 == 0 ? 2 : 0;
    wish.ttl_ms = 100 + (int64_t)((hash >> 20) % (quiet ? 50 : (hash >> 32) % 4 ? 300 : 900));
    wish.at_least_ms = (hash >> 48) % 5 == 0 ? 20 + (int64_t)((hash >> 52) % 500) : 0;
    wish.ghost = (hash >> 36) % 10 == 0;
    wish.made_by_server = !wish.ghost && (hash >> 40) % 5 < 2;
    if (wish.ghost && flavour->owners)
        wish.owner = GHOST_OWNER + (int)(hash % 2);
    return wish;
}

static struct step draw_step(struct client *client)
{
    static const enum operation OPERATION[20] = {
        ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE, RENEW,   RENEW,
        RENEW,   RENEW,   RELEASE, RELEASE, RELEASE, RELEASE, INSPECT, INSPECT, INSPECT, INSPECT};
    struct step step = {.operation = OPERATION[draw(client, 20)]};
    if (draw(client, 150) == 0)
        step.operation = BREAK;
    step.new_token = draw(client, 4) > 0;
    step.back = draw(client, 2) ? (int)draw(client, RECENT) : 0;
    step.granted = draw(client, 4) > 0;
    bool foreign = draw(client, 8) == 0;
    int thread = (int)draw(client, (unsigned)client->plan->threads);
    step.thread = foreign ? thread : client->number;
    step.other_name = draw(client, 30) == 0;
    step.with_token = draw(client, 2);
    step.conditional = draw(client, 2);
    step.abandoned = draw(client, 3) == 0;
    step.again = draw(client, 6) == 0;
    step.server = (int)draw(client, CROWD_SERVERS);
    step.ttl_ms = draw(client, 4) ? 100 + (int64_t)draw(client, 500) : 0;
    step.pause_us = draw(client, 40) ? (int64_t)draw(client, 6000) : (int64_t)draw(client, 200000);
    step.hang_up_us = draw(client, 3) ? (int64_t)draw(client, 2000) : 0;
    step.disguised = draw(client, 20) == 0;
    return step;
}

/* A token's text. False where only the server could tell it, and did not. */
static bool token_text(const struct client *client, const struct wish *wish, char *text)
{
    if (!wish->made_by_server) {
        snprintf(text, TOKEN_TEXT, "history-%016" PRIx64 "-%d", client->plan->seed, wish->token);
        return true;
    }
    const char *made = client->made[wish->token % MADE_KEPT];
    snprintf(text, TOKEN_TEXT, "%s", made);
    return made[0] && wish->token / TOKENS_PER_THREAD == client->number;
}

static void remember_token(struct client *client, const struct wish *wish, const char *text)
{
    if (wish->made_by_server)
        snprintf(client->made[wish->token % MADE_KEPT], TOKEN_TEXT, "%s", text ? text : "");
}

/* Writes the body of a request; "" where it has none. */
static void write_body(const struct event *event, const char *token, char *body, size_t size)
{
    FILE *out = fmemopen(body, size, "w");
    const char *separator = "{";
    body[0] = '\0';
    if (event->ttl_ms > 0) {
        fprintf(out, "%s\"ttl_ms\":%" PRId64, separator, event->ttl_ms);
        separator = ",";
    }
    if (event->operation == ACQUIRE) {
        fprintf(out, "%s\"owner\":\"o%d\"", separator, event->owner);
        fprintf(out, ",\"mode\":\"%s\"", event->shared ? "shared" : "exclusive");
        if (event->reentrant)
            fprintf(out, ",\"reentrant\":true");
        if (event->at_least_ms > 0)
            fprintf(out, ",\"at_least_ms\":%" PRId64, event->at_least_ms);
        if (event->limit > 0)
            fprintf(out, ",\"limit\":%d", event->limit);
        if (event->permits > 0)
            fprintf(out, ",\"permits\":%d", event->permits);
        separator = ",";
    }
    if (token[0] && event->operation != INSPECT) {
        fprintf(out, "%s\"token\":\"%s\"", separator, token);
        separator = ",";
    }
    if (*separator == ',')
        fputc('}', out);
    fclose(out);
}

/* A request as it goes out. */
struct message {
    const char *method;
    char path[160];
    char body[512];
    char token_header[160]; /* "" where there is none */
    char match_header[80];
};

static void compose(const struct client *client, const struct event *event, const struct step *step,
                    const char *token, struct message *message)
{
    static const char *const METHODS[OPERATIONS] = {"POST", "PUT", "DELETE", "DELETE", "GET"};
    bool conditional = event->operation == INSPECT && step->conditional;
    *message = (struct message){.method = METHODS[event->operation]};
    snprintf(message->path, sizeof message->path, "/locks/history-%d%s", event->name,
             event->operation == BREAK ? "?force=true" : "");
    write_body(event, token, message->body, sizeof message->body);
    if (event->operation == INSPECT && token[0])
        snprintf(message->token_header, sizeof message->token_header, "Lock-Token: %s", token);
    if (conditional && client->seen[event->name] > 0)
        snprintf(message->match_header, sizeof message->match_header,
                 "If-None-Match: \"%" PRId64 "\"", client->seen[event->name]);
}

/* Sends the request and hangs up before the reply can be read. */
static void send_and_leave(const struct client *client, int server, const struct step *step,
                           const struct message *message)
{
    char request[1024];
    int length =
        snprintf(request, sizeof request,
                 "%s %s HTTP/1.1\r\nHost: baton\r\nContent-Type: application/json\r\n"
                 "Content-Length: %zu\r\n%s%s\r\n%s",
                 message->method, message->path, strlen(message->body), message->token_header,
                 message->token_header[0] ? "\r\n" : "", message->body);
    int fd = raw_connect(client->plan->ports[server]);
    if (fd < 0)
        return;
    raw_send(fd, request, (size_t)length);
    if (step->hang_up_us > 0)
        usleep((useconds_t)step->hang_up_us);
    close(fd);
}

static void send_and_read(struct client *client, int server, const struct message *message,
                          struct event *event)
{
    const char *headers[3] = {NULL};
    size_t count = 0;
    if (message->token_header[0])
        headers[count++] = message->token_header;
    if (message->match_header[0])
        headers[count++] = message->match_header;
    const struct http_call call = {.method = message->method,
                                   .path = message->path,
                                   .body = message->body[0] ? message->body : NULL,
                                   .headers = headers};
    struct http_client *http = client->http[server];
    http_request(http, &call);
    event->received = clock_us();
    event->outcome = reply_outcome(event, http->reply.status, http->reply.json);
    if (event->outcome == UNKNOWN)
        return;
    reply_read(event, http_header(http, "ETag"), http->reply.json);
    bool got = event->operation == ACQUIRE && (event->outcome == DONE || event->outcome == HOLDING);
    if (got && client->granted[(client->grants + RECENT - 1) % RECENT] != event->token)
        client->granted[client->grants++ % RECENT] = event->token;
    if (event->operation == INSPECT)
        client->seen[event->name] = event->version;
    if (event->outcome == STRANGE)
        fprintf(stderr, "%s %s %s: %ld %s\n", message->method, message->path, message->body,
                http->reply.status, http->reply.body);
}

static void perform(struct client *client, const struct step *step, const struct wish *wish,
                    int server, bool abandoned)
{
    char token[TOKEN_TEXT] = "";
    bool known = token_text(client, wish, token);
    bool first = wish->made_by_server && step->operation == ACQUIRE && !known;
    bool bare = step->operation == BREAK || (step->operation == INSPECT && !step->with_token);
    if (!known && !bare && (!first || wish->token / TOKENS_PER_THREAD != client->number))
        return;
    if (bare || first)
        token[0] = '\0';

    struct event *event = record_add(
        &client->record, &(struct event){.operation = step->operation,
                                         .name = wish->name,
                                         .token = step->operation == BREAK ? EVERYBODY
                                                  : bare                   ? NOBODY
                                                                           : wish->token,
                                         .owner = wish->owner,
                                         .reentrant = wish->reentrant,
                                         .shared = wish->shared,
                                         .limit = wish->limit,
                                         .permits = wish->permits,
                                         .at_least_ms = wish->at_least_ms,
                                         .ttl_ms = step->operation == ACQUIRE ? wish->ttl_ms
                                                   : step->operation == RENEW ? step->ttl_ms
                                                                              : 0});
    struct message message;
    compose(client, event, step, token, &message);
    event->sent = clock_us();
    if (abandoned && wish->ghost && step->operation != BREAK)
        send_and_leave(client, server, step, &message);
    else
        send_and_read(client, server, &message, event);
    if (first)
        remember_token(client, wish, http_text(client->http[server], "token"));
}

/* What the step is about: a new token, or one of the latest, of this thread or another. */
static struct wish choose(struct client *client, const struct step *step)
{
    if (step->operation == ACQUIRE && step->new_token) {
        struct wish wish = wish_of(client, client->number * TOKENS_PER_THREAD + ++client->tokens);
        remember_token(client, &wish, NULL);
        return wish;
    }
    int number = client->tokens > step->back ? client->tokens - step->back : 0;
    int token = step->thread * TOKENS_PER_THREAD + number;
    if (step->granted && step->thread == client->number && client->grants > step->back)
        token = client->granted[(client->grants - 1 - step->back) % RECENT];
    struct wish wish = wish_of(client, token);
    if (step->other_name && !wish.made_by_server)
        wish.name = (wish.name + 1) % BUSY_NAMES;
    if (step->disguised && !wish.ghost) {
        wish.owner++;
        wish.shared = !wish.shared;
        wish.limit = wish.permits = 0;
    }
    return wish;
}

static void take_step(struct client *client)
{
    struct step step = draw_step(client);
    struct wish wish = choose(client, &step);
    perform(client, &step, &wish, step.server, step.abandoned);
    if (step.again || (step.abandoned && wish.ghost))
        perform(client, &step, &wish, (step.server + 1) % CROWD_SERVERS, false);
    usleep((useconds_t)step.pause_us);
}

static void *run(void *context)
{
    struct client *client = context;
    for (int i = 0; clock_us() < client->deadline_us || i < client->plan->steps; i++)
        take_step(client);
    return NULL;
}

static void start(struct client *client, const struct crowd_plan *plan, int number)
{
    *client = (struct client){.plan = plan,
                              .number = number,
                              .random = seed_mix(plan->seed ^ seed_mix((uint64_t)number + 7)),
                              .deadline_us = clock_us() + plan->duration_ms * 1000};
    for (int i = 0; i < CROWD_SERVERS; i++)
        client->http[i] = http_client_new(plan->urls[i]);
    if (pthread_create(&client->thread, NULL, run, client))
        abort();
}

static void finish(struct client *client, struct record *history)
{
    pthread_join(client->thread, NULL);
    for (int i = 0; i < CROWD_SERVERS; i++)
        http_client_free(client->http[i]);
    record_take(history, &client->record);
}

void crowd_run(const struct crowd_plan *plan, struct record *ret)
{
    struct client *clients = calloc((size_t)plan->threads, sizeof *clients);
    if (!clients)
        abort();
    *ret = (struct record){.events = NULL};
    for (int i = 0; i < plan->threads; i++)
        start(&clients[i], plan, i);
    for (int quarter = 1; quarter <= 3 && plan->meanwhile; quarter++) {
        clock_sleep_ms(plan->duration_ms / 4);
        plan->meanwhile(plan->context, quarter);
    }
    for (int i = 0; i < plan->threads; i++)
        finish(&clients[i], ret);
    free(clients);
}
