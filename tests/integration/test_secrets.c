/* Where tokens and passwords show: in no file of the process, no log, no metric, and not in its
 * memory once it is done with them. */
#include "tests/support/fixtures/parked.h"

#include "base/heap.h"
#include "server/process/sandbox.h"
#include "tests/support/fixtures/secure.h"
#include "tests/support/free_port.h"
#include "tests/support/memory.h"
#include "tests/support/principals_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HEADER_TEXT = TOKEN_TEXT + 16,
    BODY_TEXT = 512,
    LARGE_TEXT = 80000 /* more than a body may have */
};

/* Each journey has a token of its own, so that what is found names the one that left it. */
struct journey {
    struct service *service;
    char token[TOKEN_TEXT];
    char header[HEADER_TEXT];
};

static void ask(struct journey *journey, const char *request, const char *body, long status)
{
    answers_token(journey->service->client, journey->token, request, body, status, NULL);
}

/* The same with the token in the body, behind which `members` stand. */
static void ask_in_body(struct journey *journey, const char *request, const char *members,
                        long status)
{
    char body[BODY_TEXT];
    snprintf(body, sizeof body, "{\"token\": \"%s\"%s}", journey->token, members);
    answers(journey->service->client, request, body, status, NULL);
}

static struct parked *park(struct journey *journey, const char *request)
{
    return parked_send_token(journey->service->batond.port, journey->token, request);
}

static void in_a_header(struct journey *journey)
{
    ask(journey, "POST /locks/header", NULL, 201);
    ask(journey, "POST /locks/header", NULL, 200);
    ask(journey, "PUT /locks/header?ttl=5s", NULL, 200);
    ask(journey, "GET /locks/header", NULL, 200);
    ask(journey, "DELETE /locks/header", NULL, 200);
    ask(journey, "DELETE /locks/header", NULL, 200);
}

static void in_a_body(struct journey *journey)
{
    ask_in_body(journey, "POST /locks/body", ", \"meta\": {\"a\": [1, \"b\"]}", 201);
    ask_in_body(journey, "PUT /locks/body", ", \"ttl_ms\": 5000", 200);
    ask_in_body(journey, "DELETE /locks/body", "", 200);
}

static void on_a_connection_that_closes(struct journey *journey)
{
    struct http_call call = {
        "POST", "/locks/close", NULL, 0, LIST(journey->header, "Connection: close"), 0};
    assert_int_equal(http_request(journey->service->client, &call), 201);
    call.method = "DELETE";
    assert_int_equal(http_request(journey->service->client, &call), 200);
}

static void made_by_the_server(struct journey *journey)
{
    answers(journey->service->client, "POST /locks/made", NULL, 201, NULL);
    keep_token(journey->service->client, journey->token);
    ask(journey, "DELETE /locks/made", NULL, 200);
}

static void as_plain_text(struct journey *journey)
{
    struct http_call call = {
        "POST", "/locks/text", NULL, 0, LIST(journey->header, "Accept: text/plain"), 0};
    assert_int_equal(http_request(journey->service->client, &call), 201);
    assert_non_null(strstr(journey->service->client->reply.body, journey->token));
    ask(journey, "DELETE /locks/text", NULL, 200);
}

static void of_several(struct journey *journey)
{
    static const char NAMES[] = "{\"names\": [\"one\", \"two\", \"three\"]}";
    ask(journey, "POST /locks", NAMES, 201);
    ask(journey, "PUT /locks", NAMES, 200);
    ask(journey, "DELETE /locks", NAMES, 200);
}

