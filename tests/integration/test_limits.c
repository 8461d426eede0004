/* How much a principal, and all of them, may ask of one batond, however many workers it has. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/raw.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 6, HEADER_TEXT = PRINCIPAL_HEADER_TEXT };

static const char ALL_RULES[] = "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\",\"break\","
                                "\"metrics\"]}]";
static const char TOKEN[] = "a-token-within-limits-1";

/* Asks as the principal of the name (NULL: as nobody). */
static long ask_as(struct http_client *client, const char *name, const char *method,
                   const char *path)
{
    char header[HEADER_TEXT];
    char token_header[64];
    if (name)
        principal_header(name, header);
    snprintf(token_header, sizeof token_header, "Lock-Token: %s", TOKEN);
    bool has_token = strcmp(method, "GET") != 0;
    const char *const headers[] = {has_token ? token_header : "X-None: 1", name ? header : NULL,
                                   NULL};
    return http_request(client,
                        &(struct http_call){.method = method, .path = path, .headers = headers});
}

static void is_refused(struct http_client *client, const char *code, const char *said)
{
    assert_int_equal(client->reply.status, 429);
    assert_string_equal(http_text(client, "code"), code);
    assert_string_equal(http_header(client, "Retry-After"), "1");
    if (!strstr(http_text(client, "detail"), said))
        fail_msg("\"%s\" is not in \"%s\"", said, http_text(client, "detail"));
}

static void says(struct http_client *client, const char *name, const char *value)
{
    const char *is = http_header(client, name);
    if (value ? !is || strcmp(is, value) != 0 : is != NULL)
        fail_msg("%s: %s, not %s", name, is ? is : "none", value ? value : "none");
}

/* Each has a connection of its own, so that all workers come into it. */
static void open_clients(struct service *service, struct http_client *clients[CLIENTS])
{
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = http_client_new(service->batond.url);
}

static void close_clients(struct http_client *clients[CLIENTS])
{
    for (size_t i = 0; i < CLIENTS; i++)
        http_client_free(clients[i]);
}

/* How many of so many requests are served. */
static int served(struct http_client *clients[CLIENTS], const char *name, int count)
{
    int good = 0;
    for (int i = 0; i < count; i++) {
        long status = ask_as(clients[i % CLIENTS], name, "GET", "/locks/rated");
        assert_true(status == 200 || status == 429);
        good += status == 200;
    }
    return good;
}

/* Principals `one` and `two`, with these limits. */
#define BOTH(more_of_one, more_of_two)                                                             \
    (const struct file_principal[])                                                                \
    {                                                                                              \
        {"one", ALL_RULES, more_of_one},                                                           \
        {                                                                                          \
            "two", ALL_RULES, more_of_two                                                          \
        }                                                                                          \
    }

/* Rates. How many come back in a second, tests/unit/test_rate.c shows by a clock of its own; here
 * a slow machine makes the bounds wider. */

/* More than a second's worth of requests: the first `limit` are served, and what comes back. */
static void are_served_by_rate(struct http_client *clients[CLIENTS], const char *name, int limit)
{
    int64_t begun = clock_ms();
    int good = served(clients, name, 3 * limit);
    assert_in_range(good, limit, limit + 1 + limit * (clock_ms() - begun) / 1000);
}

/* Asks until it is refused, which only a slow machine delays. */
static void comes_to_be_limited(struct http_client *client, const char *method, const char *path)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (ask_as(client, NULL, method, path) != 429)
        assert_true(clock_ms() < deadline);
}

TEST(rate_limit_fields_say_what_is_left)
{
    struct service service;
    service_open(&service, NULL, LIST("--rate-limit=2"));
    struct http_client *client = service.client;
    assert_int_equal(ask_as(client, NULL, "GET", "/locks/a?ttl=no"), 400);
    says(client, "RateLimit-Policy", "\"requests\";q=2;w=1");
    says(client, "RateLimit", "\"requests\";r=1;t=1");
    comes_to_be_limited(client, "GET", "/locks/a");
    says(client, "RateLimit-Policy", "\"requests\";q=2;w=1");
    says(client, "RateLimit", "\"requests\";r=0;t=1");
    is_refused(client, "rate_limited", "2 requests per second");
    clock_sleep_ms(1010); /* as Retry-After says */
    assert_int_equal(ask_as(client, NULL, "GET", "/locks/a"), 200);
    says(client, "RateLimit", "\"requests\";r=1;t=1");
    service_close(&service);
}

