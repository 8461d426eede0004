/* How one says who one is, and what becomes of it when the tokens-file is read again. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"

#include "base/base64url.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RELOADS = 30, CLIENTS = 4 };

#define ALL  "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\",\"break\",\"metrics\"]}]"
#define TEAM "[{\"prefix\":\"team/\",\"verbs\":[\"acquire\",\"read\"]}]"

static const struct file_principal PRINCIPALS[] = {
    {"ci", ALL, NULL}, {"dev", ALL, NULL}, {"Jos\303\251 & co: a b", ALL, NULL}};

static int start(void **state)
{
    return guarded_start(state, PRINCIPALS, LENGTH(PRINCIPALS), 2);
}

/* The file as it was at first, and no locks. */
static int begin(void **state)
{
    struct guarded *guarded = *state;
    redis_process_forget(&guarded->service.redis);
    guarded_reload(guarded, PRINCIPALS, LENGTH(PRINCIPALS));
    return 0;
}

static long asks_with(struct http_client *client, const char *first, const char *second)
{
    const char *const headers[] = {first, second, NULL};
    return http_request(client, &(struct http_call){.path = "/locks/a", .headers = headers});
}

/* The ordinary base64 of a text, padded. */
static void encode(const char *text, char *encoded)
{
    size_t length = strlen(text);
    base64url_encode(text, length, encoded);
    for (char *c = encoded; *c; c++)
        *c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
    while (strlen(encoded) % 4 != 0)
        strcat(encoded, "=");
}

/* `#` stands for the token of ci. */
static void fill(const char *text, char filled[512])
{
    const char *mark = strchr(text, '#');
    char token[PRINCIPAL_TOKEN_TEXT];
    principal_token("ci", token);
    snprintf(filled, 512, "%.*s%s%s", mark ? (int)(mark - text) : (int)strlen(text), text,
             mark ? token : "", mark ? mark + 1 : "");
}

TEST_WITH(token_is_sent_as_bearer, begin, NULL)
{
    static const struct {
        const char *header;
        long status;
    } SENT[] = {
        {"Authorization: Bearer #", 200},
        {"authorization: bearer #", 200},
        {"Authorization: BEARER   #  ", 200},
        {"Authorization: Bearer #x", 401},
        {"Authorization: Bearer x#", 401},
        {"Authorization: Bearer", 401},
        {"Authorization: Bearer ", 401},
        {"Authorization: Bearer# ", 401},
        {"Authorization: #", 401},
        {"Authorization: Digest #", 401},
        {"Authorization: Bearer Bearer #", 401},
        {"Authorization: Bearer #,#", 401},
        {"Authorization: Basic #", 401},
        {"Authorization: Bearer short", 401},
        {"Authorization;", 401},
        {"Proxy-Authorization: Bearer #", 401},
        {"X-Authorization: Bearer #", 401},
        {"Cookie: Authorization=Bearer #", 401},
    };
    char header[512];
    for (size_t i = 0; i < LENGTH(SENT); i++) {
        fill(SENT[i].header, header);
        if (asks_with(service_client(state), header, NULL) != SENT[i].status)
            fail_msg("%s: %s", header, service_client(state)->reply.headers);
    }
}

TEST_WITH(token_is_sent_as_password_of_basic, begin, NULL)
{
    static const struct {
        const char *user_and_password;
        long status;
    } SENT[] = {
        {"ci:#", 200}, {":#", 200},    {"dev:#", 401}, {"Ci:#", 401},    {"ci:", 401},
        {"#:", 401},   {"#:#", 401},   {"ci#", 401},   {"#", 401},       {"", 401},
        {"c:#", 401},  {"ci:#x", 401}, {"ci :#", 401}, {"ci:ci:#", 401},
    };
    char text[512], encoded[1024], header[1100];
    for (size_t i = 0; i < LENGTH(SENT); i++) {
        fill(SENT[i].user_and_password, text);
        encode(text, encoded);
        snprintf(header, sizeof header, "Authorization: Basic %s", encoded);
        if (asks_with(service_client(state), header, NULL) != SENT[i].status)
            fail_msg("%s: %s", text, service_client(state)->reply.headers);
    }
    assert_int_equal(asks_with(service_client(state), "Authorization: Basic ?", NULL), 401);
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    encode(text, encoded);
    snprintf(header, sizeof header, "Authorization: Basic %s", encoded);
    assert_int_equal(asks_with(service_client(state), header, NULL), 401);
}

