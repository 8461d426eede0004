/* A Redis, or a proxy before it, that ends connections on which nothing happens; and passwords with
 * every character that means something in a URL. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/free_port.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { IDLE_MS = 1500 }; /* longer than any of the timeouts here */

static const char TOKEN[] = "Lock-Token: a-token-of-the-test-of-idle";

/* Does as a client should: a request that came just as the connection ended is 503, and is repeated
 * with its token. */
static bool comes_to_be_done(struct http_client *client, const char *method, const char *path)
{
    const char *const headers[] = {TOKEN, NULL};
    const struct http_call call = {.method = method, .path = path, .headers = headers};
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    long status = http_request(client, &call);
    while (status == 503 && clock_ms() < deadline) {
        clock_sleep_ms(20);
        status = http_request(client, &call);
    }
    return status == 200 || status == 201;
}

/* The holder releases after a pause in which nothing else asks Redis for anything. */
static void is_handed_over_after_pause(int port, struct http_client *client, const char *name)
{
    char path[80], request[80];
    snprintf(path, sizeof path, "/locks/%s?ttl=10m", name);
    assert_true(comes_to_be_done(client, "POST", path));
    snprintf(request, sizeof request, "POST /locks/%s?wait=50s", name);
    struct parked *waiter = parked_send(port, NULL, request, NULL);
    clock_sleep_ms(IDLE_MS);
    snprintf(path, sizeof path, "/locks/%s", name);
    assert_true(comes_to_be_done(client, "DELETE", path));
    if (parked_answer(waiter, CLOCK_HANG_MS) != 201)
        fail_msg("%s", waiter->text);
    parked_close(waiter);
}

TEST(idle_timeout_of_redis_costs_no_request)
{
    static const char *const arguments[] = {"--timeout", "1", NULL};
    struct service service;
    service_open(&service, &(struct redis_options){.arguments = arguments}, NULL);
    clock_sleep_ms(IDLE_MS);
    is_handed_over_after_pause(service.batond.port, service.client, "handed");
    service_close(&service);
}

static bool is_listening(void *port)
{
    int fd = raw_connect(*(int *)port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void proxy_start(struct process *proxy, struct temp_dir *dir, int port, const char *redis)
{
    char path[120], log[120];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/haproxy.cfg", dir->path);
    snprintf(log, sizeof log, "%s/log", dir->path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file,
            "defaults\n    mode tcp\n    timeout connect 1s\n    timeout client 1s\n"
            "    timeout server 1s\n"
            "listen redis\n    bind 127.0.0.1:%d\n    server redis unix@%s\n",
            port, redis);
    fclose(file);
    process_start(proxy, LIST("haproxy", "-db", "-f", path),
                  LIST("PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"), log);
    assert_true(clock_wait_until(is_listening, &port, CLOCK_HANG_MS));
}

TEST(idle_timeout_of_a_proxy_costs_no_request)
{
    struct redis_process redis;
    struct batond_process batond;
    struct process proxy;
    struct temp_dir dir;
    char url[60];
    int port = free_port();
    redis_process_start(&redis, NULL);
    proxy_start(&proxy, &dir, port, strchr(redis.url, '/') + 2);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    struct http_client *client = batond_open(&batond, url, NULL);
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    clock_sleep_ms(IDLE_MS);
    is_handed_over_after_pause(batond.port, client, "handed");
    batond_close(&batond, client);
    process_kill(&proxy);
    temp_dir_remove(&dir);
    redis_process_stop(&redis);
}
