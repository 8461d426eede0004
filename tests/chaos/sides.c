#include "tests/chaos/sides.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/http.h"

#include <string.h>

enum { PATIENCE_MS = 40000, LOOK_MS = 20 };

void sides_start(struct sides *sides, const struct hosts *hosts, int first_host, const char *url,
                 const char *const *flags)
{
    *sides = (struct sides){.hosts = hosts, .first_host = first_host};
    for (int i = 0; i < SIDES; i++) {
        hosts_enter(hosts, sides_host(sides, i));
        batond_process_start(&sides->batond[i], &(struct batond_options){
                                                    .redis_url = url,
                                                    .arguments = flags,
                                                    .environment = LIST("BATON_QUARANTINE=auto")});
        hosts_leave(hosts);
    }
}

void sides_stop(struct sides *sides)
{
    for (int i = 0; i < SIDES; i++)
        assert_int_equal(batond_process_stop(&sides->batond[i]), 0);
}

struct look {
    struct http_client *http;
    const char *text;
};

static bool is_ready(void *context)
{
    struct look *look = context;
    clock_sleep_ms(LOOK_MS);
    const struct http_reply *reply = &look->http->reply;
    return http_call(look->http, "GET", "/readyz?verbose", NULL) == 200 &&
           !strstr(reply->body, "new locks are paused") &&
           (!look->text || strstr(reply->body, look->text));
}

static bool grants(void *context)
{
    struct look *look = context;
    clock_sleep_ms(LOOK_MS);
    return http_call(look->http, "POST", "/locks/probe?ttl=100ms&wait=1s", NULL) == 201;
}

static bool is_free(void *context)
{
    struct look *look = context;
    clock_sleep_ms(LOOK_MS);
    return http_call(look->http, "GET", look->text, NULL) == 200 &&
           http_integer(look->http, "hold_count") == 0 &&
           http_integer(look->http, "queue_length") == 0;
}

static void await_both(struct sides *sides, bool (*condition)(void *look), const char *text)
{
    for (int i = 0; i < SIDES; i++) {
        hosts_enter(sides->hosts, sides_host(sides, i));
        struct look look = {.http = http_client_new(sides->batond[i].url), .text = text};
        bool done = clock_wait_until(condition, &look, PATIENCE_MS);
        if (!done)
            print_error("%s\n", look.http->reply.body);
        http_client_free(look.http);
        hosts_leave(sides->hosts);
        assert_true(done);
    }
}

void sides_await_ready(struct sides *sides, const char *text)
{
    await_both(sides, is_ready, text);
}

void sides_await_grants(struct sides *sides)
{
    await_both(sides, grants, NULL);
}

void sides_await_free(struct sides *sides, const char *path)
{
    await_both(sides, is_free, path);
}
