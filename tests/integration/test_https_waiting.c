/* Waiting over HTTPS: who hangs up has left, in whatever way; who stays is served, whatever is read
 * on SIGHUP; and batond ends without cutting anybody off. */
#include "tests/support/fixtures/secure.h"
#include "tests/support/principals_file.h"
#include "tests/support/raw.h"

#include <openssl/ssl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { CROWD = 25, CALLERS = 8 };

/* Nothing ends by time: whoever leaves the queue or a lock has been found to have gone. */
static const char *const SETTINGS[] = {"--max-connections-per-address=1000", "--max-wait=10m",
                                       "--max-ttl=1h", "--claim-window=60s", NULL};

static const int VERSIONS[] = {TLS1_2_VERSION, TLS1_3_VERSION};

struct queue {
    struct secure *secure;
    int64_t length;
};

static bool is_so_long(void *context)
{
    struct queue *queue = context;
    http_call(queue->secure->client, "GET", "/locks/a", NULL);
    return http_integer(queue->secure->client, "queue_length") == queue->length;
}

static bool comes_to_wait(struct secure *secure, int64_t length, int timeout_ms)
{
    struct queue queue = {secure, length};
    return clock_wait_until(is_so_long, &queue, timeout_ms);
}

static void wait_in_line(struct secure *secure, struct tls_client *client, int version)
{
    if (!secure_connect(secure, client, NULL, version))
        fail_msg("%s", client->trouble);
    secure_ask(client, "POST /locks/a?wait=10m&ttl=300ms");
}

static void hold(struct secure *secure, char token[TOKEN_TEXT])
{
    acquire_lock(secure->client, "a?wait=15s&ttl=10m", token);
}

/* They go while they wait, or as soon as they have asked, and they leave the queue: long before
 * their wait or a claim window ends. */
static void go_away(struct secure *secure, bool at_once, enum tls_end how, int version)
{
    struct tls_client crowd[CROWD];
    for (size_t i = 0; i < CROWD; i++) {
        wait_in_line(secure, &crowd[i], version);
        if (at_once)
            tls_client_end(&crowd[i], how);
    }
    if (!at_once && !comes_to_wait(secure, CROWD, CLOCK_HANG_MS))
        fail_msg("before end %d of version %x: %s", how, version, secure->client->reply.body);
    for (size_t i = 0; i < CROWD && !at_once; i++)
        tls_client_end(&crowd[i], how);
    if (!comes_to_wait(secure, 0, CLOCK_HANG_MS))
        fail_msg("end %d of version %x is not noticed: %s", how, version,
                 secure->client->reply.body);
    for (size_t i = 0; i < CROWD; i++)
        tls_client_close(&crowd[i]);
}

TEST(hang_up_leaves_the_queue)
{
    struct secure secure;
    char token[TOKEN_TEXT];
    secure_open(&secure, false, SETTINGS);
    hold(&secure, token);
    for (enum tls_end how = 0; how < TLS_ENDS; how++) {
        for (size_t v = 0; v < 2; v++) {
            go_away(&secure, false, how, VERSIONS[v]);
            go_away(&secure, true, how, VERSIONS[v]);
        }
    }
    release_lock(secure.client, token, "a");
    assert_int_equal(http_integer(secure.client, "holds"), 0);
    answers(secure.client, "GET /locks/a", NULL, 200, NULL);
    assert_string_equal(http_text(secure.client, "state"), "free");
    secure_close(&secure);
}

/* The grant goes past a waiter that said goodbye just before, to the next one. */
TEST(grant_passes_a_client_that_has_gone)
{
    struct secure secure;
    struct tls_client gone, next;
    char token[TOKEN_TEXT];
    secure_open(&secure, false, SETTINGS);
    for (enum tls_end how = 0; how < TLS_ENDS; how++) {
        for (size_t v = 0; v < 2; v++) {
            hold(&secure, token);
            wait_in_line(&secure, &gone, VERSIONS[v]);
            assert_true(comes_to_wait(&secure, 1, CLOCK_HANG_MS));
            wait_in_line(&secure, &next, VERSIONS[v]);
            assert_true(comes_to_wait(&secure, 2, CLOCK_HANG_MS));
            tls_client_end(&gone, how); /* which batond may find together with the grant */
            release_lock(secure.client, token, "a");
            if (secure_answer(&next, CLOCK_HANG_MS) != 201)
                fail_msg("end %d of version %x: the next is not granted the lock", how,
                         VERSIONS[v]);
            tls_client_close(&gone);
            tls_client_close(&next);
        }
    }
    secure_close(&secure);
}

