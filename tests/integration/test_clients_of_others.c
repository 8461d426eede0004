/* What HTTP clients and clients of other lock services do, and what public reports say that went
 * wrong then elsewhere. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/front.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Java's client and curl --http2 offer it with their first request. */
TEST_ON_SERVICE(offer_of_http2_is_passed_over)
{
    static const char *const OFFER = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                                     "HTTP2-Settings: AAMAAABkAAQAAP__";
    struct http_client *client = service->client;
    struct parked *first = parked_send(service->batond.port, OFFER, "POST /locks/h2c", NULL);
    assert_true(parked_receives(first, "HTTP/1.1 201", CLOCK_HANG_MS));
    assert_true(parked_receives(first, "\"token\"", CLOCK_HANG_MS));
    parked_close(first);
    answers_with(client, "Upgrade: h2c", "POST /locks/h2c-2", "{\"ttl_ms\":5000}", 201, NULL);
}

static bool is_free(void *context)
{
    struct http_client *client = context;
    return http_call(client, "GET", "/locks/cut", NULL) == 200 &&
           strcmp(http_text(client, "state"), "free") == 0;
}

/* Half of a release is none; the whole one is one, though its client has not waited for the reply.
 */
TEST_ON_SERVICE(release_that_is_cut_off_can_be_repeated)
{
    struct http_client *client = service->client;
    char token[TOKEN_TEXT], request[400];
    acquire_lock(client, "cut?ttl=10m", token);
    snprintf(request, sizeof request,
             "DELETE /locks/cut HTTP/1.1\r\nHost: h\r\nLock-Token: %s\r\nContent-Type: "
             "application/json\r\nContent-Length: 30\r\n\r\n{",
             token);
    int fd = raw_connect(service->batond.port);
    assert_true(raw_send(fd, request, strlen(request)));
    close(fd);
    answers_token(client, token, "PUT /locks/cut", NULL, 200, NULL); /* still held */
    snprintf(request, sizeof request,
             "DELETE /locks/cut HTTP/1.1\r\nHost: h\r\nLock-Token: %s\r\n\r\n", token);
    fd = raw_connect(service->batond.port);
    assert_true(raw_send(fd, request, strlen(request)));
    shutdown(fd, SHUT_WR);
    assert_true(clock_wait_until(is_free, client, CLOCK_HANG_MS));
    close(fd);
    release_lock(client, token, "cut");
    assert_true(json_is_true(member(client, "released")));
}

/* Clients that wait for the head of a reply before they go on would hang until something happens.
 */
TEST_ON_SERVICE(stream_has_its_head_before_its_first_event)
{
    static const char ACCEPT[] = "Accept: text/event-stream";
    static const char *const REQUESTS[] = {
        "GET /locks/nothing/events?after=9007199254740991",
        "GET /events?prefix=nothing&after=9007199254740991",
    };
    for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++) {
        struct parked *stream = parked_send(service->batond.port, ACCEPT, REQUESTS[i], NULL);
        assert_true(parked_receives(stream, "HTTP/1.1 200 OK\r\n", CLOCK_HANG_MS));
        assert_true(parked_receives(stream, "\r\n\r\n", CLOCK_HANG_MS));
        assert_non_null(strstr(stream->text, "Content-Type: text/event-stream\r\n"));
        assert_null(strstr(stream->text, "\nevent: lock"));
        parked_close(stream);
    }
}

/* A client sends its next request just when batond ends the idle connection. It gets a whole reply,
 * or nothing at all, so that it may repeat the request. */
TEST(request_at_the_end_of_an_idle_connection_is_whole_or_nothing)
{
    enum { IDLE_MS = 100, ROUNDS = 30 };
    static const char REQUEST[] = "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n";
    struct service service;
    char text[1024];
    service_open(&service, NULL, LIST("--idle-timeout=100ms"));
    for (int i = 0; i < ROUNDS; i++) {
        bool closed = false;
        int fd = raw_connect(service.batond.port);
        assert_true(raw_send(fd, REQUEST, sizeof REQUEST - 1));
        assert_true(raw_receive(fd, text, sizeof text, "{\"status\"", CLOCK_HANG_MS, &closed) > 0);
        clock_sleep_ms(IDLE_MS - ROUNDS / 2 + i); /* from shortly before to shortly after */
        size_t length = raw_send(fd, REQUEST, sizeof REQUEST - 1)
                            ? raw_receive(fd, text, sizeof text, "}\n", CLOCK_HANG_MS, &closed)
                            : 0;
        text[length] = '\0';
        const char *reply = strstr(text, "HTTP/1.1 ");
        if (reply && (strncmp(reply, "HTTP/1.1 200", 12) != 0 || !strstr(reply, "\"}\n")))
            fail_msg("%s", text);
        close(fd);
    }
    service_close(&service);
}

/* nginx, with batond at /below/. */
TEST_ON_SERVICE(sub_path_of_a_proxy_serves_all)
{
    struct front front;
    char url[40];
    front_start(&front, FRONT_NGINX_PLAIN,
                (const int[FRONT_REPLICAS]){service->batond.port, service->batond.port});
    snprintf(url, sizeof url, "http://127.0.0.1:%d", front.port);
    struct http_client *client = http_client_new(url);
    answers(client, "POST /below/locks/deep?ttl=1m", NULL, 201, NULL);
    answers(client, "GET /below/locks/deep", NULL, 200, NULL);
    answers(client, "GET /below/ui", NULL, 200, NULL);
    assert_null(strstr(client->reply.body, "=\"/"));     /* the page is whole in itself, */
    assert_null(strstr(client->reply.body, "\"/locks")); /* and asks beside its own place */
    http_client_free(client);
    front_stop(&front);
}

RUN_TESTS(service_start, service_stop)
