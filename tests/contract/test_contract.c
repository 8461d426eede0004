/* A real batond against openapi.yaml: what comes is what the document says, and all that it
 * promises can be had. */
#include "api/http/target.h"
#include "tests/contract/ask.h"
#include "tests/contract/cases.h"
#include "tests/contract/guarded.h"
#include "tests/contract/judge.h"
#include "tests/contract/limited.h"
#include "tests/contract/promises.h"
#include "tests/contract/schema.h"
#include "tests/support/faults/stuck_thread.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/raw.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { TOO_MUCH = 64 * 1024, GLANCE_MS = 1000, CASE_LONGEST = 1024 };

struct fixture {
    struct spec spec;
    struct redis_process redis;
    struct batond_process batond;
    struct http_client *client;
};

static int start(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    *state = fixture;
    spec_load(&fixture->spec);
    redis_process_start(&fixture->redis, NULL);
    static const char *const arguments[] = {"--max-waiters=1", NULL};
    struct batond_options options = {.redis_url = fixture->redis.url, .arguments = arguments};
    batond_process_start(&fixture->batond, &options);
    fixture->client = http_client_new(fixture->batond.url);
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;
    http_client_free(fixture->client);
    int code = batond_process_stop(&fixture->batond);
    redis_process_stop(&fixture->redis);
    spec_free(&fixture->spec);
    free(fixture);
    return code;
}

static bool has_code(struct http_client *client, const char *code);

/* What has to be so before the test goes on: done, or now waiting for its turn. */
static void arrange(struct http_client *client, const char *request)
{
    if (ask(client, request, 0) / 100 != 2 && !has_code(client, "wait_timeout"))
        fail_msg("%s: %ld %s", request, client->reply.status, client->reply.body);
}

/* Whether the reply's problem, or its error line, has this code; "" is for no problem. */
static bool has_code(struct http_client *client, const char *code)
{
    const char *actual = http_text(client, "code");
    size_t length = strlen(code);
    char type[64];
    judge_media_type(client, type);
    if (client->reply.status >= 400 && !strcmp(type, "text/plain"))
        return !strncmp(client->reply.body, code, length) && client->reply.body[length] == ':';
    return !strcmp(actual ? actual : "", code);
}

/* Whether the reply to `request` is the one that is expected, and as the document has it. */
static bool judge_case(struct fixture *fixture, struct http_client *client,
                       const struct contract_case *it, json_t *promises, struct failure *failure)
{
    char id[64], code[64] = "", path[128];
    long status;
    assert_in_range(sscanf(it->reply, "%63s %ld %63s", id, &status, code), 2, 3);
    assert_int_equal(sscanf(it->request, "%*s %127[^?\n]", path), 1);
    const struct spec_operation *operation = spec_operation(&fixture->spec, id);
    assert_non_null(operation);
    if (client->reply.status != status || !has_code(client, code))
        return failure_set(failure, -EINVAL, "it is not %s", it->reply) == 0;
    if (!judge_reply(&fixture->spec, operation, client, failure) ||
        !judge_problem(client, path, failure))
        return false;
    promises_note(promises, id, client);
    return true;
}

static void arrange_case(struct http_client *client, const struct contract_case *it)
{
    for (size_t i = 0; i < CASE_BEFORE && it->before[i]; i++)
        arrange(client, it->before[i]);
}

struct meanwhile {
    pthread_t thread;
    const struct batond_process *batond;
    const char *request;
    struct parked *parked;
};

/* On a thread of its own: lets the other request wait, and sends the one that ends its wait. */
static void *ask_meanwhile(void *context)
{
    struct meanwhile *meanwhile = context;
    struct http_client *client = http_client_new(meanwhile->batond->url);
    char name[64] = "";
    sscanf(meanwhile->request, "POST /locks/%63[^?]", name);
    comes_to_queue(client, name, 1);
    meanwhile->parked = parked_send_token(meanwhile->batond->port, CASE_TOKEN, meanwhile->request);
    http_client_free(client);
    return NULL;
}

static void ask_case(struct fixture *fixture, struct http_client *client,
                     const struct contract_case *it)
{
    struct meanwhile meanwhile = {.batond = &fixture->batond, .request = it->meanwhile};
    if (it->meanwhile)
        assert_int_equal(pthread_create(&meanwhile.thread, NULL, ask_meanwhile, &meanwhile), 0);
    ask(client, it->request, it->too_large ? TOO_MUCH : 0);
    if (it->meanwhile) {
        pthread_join(meanwhile.thread, NULL);
        parked_close(meanwhile.parked);
    }
}