TEST(health_is_not_rate_limited)
{
    static const char *const FREE[] = {"/livez", "/readyz", "/openapi.yaml"};
    struct service service;
    service_open(&service, NULL, LIST("--rate-limit=1"));
    for (int i = 0; i < 30; i++) {
        assert_int_equal(ask_as(service.client, NULL, "GET", FREE[i % 3]), 200);
        says(service.client, "RateLimit", NULL);
    }
    assert_int_equal(ask_as(service.client, NULL, "GET", "/metrics"), 200);
    comes_to_be_limited(service.client, "GET", "/metrics");
    service_close(&service);
    service_open(&service, NULL, NULL);
    for (int i = 0; i < 30; i++)
        assert_int_equal(ask_as(service.client, NULL, "GET", "/locks/a"), 200);
    says(service.client, "RateLimit", NULL);
    says(service.client, "RateLimit-Policy", NULL);
    service_close(&service);
}

/* They count: what is left for others is used up by them. */
TEST(renewals_and_releases_pass_beyond_rate)
{
    struct service service;
    service_open(&service, NULL, LIST("--rate-limit=3", "--workers=2"));
    struct http_client *client = service.client;
    assert_int_equal(ask_as(client, NULL, "POST", "/locks/held"), 201);
    long status;
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    do { /* again where a slow machine lets one come back in between */
        assert_true(clock_ms() < deadline);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(ask_as(client, NULL, "PUT", "/locks/held"), 200);
            says(client, "RateLimit-Policy", "\"requests\";q=3;w=1");
        }
        status = ask_as(client, NULL, "POST", "/locks/held");
    } while (status != 429);
    assert_int_equal(ask_as(client, NULL, "DELETE", "/locks/held"), 200);
    assert_true(json_is_true(member(client, "released")));
    service_close(&service);
}

/* Tokens that hold nothing: no more of them come to Redis than of other requests. */
TEST(renewals_of_unknown_tokens_are_rate_limited)
{
    enum { TRIES = 400, LIMIT = 3 };
    struct service service;
    service_open(&service, NULL, LIST("--rate-limit=3", "--workers=2"));
    struct http_client *client = service.client;
    assert_int_equal(ask_as(client, NULL, "POST", "/locks/held"), 201);
    int64_t begun = clock_ms();
    int missed = 0;
    for (int i = 0; i < TRIES; i++) {
        long status = ask_as(client, NULL, i % 2 ? "PUT" : "DELETE", "/locks/nothing");
        assert_true(status == 409 || status == 429);
        if (status == 429)
            is_refused(client, "rate_limited", "30 renewals and releases per second");
        missed += status == 409;
    }
    int64_t most = (LIMIT + 1) + LIMIT * (clock_ms() - begun) / 1000;
    assert_in_range(missed, LIMIT, most);
    clock_sleep_ms(1010); /* as Retry-After says */
    assert_int_equal(ask_as(client, NULL, "DELETE", "/locks/held"), 200);
    service_close(&service);
}

/* The head of a request whose body is still to come, on a connection of its own. */
static int begin_body(const struct service *service, const char *name, const char *more)
{
    char head[512], header[HEADER_TEXT] = "X-None: 1";
    if (name)
        principal_header(name, header);
    snprintf(head, sizeof head,
             "POST /locks/body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n%s\r\n"
             "Content-Length: 60000\r\n\r\n%s",
             header, more);
    int fd = raw_connect(service->batond.port);
    assert_true(fd >= 0);
    assert_true(raw_send(fd, head, strlen(head)));
    return fd;
}

static void receives_at_once(int fd, const char *status, const char *code)
{
    char text[2048];
    bool closed;
    raw_receive(fd, text, sizeof text, NULL, CLOCK_HANG_MS, &closed);
    assert_true(closed);
    if (!strstr(text, status) || !strstr(text, code) || !strcasestr(text, "Connection: close"))
        fail_msg("no %s %s, nor the end: %s", status, code, text);
    close(fd);
}

/* Sends what is left of the body, and is answered. */
static void ends_body(int fd, const char *rest, size_t length, const char *status)
{
    char reply[64];
    assert_true(raw_send(fd, rest, length));
    raw_receive(fd, reply, sizeof reply, "\r\n", CLOCK_HANG_MS, NULL);
    assert_non_null(strstr(reply, status));
    close(fd);
}