TEST(hold_by_connection_ends_with_it)
{
    struct secure secure;
    struct tls_client holder;
    char text[2048];
    secure_open(&secure, false, SETTINGS);
    for (enum tls_end how = 0; how < TLS_ENDS; how++) {
        for (size_t v = 0; v < 2; v++) {
            assert_true(secure_connect(&secure, &holder, NULL, VERSIONS[v]));
            secure_ask(&holder, "POST /locks/a?hold=connection&ttl=10m&wait=15s");
            tls_client_receive(&holder, text, sizeof text, "\"event\":\"granted\"", CLOCK_HANG_MS);
            assert_non_null(strstr(text, "\"event\":\"granted\""));
            tls_client_end(&holder, how);
            answers(secure.client, "POST /locks/a?wait=15s&ttl=100ms", NULL, 201, NULL);
            tls_client_close(&holder);
        }
    }
    secure_close(&secure);
}

/* More of a request is no goodbye: it is read when the wait is over. */
TEST(pipelined_request_is_no_hang_up)
{
    struct secure secure;
    struct tls_client client;
    char token[TOKEN_TEXT], text[4096];
    secure_open(&secure, false, SETTINGS);
    for (size_t v = 0; v < 2; v++) {
        hold(&secure, token);
        wait_in_line(&secure, &client, VERSIONS[v]);
        assert_true(comes_to_wait(&secure, 1, CLOCK_HANG_MS));
        secure_ask(&client, "GET /livez");
        clock_sleep_ms(100);
        assert_true(comes_to_wait(&secure, 1, 0));
        release_lock(secure.client, token, "a");
        tls_client_receive(&client, text, sizeof text, "{\"status\":\"ok\"}", CLOCK_HANG_MS);
        assert_non_null(strstr(text, "201 Created"));
        assert_non_null(strstr(text, "{\"status\":\"ok\"}"));
        tls_client_close(&client);
    }
    secure_close(&secure);
}

static void show(struct secure *secure, char serial[80])
{
    struct tls_client client;
    if (!secure_connect(secure, &client, NULL, 0))
        fail_msg("%s", client.trouble);
    tls_client_server(&client, serial);
    tls_client_close(&client);
}

TEST(renewed_certificate_drops_no_connection)
{
    struct secure secure;
    struct tls_client waiter, idle;
    char before[80], after[80], seen[80], token[TOKEN_TEXT];
    secure_open(&secure, false, SETTINGS);
    hold(&secure, token);
    wait_in_line(&secure, &waiter, 0);
    assert_true(secure_connect(&secure, &idle, NULL, 0));
    assert_true(comes_to_wait(&secure, 1, CLOCK_HANG_MS));
    show(&secure, before);

    secure_renew(&secure);
    secure_reload(&secure, "\"read again\",\"setting\":\"tls-cert\"");
    show(&secure, after);
    assert_string_not_equal(before, after);
    tls_client_server(&waiter, seen);
    assert_string_equal(seen, before);
    release_lock(secure.client, token, "a");
    assert_int_equal(secure_answer(&waiter, CLOCK_HANG_MS), 201);
    secure_ask(&idle, "GET /livez");
    assert_int_equal(secure_answer(&idle, CLOCK_HANG_MS), 200);

    for (int i = 0; i < 5; i++) { /* one after the other, with connections of each age */
        secure_renew(&secure);
        secure_reload(&secure, "\"read again\",\"setting\":\"tls-cert\"");
        show(&secure, seen);
        assert_string_not_equal(seen, after);
    }
    tls_client_close(&waiter);
    tls_client_close(&idle);
    secure_close(&secure);
}

TEST(unreadable_certificate_changes_nothing)
{
    static const char NO[] = "cannot read the file again; its last good content stays in force";
    struct secure secure;
    char before[80], after[80];
    secure_open(&secure, false, SETTINGS);
    show(&secure, before);
    principals_file_put(secure.server.file, "nonsense", 0600);
    secure_reload(&secure, NO);
    show(&secure, after);
    assert_string_equal(before, after);
    secure_renew(&secure);
    unlink(secure.server.key);
    secure_reload(&secure, "cannot read");
    show(&secure, after);
    assert_string_equal(before, after);
    secure_close(&secure);
}