static bool is_as_documented(struct fixture *fixture, struct http_client *client,
                             const struct contract_case *it, json_t *promises)
{
    struct failure failure = {""};
    bool fine = judge_case(fixture, client, it, promises, &failure);
    if (!fine)
        print_error("%s: %s\n%s%s\n\n", it->request, failure.text, client->reply.headers,
                    client->reply.body);
    return fine;
}

/* Whether the case is a refusal that comes again, as a line of text. */
static bool has_line(const struct fixture *fixture, const struct contract_case *it)
{
    char id[64];
    long status;
    assert_int_equal(sscanf(it->reply, "%63s %ld", id, &status), 2);
    return status >= 400 && it->condition != DRAINING && !it->meanwhile &&
           !strstr(it->request, "\nAccept: ") &&
           spec_content(&fixture->spec, spec_operation(&fixture->spec, id), status, "text/plain");
}

/* The same request for text. */
static struct contract_case as_line(const struct contract_case *it, char request[CASE_LONGEST])
{
    size_t line = strcspn(it->request, "\n");
    struct contract_case asked = *it;
    snprintf(request, CASE_LONGEST, "%.*s\nAccept: text/plain%s", (int)line, it->request,
             it->request + line);
    asked.request = request;
    return asked;
}

static bool run_once(struct fixture *fixture, struct http_client *client,
                     const struct contract_case *it, json_t *promises)
{
    ask_case(fixture, client, it);
    return is_as_documented(fixture, client, it, promises);
}

static bool run_case(struct fixture *fixture, struct http_client *client,
                     const struct contract_case *it, json_t *promises)
{
    char request[CASE_LONGEST];
    bool fine = run_once(fixture, client, it, promises);
    if (!has_line(fixture, it))
        return fine;
    struct contract_case asked = as_line(it, request);
    return run_once(fixture, client, &asked, promises) && fine;
}

/* All cases of this condition, asked by the client. What has to be there before is arranged at the
 * usual batond. */
static size_t run_cases(struct fixture *fixture, struct http_client *client,
                        enum condition condition, json_t *promises)
{
    size_t failed = 0;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        if (CASES[i].condition != condition)
            continue;
        arrange_case(fixture->client, &CASES[i]);
        failed += !run_case(fixture, client, &CASES[i], promises);
    }
    return failed;
}

static bool is_open(struct http_client *client)
{
    const char *connection = http_header(client, "Connection");
    return client->reply.status == 200 && !(connection && !strcasecmp(connection, "close"));
}

/* Tells batond to stop, and waits until this client hears of it. */
static void begin_draining(struct batond_process *batond, struct http_client *client)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    process_signal(&batond->process, SIGTERM);
    while (is_open(client) && clock_ms() < deadline) {
        clock_sleep_ms(5);
        assert_true(http_call(client, "GET", "/readyz", NULL) != 0);
    }
    assert_false(is_open(client));
}

/* A batond that stops takes no connection any more, but serves those that it has: each case has one
 * of its own. It does not end before the request that is never completed. */
static size_t run_draining_cases(struct fixture *fixture, json_t *promises)
{
    static const char UNFINISHED[] = "GET /livez HTTP/1.1\r\n";
    static const char *const arguments[] = {"--workers=1", "--head-timeout=60s", NULL};
    struct batond_options options = {.redis_url = fixture->redis.url, .arguments = arguments};
    struct batond_process batond;
    batond_process_start(&batond, &options);
    struct http_client *first = http_client_new(batond.url);
    struct http_client **clients = calloc(CASE_COUNT, sizeof(struct http_client *));
    size_t failed = 0;
    int unfinished = raw_connect(batond.port);
    assert_true(raw_send(unfinished, UNFINISHED, sizeof UNFINISHED - 1));
    arrange(first, "GET /livez");
    for (size_t i = 0; i < CASE_COUNT; i++)
        if (CASES[i].condition == DRAINING)
            arrange_case(clients[i] = http_client_new(batond.url), &CASES[i]);
    begin_draining(&batond, first);
    for (size_t i = 0; i < CASE_COUNT; i++) {
        if (clients[i])
            failed += !run_case(fixture, clients[i], &CASES[i], promises);
        http_client_free(clients[i]);
    }
    close(unfinished);
    http_client_free(first);
    free(clients);
    assert_true(process_wait(&batond.process, CLOCK_HANG_MS));
    assert_int_equal(batond_process_stop(&batond), 0);
    return failed;
}

