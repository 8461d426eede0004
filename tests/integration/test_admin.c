/* The listener for health and figures: whoever takes all places at the other one takes none there.
 */
#include "tests/support/fixtures/secure.h"

#include "server/process/sandbox.h"
#include "tests/support/fixtures/guarded.h"
#include "tests/support/raw.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STRANGERS = 3000, TEXT = 512 };

static const char *sandbox_flag(void)
{
    return sandbox_check(NULL) == 0 ? "--sandbox=true" : "--sandbox=false";
}

/* Where it says that it listens. To be freed. */
static struct http_client *admin_of(const struct batond_process *batond)
{
    static const char KEY[] = "\"url\":\"";
    char line[TEXT];
    assert_true(process_wait_line(&batond->process, "listening for probes", NULL, line, sizeof line,
                                  CLOCK_HANG_MS));
    char *url = strstr(line, KEY) + strlen(KEY);
    url[strcspn(url, "\"")] = '\0';
    return http_client_new(url);
}

static void come_to_take_all_places(struct http_client *admin)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    do
        answers(admin, "GET /metrics", NULL, 200, NULL);
    while (strstr(admin->reply.body, "\nbaton_http_out_of_place_total 0\n") && clock_ms() < until);
    assert_null(strstr(admin->reply.body, "\nbaton_http_out_of_place_total 0\n"));
}

TEST(strangers_with_half_a_head_take_no_place_of_a_probe)
{
    static int fds[STRANGERS];
    static const char HALF[] = "GET /livez HTTP/1.1\r\nHo";
    struct service service;
    service_open(&service, NULL,
                 LIST("--admin-listen=127.0.0.1:0", "--max-connections=2900", "--workers=2",
                      "--head-timeout=10m", sandbox_flag()));
    struct http_client *admin = admin_of(&service.batond);
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = raw_connect(service.batond.port);
        assert_true(fds[i] >= 0);
        assert_true(raw_send(fds[i], HALF, strlen(HALF)));
    }
    come_to_take_all_places(admin);
    for (int i = 0; i < 10; i++) { /* each by a new connection, as a kubelet does */
        http_client_free(admin);
        admin = admin_of(&service.batond);
        answers(admin, "GET /livez", NULL, 200, NULL);
        assert_true(comes_to_answer(admin, "/readyz", 200, CLOCK_HANG_MS));
        answers(admin, "GET /metrics", NULL, 200, NULL);
    }
    for (int i = 0; i < STRANGERS; i++)
        close(fds[i]);
    http_client_free(admin);
    service_close(&service);
}

TEST(admin_port_serves_nothing_else)
{
    static const char *const OTHERS[] = {
        "GET /locks", "GET /locks/a",        "POST /locks/a", "DELETE /locks/a",   "GET /events",
        "GET /stats", "GET /locks/a/events", "GET /ui",       "GET /openapi.yaml", "GET /none"};
    struct service service;
    service_open(&service, NULL, LIST("--admin-listen=127.0.0.1:0"));
    struct http_client *admin = admin_of(&service.batond);
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        answers(admin, OTHERS[i], NULL, 404, "not_found");
    answers(admin, "POST /livez", NULL, 405, "method_not_allowed");
    answers(service.client, "GET /livez", NULL, 200, NULL); /* where it was before, too */
    answers(service.client, "GET /metrics", NULL, 200, NULL);
    http_client_free(admin);
    service_close(&service);
}

TEST(figures_need_the_same_key_there)
{
    static const struct file_principal ONE = {"one", "[{\"prefix\":\"\",\"verbs\":[\"metrics\"]}]",
                                              NULL};
    struct guarded guarded;
    guarded_open_with(&guarded, &ONE, 1, LIST("--admin-listen=127.0.0.1:0"));
    struct http_client *admin = admin_of(&guarded.service.batond);
    answers(admin, "GET /livez", NULL, 200, NULL);
    assert_true(comes_to_answer(admin, "/readyz", 200, CLOCK_HANG_MS));
    answers(admin, "GET /metrics", NULL, 401, "unauthorized");
    asks_for(admin, AS("one"), "GET /metrics", 200);
    http_client_free(admin);
    guarded_close(&guarded);
}

TEST(a_drain_is_reported_there)
{
    struct service service;
    service_open(&service, NULL, LIST("--admin-listen=127.0.0.1:0", "--drain=60s"));
    struct http_client *admin = admin_of(&service.batond);
    assert_true(comes_to_answer(admin, "/readyz", 200, CLOCK_HANG_MS));
    process_signal(&service.batond.process, SIGTERM);
    assert_true(comes_to_answer(admin, "/readyz", 503, CLOCK_HANG_MS));
    assert_string_equal(http_text(admin, "code"), "draining");
    answers(admin, "GET /livez", NULL, 200, NULL);
    http_client_free(admin);
    process_signal(&service.batond.process, SIGTERM); /* another insists */
    service_close(&service);
}

/* With the same certificate, which is read again for both. */
TEST(admin_port_speaks_https_where_the_other_does)
{
    struct secure secure;
    secure_open(&secure, true, LIST("--admin-listen=127.0.0.1:0"));
    struct http_client *admin = admin_of(&secure.batond);
    assert_non_null(strstr(admin->base, "https://127.0.0.1:"));
    admin->tls = &secure.tls;
    answers(admin, "GET /livez", NULL, 200, NULL);
    answers(admin, "GET /metrics", NULL, 401, "unauthorized"); /* it has shown no certificate */
    secure_renew(&secure);
    secure_reload(&secure, "read again");
    http_client_free(admin);
    admin = admin_of(&secure.batond);
    admin->tls = &secure.tls;
    assert_true(comes_to_answer(admin, "/readyz", 200, CLOCK_HANG_MS));
    http_client_free(admin);
    secure_close(&secure);
}

/* What `batond --check` ends with, of one that has nobody at `listen`. */
static int check(const char *flag)
{
    const char *const arguments[] = {"--check", "--listen=127.0.0.1:1", flag, NULL};
    struct batond_process process;
    batond_process_launch(&process, &(struct batond_options){.arguments = arguments});
    assert_true(process_wait(&process.process, CLOCK_HANG_MS));
    int code = process_exit_code(&process.process);
    batond_process_stop(&process);
    return code;
}

TEST(a_check_asks_there)
{
    struct service service;
    char flag[TEXT];
    service_open(&service, NULL, LIST("--admin-listen=127.0.0.1:0", "--workers=1"));
    struct http_client *admin = admin_of(&service.batond);
    assert_true(comes_to_answer(admin, "/readyz", 200, CLOCK_HANG_MS));
    snprintf(flag, sizeof flag, "--admin-listen=%s", admin->base + strlen("http://"));
    assert_int_equal(check(flag), 0);
    assert_int_equal(check("--admin-listen="), 1);
    assert_int_equal(check("--admin-listen=127.0.0.1:0"), 2);
    assert_int_equal(check("--admin-listen=nowhere"), 2);
    http_client_free(admin);
    service_close(&service);
}