TEST_WITH(basic_user_may_have_any_name_of_a_principal, begin, NULL)
{
    char token[PRINCIPAL_TOKEN_TEXT], text[256], encoded[512], header[600];
    const char *name = PRINCIPALS[2].name;
    principal_token(name, token);
    snprintf(text, sizeof text, "%s:%s", name, token);
    encode(text, encoded);
    snprintf(header, sizeof header, "Authorization: Basic %s", encoded);
    assert_int_equal(asks_with(service_client(state), header, NULL), 200);
}

TEST_WITH(two_authorizations_are_refused, begin, NULL)
{
    char good[PRINCIPAL_HEADER_TEXT], other[PRINCIPAL_HEADER_TEXT];
    principal_header("ci", good);
    principal_header("dev", other);
    long status = asks_with(service_client(state), good, other);
    if (status != 401 && status != 400)
        fail_msg("%ld", status);
    status = asks_with(service_client(state), good, good);
    if (status != 401 && status != 400)
        fail_msg("%ld", status);
}

/* What is said of a token that nobody has differs from what is said to whoever sent none. */
TEST_OF_CLIENT_WITH(the_challenge_says_what_was_wrong, begin, NULL)
{
    asks_for(client, AS(NULL), "GET /locks/a", 401);
    assert_null(strstr(client->reply.headers, "invalid_token"));
    asks_for(client, AS("stranger"), "GET /locks/a", 401);
    assert_non_null(
        strstr(client->reply.headers, "Bearer realm=\"baton\", error=\"invalid_token\""));
}

TEST_WITH(tokens_file_read_again_is_in_force, begin, NULL)
{
    static const struct file_principal CHANGED[] = {{"ci", TEAM, NULL}, {"new", ALL, NULL}};
    struct http_client *client = service_client(state);
    asks_for(client, AS("new"), "GET /locks/a", 401);
    guarded_reload(*state, CHANGED, LENGTH(CHANGED));
    for (int i = 0; i < 20; i++) { /* on either worker */
        struct http_client *other = http_client_new(client->base);
        int64_t deadline = clock_ms() + CLOCK_HANG_MS; /* each worker hears of it by itself */
        while (asks(other, AS("dev"), "GET /locks/a") != 401)
            assert_true(clock_ms() < deadline);
        asks_for(other, AS("ci"), "GET /locks/a", 403);
        asks_for(other, AS("ci"), "GET /locks/team%2Fa", 200);
        asks_for(other, AS("new"), "GET /locks/a", 200);
        http_client_free(other);
    }
}

TEST_WITH(waiter_of_removed_principal_waits_on, begin, NULL)
{
    static const struct file_principal CHANGED[] = {{"dev", ALL, NULL}};
    struct http_client *client = service_client(state);
    asks_for(client, AS("dev"), "POST /locks/a?ttl=10m", 201);
    struct parked *waits = guarded_park(state, "ci", "POST /locks/a?wait=50s&owner=me");
    struct parked *holds = guarded_park(state, "ci", "POST /locks/b?hold=connection&ttl=300ms");
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    do {
        assert_true(clock_ms() < deadline);
        asks_for(client, AS("dev"), "GET /locks/a", 200);
    } while (http_integer(client, "queue_length") != 1);
    assert_true(parked_receives(holds, "\"granted\"", CLOCK_HANG_MS));
    guarded_reload(*state, CHANGED, LENGTH(CHANGED));
    while (asks(client, AS("ci"), "GET /locks/a") != 401)
        assert_true(clock_ms() < deadline);
    assert_true(
        parked_receives(holds, "\"lost\"", CLOCK_HANG_MS)); /* no renewal of its would be served */
    assert_true(parked_waits(waits, 0));
    asks_for(client, AS("dev"), "DELETE /locks/a?force=true", 200);
    assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
    asks_for(client, AS("dev"), "GET /locks/a", 200);
    assert_string_equal(member_text(client, "holders.0.principal"), "ci");
    parked_close(waits);
    parked_close(holds);
}