/* A connection that the other worker has, the one that is not stuck. */
static struct http_client *connect_to_the_other(const struct batond_process *batond)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (clock_ms() < deadline) {
        struct http_client *client = http_client_new(batond->url);
        const struct http_call glance = {.path = "/livez", .timeout_ms = GLANCE_MS};
        if (http_request(client, &glance) == 503)
            return client;
        http_client_free(client);
        clock_sleep_ms(50);
    }
    fail_msg("nobody notices that a worker is stuck");
}

static size_t run_stuck_cases(struct fixture *fixture, json_t *promises)
{
    static const char *const arguments[] = {"--workers=2", NULL};
    struct batond_options options = {.redis_url = fixture->redis.url, .arguments = arguments};
    struct batond_process batond;
    batond_process_start(&batond, &options);
    pid_t thread = stuck_thread_begin(batond.process.pid, "worker 2");
    if (!thread)
        promises_excuse(promises, "stuck");
    struct http_client *client = thread ? connect_to_the_other(&batond) : NULL;
    size_t failed = client ? run_cases(fixture, client, STUCK, promises) : 0;
    stuck_thread_end(thread);
    http_client_free(client);
    assert_int_equal(batond_process_stop(&batond), 0);
    return failed;
}

static size_t run_cases_at(struct fixture *fixture, const char *redis_url,
                           const char *const *arguments, enum condition condition, json_t *promises)
{
    struct batond_options options = {.redis_url = redis_url, .arguments = arguments};
    struct batond_process batond;
    batond_process_start(&batond, &options);
    struct http_client *client = http_client_new(batond.url);
    size_t failed = run_cases(fixture, client, condition, promises);
    http_client_free(client);
    assert_int_equal(batond_process_stop(&batond), 0);
    return failed;
}

/* A batond whose grants a replica is to confirm, and there is none. */
static size_t run_alone_cases(struct fixture *fixture, json_t *promises)
{
    return run_cases_at(fixture, fixture->redis.url,
                        LIST("--confirm=replicas:1", "--confirm-timeout=20ms"), ALONE, promises);
}

/* A batond of a quorum, of which nobody is there: what it does not offer, it refuses all the same.
 */
static size_t run_quorum_cases(struct fixture *fixture, json_t *promises)
{
    static const char URL[] = "redis+quorum://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3";
    return run_cases_at(fixture, URL, NULL, IN_QUORUM, promises);
}

static bool is_quarantined(void *context)
{
    return http_call(context, "POST", "/locks/lost?ttl=100ms", NULL) == 503;
}

/* A batond that has granted something, of which Redis knows nothing any more. */
static size_t run_quarantined_cases(struct fixture *fixture, json_t *promises)
{
    static const char *const arguments[] = {"--quarantine=30s", NULL};
    struct batond_options options = {.redis_url = fixture->redis.url, .arguments = arguments};
    struct batond_process batond;
    batond_process_start(&batond, &options);
    struct http_client *client = http_client_new(batond.url);
    assert_int_equal(http_call(client, "POST", "/locks/lost-before?ttl=10s", NULL), 201);
    redis_process_flush(&fixture->redis);
    assert_true(clock_wait_until(is_quarantined, client, CLOCK_HANG_MS));
    size_t failed = run_cases(fixture, client, QUARANTINED, promises);
    http_client_free(client);
    assert_int_equal(batond_process_stop(&batond), 0);
    return failed;
}

/* A batond that asks who it is, and does not let in. */
static size_t run_guarded_cases(struct fixture *fixture, json_t *promises)
{
    struct temp_dir dir;
    char path[256], flag[300];
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/tokens.json", dir.path);
    snprintf(flag, sizeof flag, "--tokens-file=%s", path);
    guarded_write_file(path);
    const char *const arguments[] = {flag, NULL};
    struct batond_options options = {.redis_url = fixture->redis.url, .arguments = arguments};
    struct batond_process batond;
    batond_process_start(&batond, &options);
    struct http_client *client = http_client_new(batond.url);
    struct guarded_case cases[GUARDED_MOST];
    size_t failed = 0, count = guarded_cases(cases);
    for (size_t i = 0; i < count; i++) {
        const struct contract_case it = {.reply = cases[i].reply, .request = cases[i].request};
        failed += !run_case(fixture, client, &it, promises);
    }
    http_client_free(client);
    assert_int_equal(batond_process_stop(&batond), 0);
    temp_dir_remove(&dir);
    return failed;
}