/* Sends a whole body. Returns false if there is no room for it yet. */
static bool is_admitted(const struct service *service, const char *name, const char *body,
                        size_t length)
{
    char reply[64] = "";
    int fd = begin_body(service, name, "");
    raw_send(fd, body, length);
    raw_receive(fd, reply, sizeof reply, "\r\n", CLOCK_HANG_MS, NULL);
    close(fd);
    return strstr(reply, " 409 ");
}

TEST(bodies_per_principal_are_bound)
{
    enum { MOST = 3, LENGTH = 60000 };
    static char body[LENGTH];
    struct guarded guarded;
    struct service *service = &guarded.service;
    int fds[MOST];
    memset(body, ' ', sizeof body);
    body[0] = '{', body[LENGTH - 1] = '}';
    guarded_open_with(&guarded, BOTH(NULL, NULL), 2,
                      LIST("--max-bodies-per-principal=3", "--workers=2", "--body-timeout=60s"));
    for (int i = 0; i < MOST; i++) {
        fds[i] = begin_body(service, "one", "{");
        assert_true(raw_comes_to_be_read(fds[i], CLOCK_HANG_MS));
    }
    receives_at_once(begin_body(service, "one", ""), " 429 ", "too_many_bodies");
    receives_at_once(begin_body(service, NULL, ""), " 401 ", "unauthorized");
    assert_int_equal(ask_as(service->client, "one", "GET", "/locks/body"), 200);
    ends_body(begin_body(service, "two", ""), body, LENGTH, " 201 ");
    for (int i = 0; i < MOST; i++) /* each makes room for one more */
        ends_body(fds[i], body + 1, LENGTH - 1, " 409 ");
    for (int i = 0; i < 2 * MOST; i++)
        ends_body(begin_body(service, "one", ""), body, LENGTH, " 409 ");
    for (int i = 0; i < MOST; i++) { /* so does a client that goes before the end of its body */
        fds[i] = begin_body(service, "one", "{");
        assert_true(raw_comes_to_be_read(fds[i], CLOCK_HANG_MS));
        close(fds[i]);
    }
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (!is_admitted(service, "one", body, LENGTH))
        assert_true(clock_ms() < deadline);
    guarded_close(&guarded);
}

TEST(principal_has_rate_of_its_own)
{
    struct guarded guarded;
    struct service *service = &guarded.service;
    struct http_client *clients[CLIENTS];
    guarded_open_with(&guarded, BOTH(",\"rate_limit\":5", ",\"rate_limit\":0"), 2,
                      LIST("--rate-limit=1", "--workers=2"));
    open_clients(service, clients);
    are_served_by_rate(clients, "one", 5);
    assert_int_equal(served(clients, "two", 15), 15); /* 0: none, whatever the setting */
    says(clients[0], "RateLimit", NULL);
    assert_int_equal(ask_as(clients[0], NULL, "GET", "/locks/a"), 401);

    /* The new limits are in force for the next request. */
    guarded_reload(&guarded, BOTH(NULL, ",\"rate_limit\":4"), 2);
    are_served_by_rate(clients, "two", 4);
    ask_as(clients[0], "one", "GET", "/locks/a");
    says(clients[0], "RateLimit-Policy", "\"requests\";q=1;w=1"); /* the setting */
    close_clients(clients);
    guarded_close(&guarded);
}

/* Waiting */

static struct parked *park_as(const struct service *service, const char *name, const char *request)
{
    char header[2 * HEADER_TEXT] = "Accept: text/event-stream";
    if (name)
        principal_header(name, header);
    return parked_send(service->batond.port, header, request, NULL);
}

static void come_to_wait(struct service *service, const char *name, int count)
{
    char text[64];
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    snprintf(text, sizeof text, "\nbaton_http_waiting %d\n", count);
    do
        assert_int_equal(ask_as(service->client, name, "GET", "/metrics"), 200);
    while (!strstr(service->client->reply.body, text) && clock_ms() < deadline);
    if (!strstr(service->client->reply.body, text))
        fail_msg("it does not come to%sin\n%s", text, service->client->reply.body);
}