static void in_refused_requests(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    char text[BODY_TEXT], *large = malloc(LARGE_TEXT);
    assert_non_null(large);
    snprintf(text, sizeof text, "POST /locks/refused?token=%s", journey->token);
    answers(client, text, NULL, 400, "invalid_parameter");
    snprintf(text, sizeof text, "{\"token\": \"%s\", \"ttl_ms\": 1, \"token\": 1}", journey->token);
    answers(client, "POST /locks/refused", text, 400, "invalid_json");
    ask_in_body(journey, "POST /locks/refused", ", \"ttl_ms\": 1", 400);
    ask_in_body(journey, "POST /locks/refused", ", \"ttl_ms\": ", 400);
    snprintf(text, sizeof text, "{\"unknown\": {\"token\": [\"%s\"]}}", journey->token);
    answers(client, "POST /locks/refused", text, 400, "invalid_parameter");
    snprintf(text, sizeof text, "{\"token\": \"%s %s\"}", journey->token, journey->token);
    answers(client, "POST /locks/refused", text, 400, "invalid_parameter");
    ask(journey, "POST /locks/refused", text, 400);
    ask(journey, "POST /nowhere", NULL, 404);
    snprintf(text, sizeof text, "GET /nowhere?token=%s", journey->token);
    answers(client, text, NULL, 404, "not_found");
    ask(journey, "PATCH /locks/refused", NULL, 405);
    ask(journey, "PUT /locks/refused", NULL, 409);
    ask(journey, "DELETE /locks/refused", NULL, 409);
    int length = snprintf(large, LARGE_TEXT, "{\"token\": \"%s\", \"meta\": \"", journey->token);
    memset(large + length, 'x', (size_t)(LARGE_TEXT - 1 - length));
    large[LARGE_TEXT - 1] = '\0';
    answers(client, "POST /locks/refused", large, 413, "too_large");
    free(large);
}

static void of_a_hold_of_others(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    answers(client, "POST /locks/others", NULL, 201, NULL);
    ask(journey, "POST /locks/others", NULL, 409);
    ask(journey, "POST /locks/others?wait=20ms", NULL, 409);
    answers(client, "DELETE /locks/others?force=true", NULL, 200, NULL);
}

/* Waiting: until it is granted, until its client goes, until it is cancelled, with a place kept. */

static void of_one_who_waited(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    answers(client, "POST /locks/waited", NULL, 201, NULL);
    struct parked *waiting = park(journey, "POST /locks/waited?wait=30s");
    comes_to_queue(client, "waited", 1);
    answers(client, "DELETE /locks/waited?force=true", NULL, 200, NULL);
    assert_int_equal(parked_answer(waiting, CLOCK_HANG_MS), 201);
    ask(journey, "DELETE /locks/waited", NULL, 200);
    parked_close(waiting);
}

static void of_one_who_hung_up(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    answers(client, "POST /locks/gone", NULL, 201, NULL);
    struct parked *waiting = park(journey, "POST /locks/gone?wait=30s");
    comes_to_queue(client, "gone", 1);
    parked_close(waiting);
    answers(client, "DELETE /locks/gone?force=true", NULL, 200, NULL);
}

static void of_one_who_was_cancelled(struct journey *journey)
{
    struct http_client *client = journey->service->client;
    answers(client, "POST /locks/cancelled", NULL, 201, NULL);
    struct parked *waiting = park(journey, "POST /locks/cancelled?wait=30s&keep=10s");
    comes_to_queue(client, "cancelled", 1);
    ask(journey, "DELETE /locks/cancelled", NULL, 200);
    assert_int_equal(parked_answer(waiting, CLOCK_HANG_MS), 409);
    parked_close(waiting);
}

static void of_a_connection(struct journey *journey)
{
    struct parked *stream = park(journey, "POST /locks/stream?hold=connection&ttl=600ms");
    assert_true(parked_receives(stream, journey->token, CLOCK_HANG_MS));
    /* The first renewal; on a machine that stands still, that the hold was lost. */
    assert_true(parked_receives(stream, "\"event\":", CLOCK_HANG_MS));
    parked_close(stream);
}

/* Redis is away while the request is under way, and what it may have done is taken back later. */
static void in_doubt(struct journey *journey)
{
    redis_process_freeze(&journey->service->redis);
    ask(journey, "POST /locks/doubt", NULL, 503);
    ask(journey, "DELETE /locks/doubt", NULL, 503);
    redis_process_thaw(&journey->service->redis);
    assert_true(comes_to_answer(journey->service->client, "/readyz", 200, CLOCK_HANG_MS));
}

static const struct {
    void (*travel)(struct journey *journey);
    const char *name;
} JOURNEYS[] = {
    {in_a_header, "header"},
    {in_a_body, "body"},
    {on_a_connection_that_closes, "closing"},
    {made_by_the_server, "made"},
    {as_plain_text, "text"},
    {of_several, "several"},
    {in_refused_requests, "refused"},
    {of_a_hold_of_others, "others"},
    {of_one_who_waited, "waited"},
    {of_one_who_hung_up, "gone"},
    {of_one_who_was_cancelled, "cancelled"},
    {of_a_connection, "stream"},
    {in_doubt, "doubt"},
};