/* Renewals with a token that holds nothing, one after the other: so no renewal and no release is
 * admitted meanwhile, but for one of them a second. */
struct flood {
    const char *url;
    atomic_bool refused, over;
    pthread_t thread;
};

static void *flood_run(void *context)
{
    static const char BODY[] = "{\"token\":\"made-up-and-holds-nothing\"}";
    struct flood *flood = context;
    struct http_client *client = http_client_new(flood->url);
    while (!atomic_load(&flood->over))
        if (http_call(client, "PUT", "/locks/flood", BODY) == 429)
            atomic_store(&flood->refused, true);
    http_client_free(client);
    return NULL;
}

static void flood_start(struct flood *flood, const char *url)
{
    *flood = (struct flood){.url = url};
    assert_int_equal(pthread_create(&flood->thread, NULL, flood_run, flood), 0);
    while (!atomic_load(&flood->refused))
        clock_sleep_ms(1);
}

static void flood_stop(struct flood *flood)
{
    atomic_store(&flood->over, true);
    pthread_join(flood->thread, NULL);
}

/* The only request of this second is made before; again where a slow machine lets the second pass.
 */
static bool run_limited_once(struct fixture *fixture, struct http_client *client,
                             const struct contract_case *it, json_t *promises)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    do {
        http_call(client, "GET", "/metrics", NULL);
        ask(client, it->request, 0);
    } while (client->reply.status != 429 && clock_ms() < deadline);
    return is_as_documented(fixture, client, it, promises);
}

static bool run_limited_case(struct fixture *fixture, struct http_client *client,
                             const struct contract_case *it, json_t *promises)
{
    char request[CASE_LONGEST];
    bool fine = run_limited_once(fixture, client, it, promises);
    if (!has_line(fixture, it))
        return fine;
    struct contract_case asked = as_line(it, request);
    return run_limited_once(fixture, client, &asked, promises) && fine;
}

static size_t run_limited_cases(struct fixture *fixture, json_t *promises)
{
    static const char WAITS[] = "GET /events?after=9007199254740991&wait=50s HTTP/1.1\r\n"
                                "Host: a\r\n\r\n";
    static const char *const arguments[] = {"--max-waiters-per-process=1", NULL};
    static const char *const limited[] = {"--rate-limit=1", NULL};
    struct batond_options options = {.redis_url = fixture->redis.url, .arguments = arguments};
    struct batond_process batond[2];
    struct limited_case cases[LIMITED_MOST];
    size_t failed = 0, count = limited_cases(cases);
    batond_process_start(&batond[1], &options);
    options.arguments = limited;
    batond_process_start(&batond[0], &options);
    struct http_client *clients[] = {http_client_new(batond[0].url),
                                     http_client_new(batond[1].url)};
    int waiting = raw_connect(batond[1].port);
    assert_true(raw_send(waiting, WAITS, sizeof WAITS - 1));
    while (http_call(clients[1], "GET", "/locks/limited/events?wait=1ms", NULL) == 200)
        clock_sleep_ms(5);
    struct flood flood;
    flood_start(&flood, batond[0].url);
    for (size_t i = 0; i < count; i++) {
        const struct contract_case it = {.reply = cases[i].reply, .request = cases[i].request};
        failed += !(cases[i].waits ? run_case(fixture, clients[1], &it, promises)
                                   : run_limited_case(fixture, clients[0], &it, promises));
    }
    flood_stop(&flood);
    close(waiting);
    for (size_t i = 0; i < 2; i++) {
        http_client_free(clients[i]);
        assert_int_equal(batond_process_stop(&batond[i]), 0);
    }
    return failed;
}

TEST(serves_the_document_itself)
{
    struct fixture *fixture = *state;
    arrange(fixture->client, "GET /openapi.yaml");
    assert_int_equal(fixture->client->reply.length, fixture->spec.length);
    assert_memory_equal(fixture->client->reply.body, fixture->spec.text, fixture->spec.length);
}

/* The operation's path with the name filled in. */
static void fill_path(const struct spec_operation *operation, const char *name, char path[128])
{
    const char *hole = strstr(operation->path, "{name}");
    size_t length = hole ? (size_t)(hole - operation->path) : strlen(operation->path);
    snprintf(path, 128, "%.*s%s%s", (int)length, operation->path, hole ? name : "",
             hole ? hole + strlen("{name}") : "");
}