/* What may go on for long. */
static const char *const LONG[] = {
    "POST /locks/kept?wait=50s",
    "POST /locks/unheld?hold=connection&ttl=10m",
    "GET /locks/kept/events?after=9007199254740991",
    "GET /events?after=9007199254740991&wait=50s",
};

enum { LONG_COUNT = sizeof LONG / sizeof *LONG };

static void expect_long(struct http_client *client, long refused, const char *bound)
{
    for (size_t i = 0; i < LONG_COUNT; i++) {
        char method[8];
        snprintf(method, sizeof method, "%.*s", (int)strcspn(LONG[i], " "), LONG[i]);
        assert_int_equal(http_call(client, method, strchr(LONG[i], ' ') + 1, NULL), refused);
        is_refused(client, "too_many_waiters", "may wait at once");
        assert_string_equal(http_text(client, "bound"), bound);
    }
}

/* A worker gives a place back when it has noticed the end, and another one may be asked before. */
static struct parked *stream_as_soon_as_it_may(const struct service *service)
{
    for (int64_t deadline = clock_ms() + CLOCK_HANG_MS;; clock_sleep_ms(5)) {
        struct parked *parked = park_as(service, NULL, "GET /locks/x/events");
        assert_true(parked_receives(parked, "\r\n\r\n", CLOCK_HANG_MS));
        if (strstr(parked->text, "HTTP/1.1 200")) {
            assert_true(parked_receives(parked, "event: lock", CLOCK_HANG_MS));
            return parked;
        }
        parked_close(parked);
        assert_true(clock_ms() < deadline);
    }
}

/* A hold by connection counts from its beginning to its end, as does a stream of events. */
TEST(waits_streams_and_holds_count_in_process)
{
    struct service service;
    struct parked *parked[LONG_COUNT];
    service_open(&service, NULL, LIST("--max-waiters-per-process=4", "--workers=3"));
    answers(service.client, "POST /locks/kept?ttl=10m", NULL, 201, NULL);
    for (size_t i = 0; i < LONG_COUNT; i++) {
        parked[i] = park_as(&service, NULL, LONG[i]);
        if (i > 0)
            assert_true(parked_receives(parked[i], "HTTP/1.1 20", CLOCK_HANG_MS));
    }
    comes_to_queue(service.client, "kept", 1);
    expect_long(service.client, 429, "process");
    answers(service.client, "POST /locks/kept", NULL, 409, "locked"); /* which does not wait */
    answers(service.client, "POST /locks/kept?wait=0", NULL, 409, "locked");
    answers(service.client, "GET /locks/kept/events?wait=0", NULL, 200, NULL);
    answers(service.client, "GET /locks/kept", NULL, 200, NULL);

    for (size_t i = 0; i < LONG_COUNT; i++) { /* each of them makes room for one */
        parked_close(parked[i]);
        while (http_call(service.client, "POST", "/locks/x?wait=1s&limit=1", NULL) == 429)
            clock_sleep_ms(5);
        assert_int_equal(service.client->reply.status, 400);
        parked[i] = stream_as_soon_as_it_may(&service);
        expect_long(service.client, 429, "process");
    }
    for (size_t i = 0; i < LONG_COUNT; i++)
        parked_close(parked[i]);
    service_close(&service);
}

TEST(principal_has_places_of_its_own)
{
    struct guarded guarded;
    struct service *service = &guarded.service;
    static const char WAIT[] = "/locks/any/events?after=9007199254740991&wait=50s";
    static const char SHORT[] = "/locks/any/events?after=9007199254740991&wait=1ms";
    char request[100];
    snprintf(request, sizeof request, "GET %s", WAIT);
    guarded_open_with(
        &guarded, BOTH(",\"max_waiters\":1", NULL), 2,
        LIST("--max-waiters-per-principal=2", "--max-waiters-per-process=4", "--workers=2"));
    struct http_client *client = service->client;
    struct parked *one = park_as(service, "one", request);
    struct parked *two[] = {park_as(service, "two", request), park_as(service, "two", request)};
    come_to_wait(service, "two", 3);
    assert_int_equal(ask_as(client, "one", "GET", WAIT), 429);
    is_refused(client, "too_many_waiters", "At most 1 of your requests may wait");
    assert_string_equal(http_text(client, "bound"), "principal");
    assert_int_equal(ask_as(client, "two", "GET", WAIT), 429);
    is_refused(client, "too_many_waiters", "At most 2 of your requests may wait");

    /* Those who wait go on counting, and no place is lost or won. */
    guarded_reload(&guarded, BOTH(",\"max_waiters\":2", ",\"max_waiters\":4"), 2);
    assert_int_equal(ask_as(client, "one", "GET", SHORT), 200);
    struct parked *more = park_as(service, "one", request);
    come_to_wait(service, "two", 4);
    assert_int_equal(ask_as(client, "one", "GET", WAIT), 429);
    assert_string_equal(http_text(client, "bound"), "principal");
    for (int i = 0; i < 5; i++) { /* who is refused for the one counts not for the other */
        assert_int_equal(ask_as(client, "two", "GET", WAIT), 429);
        assert_string_equal(http_text(client, "bound"), "process");
    }
    parked_close(more);
    parked_close(one);
    come_to_wait(service, "two", 2);
    assert_int_equal(ask_as(client, "one", "GET", SHORT), 200);
    parked_close(two[0]);
    parked_close(two[1]);
    come_to_wait(service, "two", 0);
    guarded_close(&guarded);
}