/* Its key stays the same. */
TEST_WITH(stream_ends_when_rights_change, begin, NULL)
{
    static const struct file_principal CHANGED[] = {{"ci", TEAM, NULL}, {"dev", ALL, NULL}};
    struct parked *changed = guarded_park(state, "ci", "POST /locks/b?hold=connection&ttl=6s");
    struct parked *same = guarded_park(state, "dev", "POST /locks/c?hold=connection&ttl=6s");
    assert_true(parked_receives(changed, "\"granted\"", CLOCK_HANG_MS));
    assert_true(parked_receives(same, "\"granted\"", CLOCK_HANG_MS));
    guarded_reload(*state, CHANGED, LENGTH(CHANGED));
    assert_true(parked_receives(changed, "may not hold this lock", CLOCK_HANG_MS));
    for (int i = 0; i < 3; i++)
        assert_true(parked_receives(same, "\"heartbeat\"", CLOCK_HANG_MS));
    parked_close(changed);
    parked_close(same);
}

TEST_WITH(broken_tokens_file_changes_nothing, begin, NULL)
{
    static const char *const BROKEN[] = {"", "{\"principals\":[", "{\"principals\":[{}]}"};
    for (size_t i = 0; i < LENGTH(BROKEN); i++) {
        guarded_reload_text(*state, BROKEN[i],
                            "cannot read the file again; its last good content stays in force");
        asks_for(service_client(state), AS("ci"), "GET /locks/a", 200);
        asks_for(service_client(state), AS(NULL), "GET /locks/a", 401);
    }
    struct guarded *guarded = *state;
    char *output = process_output(&guarded->service.batond.process);
    assert_non_null(strstr(output, "principals[0].name: expected"));
    free(output);
}

struct load {
    const char *url;
    atomic_bool over;
    atomic_int asked, wrong;
};

static void *take_and_release(void *context)
{
    struct load *load = context;
    struct http_client *client = http_client_new(load->url);
    char request[64], token[TOKEN_TEXT];
    int number = atomic_fetch_add(&load->asked, 1);
    snprintf(request, sizeof request, "POST /locks/load%d", number);
    while (!atomic_load(&load->over)) {
        if (asks(client, AS("ci"), request) != 201) {
            atomic_fetch_add(&load->wrong, 1);
            break;
        }
        keep_token(client, token);
        snprintf(request, sizeof request, "DELETE /locks/load%d", number);
        atomic_fetch_add(&load->wrong, asks(client, AS_WITH("ci", token), request) != 200);
        snprintf(request, sizeof request, "POST /locks/load%d", number);
        atomic_fetch_add(&load->asked, 2);
        clock_sleep_ms(1); /* the reloads need the processor, too */
    }
    http_client_free(client);
    return NULL;
}

/* Its rules change all the time, and it keeps what it needs. */
TEST_WITH(reload_under_load_drops_no_request, begin, NULL)
{
    static const struct file_principal SETS[2][2] = {
        {{"ci", ALL, NULL}, {"dev", TEAM, NULL}},
        {{"dev", ALL, NULL}, {"ci", "[{\"prefix\":\"load\",\"verbs\":[\"acquire\"]}]", NULL}}};
    struct load load = {.url = service_client(state)->base};
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&threads[i], NULL, take_and_release, &load);
    for (int i = 0; i < RELOADS || (load.asked <= RELOADS && !load.wrong); i++)
        guarded_reload(*state, SETS[i % 2], 2);
    atomic_store(&load.over, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(load.wrong, 0);
}

RUN_TESTS(start, guarded_stop)