enum { JOURNEY_COUNT = sizeof JOURNEYS / sizeof *JOURNEYS };

static void travel(struct journey *journey, struct service *service, size_t number)
{
    *journey = (struct journey){.service = service};
    snprintf(journey->token, sizeof journey->token, "tell-%s-tale-of-a-token",
             JOURNEYS[number].name);
    snprintf(journey->header, sizeof journey->header, "Lock-Token: %s", journey->token);
    JOURNEYS[number].travel(journey);
}

/* Connections are kept, and nothing else is asked before the memory is looked at. */
static void is_gone(pid_t pid, const char *token)
{
    char places[MEMORY_PLACES];
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    size_t count = memory_count(pid, token, places);
    while (count > 0 && clock_ms() < deadline) {
        clock_sleep_ms(50);
        count = memory_count(pid, token, places);
    }
    if (count > 0)
        fail_msg("%zu copies of %s:\n%s", count, token, places);
}

static void no_journey_leaves_its_token(struct service *service)
{
    struct journey journey;
    for (size_t i = 0; i < JOURNEY_COUNT; i++) {
        travel(&journey, service, i);
        is_gone(service->batond.process.pid, journey.token);
    }
}

TEST_WITH(no_token_outlives_its_request, service_start, service_stop)
{
    if (!heap_wipes() || geteuid() != 0)
        skip();
    no_journey_leaves_its_token(*state);
}

TEST(no_token_outlives_its_request_over_tls_to_redis)
{
    struct service service;
    struct temp_dir dir;
    struct certificate authority, redis_certificate;
    char port[16], url[64], trust[160];
    if (!heap_wipes() || geteuid() != 0)
        skip();
    temp_dir_make(&dir);
    certificate_make(&authority, &dir, "authority",
                     &(struct certificate_options){.authority = true});
    certificate_make(&redis_certificate, &dir, "redis",
                     &(struct certificate_options){.issuer = &authority, .names = "DNS:localhost"});
    snprintf(port, sizeof port, "%d", free_port());
    snprintf(url, sizeof url, "rediss://localhost:%s", port);
    snprintf(trust, sizeof trust, "--redis-ca=%s", authority.file);
    const struct redis_options redis = {
        .arguments = LIST("--tls-port", port, "--tls-cert-file", redis_certificate.file,
                          "--tls-key-file", redis_certificate.key, "--tls-ca-cert-file",
                          authority.file, "--tls-auth-clients", "no")};
    redis_process_start(&service.redis, &redis);
    service.client = batond_open(&service.batond, url, LIST(trust, "--workers=1"));
    assert_true(comes_to_answer(service.client, "/readyz", 200, CLOCK_HANG_MS));
    no_journey_leaves_its_token(&service);
    service_close(&service);
    temp_dir_remove(&dir);
}

/* What says who asks: a principal's token, one that nobody has, and both as Basic. */
TEST(no_principal_s_token_outlives_its_request)
{
    static const char *const FORMS[] = {NULL, "Authorization: Bearer tell-tale-of-nobody-at-all",
                                        "Authorization: Basic OnRlbGwtdGFsZS1vZi1ub2JvZHk="};
    static const struct file_principal SOMEBODY = {
        "ci", "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\"]}]", NULL};
    static const char LOCK_TOKEN[] = "tell-tale-of-a-token-over-tls";
    struct secure secure;
    char token[PRINCIPAL_TOKEN_TEXT], flag[160], header[PRINCIPAL_HEADER_TEXT], lock[64];
    if (!heap_wipes() || geteuid() != 0)
        skip();
    secure_prepare(&secure);
    principals_file_write(secure.tokens_file, &SOMEBODY, 1);
    snprintf(flag, sizeof flag, "--tokens-file=%s", secure.tokens_file);
    secure_start(&secure, false, LIST(flag, "--workers=1"));
    assert_true(comes_to_answer(secure.client, "/readyz", 200, CLOCK_HANG_MS));
    principal_token("ci", token);
    principal_header("ci", header);
    snprintf(lock, sizeof lock, "Lock-Token: %s", LOCK_TOKEN);
    pid_t pid = secure.batond.process.pid;
    for (size_t form = 0; form < sizeof FORMS / sizeof *FORMS; form++) {
        static const char *const REQUESTS[] = {"POST", "PUT", "GET", "DELETE"};
        const char *sent = FORMS[form] ? FORMS[form] : header;
        for (size_t i = 0; i < 4; i++) {
            const char *const headers[] = {sent, lock, i == 3 ? "Connection: close" : NULL, NULL};
            long status = http_request(secure.client, &(struct http_call){.method = REQUESTS[i],
                                                                          .path = "/locks/tls",
                                                                          .headers = headers});
            assert_int_equal(status, form > 0 ? 401 : i > 0 ? 200 : 201);
        }
        is_gone(pid, token);
        is_gone(pid, LOCK_TOKEN);
        is_gone(pid, "tell-tale-of-nobody");
        is_gone(pid, "OnRlbGwtdGFsZS1vZi1ub2JvZHk");
    }
    char *log = process_output(&secure.batond.process);
    assert_null(strstr(log, token + 8));
    assert_null(strstr(log, "tell-tale"));
    free(log);
    secure_close(&secure);
}