TEST(renewed_client_ca_counts_for_new_connections)
{
    struct secure secure;
    struct certificate one, two;
    struct tls_client before, client;
    char text[64];
    secure_open(&secure, true, NULL);
    certificate_make(&one, &secure.dir, "one",
                     &(struct certificate_options){.issuer = &secure.clients});
    assert_true(secure_connect(&secure, &before, &one, TLS1_2_VERSION));
    certificate_make(&secure.clients, &secure.dir, "clients",
                     &(struct certificate_options){.authority = true});
    certificate_make(&two, &secure.dir, "two",
                     &(struct certificate_options){.issuer = &secure.clients});
    secure_reload(&secure, "\"read again\"");
    assert_true(secure_connect(&secure, &client, &two, TLS1_3_VERSION));
    secure_ask(&client, "POST /locks/two");
    assert_int_equal(secure_answer(&client, CLOCK_HANG_MS), 201);
    tls_client_close(&client);
    if (secure_connect(&secure, &client, &one, TLS1_3_VERSION))
        tls_client_receive(&client, text, sizeof text, NULL, CLOCK_HANG_MS);
    assert_string_not_equal(client.trouble, "");
    tls_client_close(&client);
    secure_ask(&before, "POST /locks/one");
    assert_int_equal(secure_answer(&before, CLOCK_HANG_MS), 201);
    tls_client_close(&before);
    secure_close(&secure);
}

enum { LATEST_MS = 1000 }; /* half of what batond waits for a first request */

/* Connected, and yet to say a word. Returns false where the machine was too slow for it to count.
 */
static bool asks_late(struct secure *secure, struct tls_client *client, int fd, int64_t stopped)
{
    static const char ASK[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    bool has_asked =
        tls_client_start(client, fd, &(struct tls_options){.ca = &secure->authority}) &&
        tls_client_send(client, ASK, sizeof ASK - 1);
    if (clock_ms() > stopped + LATEST_MS)
        return false;
    if (!has_asked)
        fail_msg("%s", client->trouble);
    return true;
}

/* Who waits is told, and TLS is ended as it should be, so that nobody takes it for an attack. */
TEST(stop_ends_each_connection_in_good_order)
{
    struct secure secure;
    struct tls_client waiter, idle, late[CALLERS] = {0};
    int callers[CALLERS];
    char token[TOKEN_TEXT];
    secure_open(&secure, false, SETTINGS);
    hold(&secure, token);
    wait_in_line(&secure, &waiter, 0);
    assert_true(secure_connect(&secure, &idle, NULL, 0));
    secure_ask(&idle, "GET /livez");
    assert_int_equal(secure_answer(&idle, CLOCK_HANG_MS), 200);
    assert_true(comes_to_wait(&secure, 1, CLOCK_HANG_MS));
    for (size_t i = 0; i < CALLERS; i++)
        callers[i] = raw_connect(secure.batond.port);
    process_signal(&secure.batond.process, SIGTERM);
    int64_t stopped = clock_ms();
    size_t asked = 0;
    while (asked < CALLERS && asks_late(&secure, &late[asked], callers[asked], stopped))
        asked++;
    for (size_t i = 0; i < asked; i++) {
        assert_int_equal(secure_answer(&late[i], CLOCK_HANG_MS), 200);
        if (!tls_client_is_ended(&late[i], CLOCK_HANG_MS))
            fail_msg("%zu: %s", i, late[i].trouble);
    }
    for (size_t i = 0; i < CALLERS; i++)
        if (late[i].session)
            tls_client_close(&late[i]);
        else
            close(callers[i]);
    assert_int_equal(secure_answer(&waiter, CLOCK_HANG_MS), 503);
    assert_true(tls_client_is_ended(&waiter, CLOCK_HANG_MS));
    if (!tls_client_is_ended(&idle, CLOCK_HANG_MS))
        fail_msg("%s", idle.trouble);
    assert_true(process_wait(&secure.batond.process, CLOCK_HANG_MS));
    tls_client_close(&waiter);
    tls_client_close(&idle);
    secure_close(&secure);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    return tests_run(NULL, NULL);
}