/* They last, and take memory or renewals as long as they do. What has no place is told which bound
 * it is, and all else goes on. */
TEST(streams_and_connection_holds_have_own_bounds)
{
    static const char *const REQUESTS[] = {"GET /events", "GET /locks/any/events",
                                           "POST /locks/unheld?hold=connection"};
    static const char *const BOUNDS[] = {"streams", "streams", "connection_holds"};
    struct service service;
    struct parked *first[3];
    service_open(&service, NULL,
                 LIST("--max-streams-per-principal=2", "--max-connection-holds-per-principal=1",
                      "--workers=2"));
    for (int i = 0; i < 3; i++) {
        first[i] = park_as(&service, NULL, REQUESTS[i]);
        assert_true(parked_receives(first[i], i < 2 ? "id: " : "granted", CLOCK_HANG_MS));
    }
    for (int i = 0; i < 3; i++) {
        struct parked *refused = park_as(&service, NULL, REQUESTS[i]);
        assert_int_equal(parked_answer(refused, CLOCK_HANG_MS), 429);
        is_refused(&refused->client, "too_many_waiters", "-per-principal");
        assert_string_equal(http_text(&refused->client, "bound"), BOUNDS[i]);
        parked_close(refused);
    }
    answers(service.client, "GET /events?wait=0", NULL, 200, NULL); /* is no stream */
    answers(service.client, "GET /locks/any/events?after=1&wait=1ms", NULL, 200, NULL);
    answers(service.client, "POST /locks/other", NULL, 201, NULL);
    answers(service.client, "POST /locks/other?wait=1ms", NULL, 409, "wait_timeout");
    for (int i = 0; i < 3; i++) { /* each makes room for one */
        parked_close(first[i]);
        int64_t deadline = clock_ms() + CLOCK_HANG_MS;
        bool served = false;
        while (!served && clock_ms() < deadline) {
            struct parked *again = park_as(&service, NULL, REQUESTS[i]);
            assert_true(parked_receives(again, "HTTP/1.1 ", CLOCK_HANG_MS));
            served = strncmp(again->text, "HTTP/1.1 20", 11) == 0;
            parked_close(again);
        }
        assert_true(served);
    }
    service_close(&service);
}

/* Without a setting, waiters leave a tenth of the connections for releases. */
TEST(waiters_leave_room_for_a_release)
{
    enum { WAITERS = 18 };
    struct service service;
    struct parked *parked[WAITERS];
    service_open(&service, NULL,
                 LIST("--max-connections=20", "--max-connections-per-address=20", "--workers=1"));
    assert_int_equal(ask_as(service.client, NULL, "POST", "/locks/kept?ttl=10m"), 201);
    for (size_t i = 0; i < WAITERS; i++)
        parked[i] = park_as(&service, NULL, "POST /locks/kept?wait=50s");
    come_to_wait(&service, NULL, WAITERS);
    answers(service.client, "POST /locks/kept?wait=50s", NULL, 429, "too_many_waiters");
    struct http_client *another = http_client_new(service.batond.url);
    assert_int_equal(ask_as(another, NULL, "DELETE", "/locks/kept"), 200);
    http_client_free(another);
    for (size_t i = 0; i < WAITERS; i++)
        parked_close(parked[i]);
    service_close(&service);
}