/* The test itself can see a token: of a hold that a connection keeps. */
TEST_WITH(a_token_in_use_is_found, service_start, service_stop)
{
    char places[MEMORY_PLACES];
    if (!heap_wipes() || geteuid() != 0)
        skip();
    struct journey journey = {.service = *state, .token = "tell-tale-token-in-use"};
    struct parked *stream = park(&journey, "POST /locks/used?hold=connection&ttl=10s");
    assert_true(parked_receives(stream, journey.token, CLOCK_HANG_MS));
    assert_true(memory_count(journey.service->batond.process.pid, journey.token, places) > 0);
    parked_close(stream);
}

/* A Redis with a password */

static const char PASSWORD[] = "tell-tale-of-a-password";

static void open_with_password(struct service *service, bool by_flag)
{
    char url[200], flag[220], variable[220];
    const struct redis_options redis = {.port = true};
    redis_process_start(&service->redis, &redis);
    freeReplyObject(
        redis_process_command(&service->redis, "ACL SETUSER baton on >%s ~* &* +@all", PASSWORD));
    snprintf(url, sizeof url, "redis://baton:%s@127.0.0.1:%d", PASSWORD, service->redis.port);
    snprintf(flag, sizeof flag, "--redis-url=%s", url);
    snprintf(variable, sizeof variable, "BATON_REDIS_URL=%s", url);
    const char *const arguments[] = {"--log-level=debug", "--workers=1", by_flag ? flag : NULL,
                                     NULL};
    const char *const environment[] = {variable, NULL};
    struct batond_options options = {.arguments = arguments,
                                     .environment = by_flag ? NULL : environment};
    batond_process_start(&service->batond, &options);
    service->client = http_client_new(service->batond.url);
}

/* All of a file, NULs made visible. */
static char *content_of(const struct service *service, const char *name)
{
    char path[80], *text = calloc(1, 1 << 16);
    snprintf(path, sizeof path, "/proc/%d/%s", (int)service->batond.process.pid, name);
    FILE *file = fopen(path, "re");
    if (!text || !file)
        fail_msg("cannot read %s", path);
    size_t length = fread(text, 1, (1 << 16) - 1, file);
    fclose(file);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return text;
}

/* Tokens and the password have the same beginning, which stands in no message. */
static void has_no_tale(const char *where, const char *text)
{
    const char *tale = strstr(text, "tell-");
    if (tale) /* not all of it: an environment has secrets of its own */
        fail_msg("%s: %.60s", where, tale);
}

static void files_have_no_tale(const struct service *service)
{
    static const char *const FILES[] = {"cmdline", "environ", "comm", "status"};
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        char *text = content_of(service, FILES[i]);
        has_no_tale(FILES[i], text);
        if (i == 0)
            assert_non_null(strstr(text, "--log-level=debug"));
        free(text);
    }
}

/* What an operator does who looks for a token in the logs. */
static void token_is_logged_by_its_mark(const struct service *service)
{
    char command[200], line[1024], mark[64] = "";
    snprintf(command, sizeof command,
             "printf %%s tell-header-tale-of-a-token | sha256sum | "
             "cut -c 1-12");
    FILE *pipe = popen(command, "re"); // NOLINT(cert-env33-c): as an operator does
    assert_non_null(pipe);
    assert_non_null(fgets(mark + 1, sizeof mark - 2, pipe));
    pclose(pipe);
    mark[0] = '"';
    mark[strcspn(mark, "\n")] = '"';
    assert_int_equal(strlen(mark), 14);
    assert_true(
        process_wait_line(&service->batond.process, mark, NULL, line, sizeof line, CLOCK_HANG_MS));
    assert_non_null(
        strstr(line, "\"level\":\"info\",\"msg\":\"lock granted\",\"lock\":\"header\","));
}