/* The headers that HEAD has to share with GET; "" for one that is absent. Some lengths change with
 * the time. */
static void note_headers(struct http_client *client, const char *path, char text[256])
{
    const char *type = http_header(client, "Content-Type");
    size_t length = (size_t)snprintf(text, 256, "%s ", type ? type : "");
    const char *etag = http_header(client, "ETag");
    length += (size_t)snprintf(text + length, 256 - length, "%s ", etag ? etag : "");
    const char *size =
        strcmp(path, "/openapi.yaml") == 0 ? http_header(client, "Content-Length") : NULL;
    snprintf(text + length, 256 - length, "%s", size ? size : "");
}

TEST(answers_head_like_get)
{
    struct fixture *fixture = *state;
    struct http_client *client = fixture->client;
    char path[128], headers[256], head_headers[256];
    for (size_t i = 0; i < fixture->spec.operation_count; i++) {
        if (strcmp(fixture->spec.operations[i].method, "GET") != 0)
            continue;
        fill_path(&fixture->spec.operations[i], "head", path);
        assert_int_equal(http_call(client, "GET", path, NULL), 200);
        note_headers(client, path, headers);
        assert_int_equal(http_call(client, "HEAD", path, NULL), 200);
        note_headers(client, path, head_headers);
        assert_string_equal(head_headers, headers);
        assert_int_equal(client->reply.length, 0);
    }
    assert_int_equal(http_call(client, "HEAD", "/nothing", NULL), 404);
    assert_int_equal(client->reply.length, 0);
}

/* Takes the hold that an example of a renewal or a release is about: of its names, or of the path.
 */
static void arrange_hold(struct http_client *client, const char *path, const json_t *example)
{
    char request[1024];
    const char *token = json_string_value(json_object_get(example, "token"));
    const json_t *names = json_object_get(example, "names");
    char *list = names ? json_dumps(names, JSON_COMPACT) : NULL;
    assert_non_null(token);
    snprintf(request, sizeof request, "POST %s\nLock-Token: %s%s%s%s", path, token,
             list ? "\n\n{\"names\":" : "", list ? list : "", list ? "}" : "");
    arrange(client, request);
    free(list);
}

/* What the example has taken must not be in the way of the next. */
static void release_names(struct http_client *client, const json_t *example)
{
    char path[128];
    size_t i;
    json_t *name;
    json_array_foreach (json_object_get(example, "names"), i, name) {
        snprintf(path, sizeof path, "/locks/%s?force=true", json_string_value(name));
        assert_int_equal(http_call(client, "DELETE", path, NULL), 200);
    }
}

/* Sends one example of a body; where it has a token, it needs the hold
 * that this stands for. */
static void send_body_example(struct fixture *fixture, const struct spec_operation *operation,
                              const char *name, const json_t *example)
{
    char path[128], request[1024], lock[64];
    char *body = json_dumps(example, JSON_COMPACT);
    snprintf(lock, sizeof lock, "%s-%s", operation->id, name);
    fill_path(operation, lock, path);
    if (strcmp(operation->method, "POST") != 0 && json_object_get(example, "token"))
        arrange_hold(fixture->client, path, example);
    snprintf(request, sizeof request, "%s %s\n\n%s", operation->method, path, body);
    arrange(fixture->client, request);
    release_names(fixture->client, example);
    free(body);
}

TEST(accepts_the_examples_of_bodies)
{
    struct fixture *fixture = *state;
    size_t sent = 0;
    for (size_t i = 0; i < fixture->spec.operation_count; i++) {
        const struct spec_operation *operation = &fixture->spec.operations[i];
        const json_t *content =
            json_object_get(json_object_get(operation->node, "requestBody"), "content");
        json_t *examples = spec_examples(json_object_get(content, "application/json"));
        const char *name;
        json_t *example;
        json_object_foreach (examples, name, example) {
            send_body_example(fixture, operation, name, example);
            sent++;
        }
        json_decref(examples);
    }
    assert_true(sent > 0);
}

/* Appends "name=value" for the example of a parameter in the query. */
static void append_example(char *query, size_t size, const json_t *parameter)
{
    const char *name = json_string_value(json_object_get(parameter, "name"));
    const json_t *example = json_object_get(parameter, "example");
    char *number = json_is_string(example) ? NULL : json_dumps(example, JSON_ENCODE_ANY);
    char text[256];
    percent_encode(slice_of(number ? number : json_string_value(example)), text);
    size_t length = strlen(query);
    snprintf(query + length, size - length, "%c%s=%s", length ? '&' : '?', name, text);
    free(number);
}

static bool is_in_query(const json_t *parameter, const char *name)
{
    return !strcmp(json_string_value(json_object_get(parameter, "in")), "query") &&
           !strcmp(json_string_value(json_object_get(parameter, "name")), name);
}

/* Whether this is a duration in the other of its two spellings. */
static bool is_spelled_otherwise(const json_t *parameters, const char *name, bool in_ms)
{
    char other[64];
    size_t i, length = strlen(name);
    json_t *parameter;
    bool is_ms = length > 3 && !strcmp(name + length - 3, "_ms"), has_other = false;
    snprintf(other, sizeof other, is_ms ? "%.*s" : "%.*s_ms", (int)(is_ms ? length - 3 : length),
             name);
    json_array_foreach (parameters, i, parameter)
        has_other |= is_in_query(parameter, other);
    return has_other && is_ms != in_ms;
}

/* The query with the examples of all parameters at once, but for a hold by connection, whose answer
 * has no end, the fence of a break, which no hold has, and the end of a hold, which needs a token.
 */
static void fill_query(const struct spec *spec, const struct spec_operation *operation, bool in_ms,
                       char *query, size_t size)
{
    json_t *parameters = spec_parameters(spec, operation);
    size_t i;
    json_t *parameter;
    json_array_foreach (parameters, i, parameter) {
        const char *name = json_string_value(json_object_get(parameter, "name"));
        if (is_in_query(parameter, name) && strcmp(name, "hold") != 0 &&
            strcmp(name, "fence") != 0 && strcmp(name, "until") != 0 &&
            !is_spelled_otherwise(parameters, name, in_ms))
            append_example(query, size, parameter);
    }
    json_decref(parameters);
}

static bool send_query_examples(struct fixture *fixture, const struct spec_operation *operation,
                                bool in_ms)
{
    char query[512] = "", path[128], request[1024];
    fill_query(&fixture->spec, operation, in_ms, query, sizeof query);
    fill_path(operation, operation->id, path);
    /* A renewal needs a hold; a token of its own, or names, would be refused beside force=true. */
    bool renews = !strcmp(operation->method, "PUT");
    bool is_several = !strcmp(path, "/locks") && strcmp(operation->method, "GET") != 0 &&
                      strcmp(operation->method, "DELETE") != 0;
    const char *token = renews ? "\nLock-Token: contract-test-token-one" : "";
    const char *body = is_several ? "\n\n{\"names\":[\"query-a\",\"query-b\"]}" : "";
    snprintf(request, sizeof request, "POST %s%s%s", path, token, body);
    if (renews)
        arrange(fixture->client, request);
    snprintf(request, sizeof request, "%s %s%s%s%s", operation->method, path, query, token, body);
    if (*query)
        arrange(fixture->client, request);
    if (is_several)
        arrange(fixture->client, "DELETE /locks/query-a?force=true");
    if (is_several)
        arrange(fixture->client, "DELETE /locks/query-b?force=true");
    return *query;
}

TEST(accepts_the_examples_of_queries)
{
    struct fixture *fixture = *state;
    size_t sent = 0;
    for (size_t i = 0; i < fixture->spec.operation_count; i++)
        for (int in_ms = 0; in_ms <= 1; in_ms++)
            sent += send_query_examples(fixture, &fixture->spec.operations[i], in_ms);
    assert_true(sent > 0);
}

/* Sends the request; false if it is refused for this field. */
static bool takes(struct http_client *client, const char *request, const char *field)
{
    const char *refused = ask(client, request, 0) == 400 ? http_text(client, "parameter") : NULL;
    return !refused || strcmp(refused, field) != 0;
}