/* At the most talkative level, and over losses of Redis. */
TEST(no_secret_is_shown)
{
    struct service service;
    struct journey journey;
    if (geteuid() != 0)
        skip();
    for (int by_flag = 0; by_flag < 2; by_flag++) {
        open_with_password(&service, by_flag);
        files_have_no_tale(&service);
        for (size_t i = 0; i < JOURNEY_COUNT; i++)
            travel(&journey, &service, i);
        redis_process_kill(&service.redis);
        assert_true(comes_to_answer(service.client, "/readyz", 503, CLOCK_HANG_MS));
        assert_int_equal(http_call(service.client, "GET", "/metrics", NULL), 200);
        has_no_tale("/metrics", service.client->reply.body);
        files_have_no_tale(&service);
        assert_true(process_wait_line(&service.batond.process, "redis is down", NULL, NULL, 0,
                                      CLOCK_HANG_MS));
        char *log = process_output(&service.batond.process);
        has_no_tale("log", log);
        token_is_logged_by_its_mark(&service);
        free(log);
        service_close(&service);
    }
}

/* To connect again: once for the process, once for a worker, and for each of its connections. */
TEST(a_password_is_kept_as_often_as_it_is_needed)
{
    struct service service;
    char places[MEMORY_PLACES];
    if (!heap_wipes() || geteuid() != 0)
        skip();
    for (int by_flag = 0; by_flag < 2; by_flag++) {
        open_with_password(&service, by_flag);
        assert_true(comes_to_answer(service.client, "/readyz", 200, CLOCK_HANG_MS));
        answers(service.client, "POST /locks/a", NULL, 201, NULL);
        int64_t deadline = clock_ms() + CLOCK_HANG_MS; /* all connections are made */
        size_t count;
        while ((count = memory_count(service.batond.process.pid, PASSWORD, places)) != 4)
            if (clock_ms() > deadline)
                fail_msg("%zu copies:\n%s", count, places);
        service_close(&service);
    }
}

/* Its own process */

static void has_line(const struct service *service, const char *line)
{
    char *status = content_of(service, "status");
    if (!strstr(status, line))
        fail_msg("no \"%s\" in %s", line, status);
    free(status);
}

TEST(a_process_gives_up_what_it_does_not_need)
{
    struct service service;
    service_open(&service, NULL, LIST("--sandbox=false"));
    has_line(&service, "\nNoNewPrivs:\t1\n");
    has_line(&service, "\nSeccomp:\t0\n");
    char *limits = content_of(&service, "limits");
    const char *core = strstr(limits, "Max core file size");
    long soft = -1, hard = -1;
    assert_int_equal(core ? sscanf(core, "Max core file size %ld %ld", &soft, &hard) : 0, 2);
    assert_true(soft == 0 && hard == 0);
    free(limits);
    service_close(&service);
    if (sandbox_check(NULL) < 0)
        skip();
    SKIP_UNDER_VALGRIND("the filter does not know the calls that valgrind itself makes");
    service_open(&service, NULL, LIST("--sandbox"));
    has_line(&service, "\nNoNewPrivs:\t1\n");
    has_line(&service, "\nSeccomp:\t2\n");
    answers(service.client, "POST /locks/a", NULL, 201, NULL);
    service_close(&service);
}

TEST(a_build_without_the_filter_says_so)
{
    struct batond_process batond;
    if (sandbox_check(NULL) == 0)
        skip();
    batond_process_launch(&batond, &(struct batond_options){.arguments = LIST("--sandbox")});
    assert_true(process_wait(&batond.process, CLOCK_HANG_MS));
    assert_int_equal(process_exit_code(&batond.process), 2);
    char *output = process_output(&batond.process);
    assert_non_null(strstr(output, "--sandbox: batond was built without libseccomp"));
    free(output);
    batond_process_stop(&batond);
}

int main(void)
{
    setenv("LD_BIND_NOW", "1", 1); /* docs/security.md, Secrets: for the batonds */
    return tests_run(NULL, NULL);
}