/* Whether batond takes null for this field in an example, there or with its value elsewhere. */
static bool takes_null(struct fixture *fixture, const struct spec_operation *operation,
                       const char *lock, const char *field, const json_t *example)
{
    char path[128], request[1024];
    char *body = json_dumps(example, JSON_COMPACT);
    fill_path(operation, lock, path);
    snprintf(request, sizeof request, "%s %s\n\n%s", operation->method, path, body);
    bool is_taken = takes(fixture->client, request, field);
    if (!is_taken && !strcmp(field, "names")) /* they are nowhere else */
        goto end;
    snprintf(request, sizeof request, "%s %s?reason=example\nLock-Token: " CASE_TOKEN "\n\n%s",
             operation->method, path, body);
    is_taken = is_taken || takes(fixture->client, request, field);

end:
    release_names(fixture->client, example);
    free(body);
    return is_taken;
}

/* The example with null in place of one field. */
static json_t *with_null(const json_t *example, const char *field)
{
    json_t *changed = json_copy((json_t *)example);
    json_object_set_new(changed, field, json_null());
    return changed;
}

/* In one of the examples. */
static void check_null(struct fixture *fixture, const struct spec_operation *operation,
                       const json_t *carrier, const char *field)
{
    const json_t *root = fixture->spec.root, *schema = json_object_get(carrier, "schema");
    json_t *examples = spec_examples(carrier), *example;
    const char *name;
    char lock[64];
    bool is_taken = false, is_documented = false;
    struct failure failure;
    json_object_foreach (examples, name, example) {
        json_t *changed = with_null(example, field);
        snprintf(lock, sizeof lock, "%s-%s-%s", operation->id, field, name);
        is_taken |= takes_null(fixture, operation, lock, field, changed);
        is_documented |= schema_accepts(root, schema, changed, &failure);
        json_decref(changed);
    }
    json_decref(examples);
    if (is_taken != is_documented)
        fail_msg("%s: null for %s is %s, and not so in openapi.yaml", operation->id, field,
                 is_taken ? "taken" : "refused");
}

/* A request with everything in the query and in header fields, and null as its body. */
static void check_null_body(struct fixture *fixture, const struct spec_operation *operation,
                            const json_t *carrier)
{
    char query[512] = "", path[128], request[1024];
    struct failure failure;
    bool renews = !strcmp(operation->method, "PUT");
    fill_query(&fixture->spec, operation, false, query, sizeof query);
    fill_path(operation, operation->id, path);
    snprintf(request, sizeof request, "%s %s%s%s\n\nnull", operation->method, path, query,
             renews ? "\nLock-Token: " CASE_TOKEN : "");
    bool is_taken = ask(fixture->client, request, 0) != 400;
    if (is_taken != schema_accepts(fixture->spec.root, json_object_get(carrier, "schema"),
                                   json_null(), &failure))
        fail_msg("%s: a body of null is %s, and not so in openapi.yaml", operation->id,
                 is_taken ? "taken" : "refused");
}

TEST(null_is_taken_where_the_document_says_so)
{
    struct fixture *fixture = *state;
    size_t checked = 0;
    for (size_t i = 0; i < fixture->spec.operation_count; i++) {
        const struct spec_operation *operation = &fixture->spec.operations[i];
        const json_t *content =
            json_object_get(json_object_get(operation->node, "requestBody"), "content");
        const json_t *carrier = json_object_get(content, "application/json");
        const json_t *schema =
            schema_resolve(fixture->spec.root, json_object_get(carrier, "schema"));
        const char *field;
        json_t *inner;
        if (!carrier)
            continue;
        check_null_body(fixture, operation, carrier);
        json_object_foreach (json_object_get(schema, "properties"), field, inner) {
            check_null(fixture, operation, carrier, field);
            checked++;
        }
    }
    assert_true(checked > 0);
}

TEST(replies_are_what_the_document_promises)
{
    struct fixture *fixture = *state;
    json_t *promises = promises_of(&fixture->spec);
    freeReplyObject(redis_process_command(&fixture->redis, "SET baton:{damaged} x"));
    size_t failed = run_cases(fixture, fixture->client, USUALLY, promises);
    failed += run_draining_cases(fixture, promises);
    failed += run_stuck_cases(fixture, promises);
    failed += run_alone_cases(fixture, promises);
    failed += run_quorum_cases(fixture, promises);
    failed += run_quarantined_cases(fixture, promises);
    failed += run_guarded_cases(fixture, promises);
    failed += run_limited_cases(fixture, promises);
    redis_process_halt(&fixture->redis);
    failed += run_cases(fixture, fixture->client, WITHOUT_REDIS, promises);
    redis_process_resume(&fixture->redis);
    failed += promises_print_unseen(promises);
    json_decref(promises);
    assert_int_equal(failed, 0);
}

RUN_TESTS(start, stop)
