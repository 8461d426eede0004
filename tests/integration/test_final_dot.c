/* A name of a host with a dot at its end is the same name: who calls batond by it is served. */
#include "tests/support/fixtures/service.h"

#include <stdio.h>

struct called {
    const char *host;
    long status;
};

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

static void are_answered(struct service *service, const struct called *all, size_t count)
{
    char header[100];
    for (size_t i = 0; i < count; i++) {
        snprintf(header, sizeof header, "Host: %s", all[i].host);
        answers_with(service->client, header, "GET /locks/a", NULL, all[i].status,
                     all[i].status == 403 ? "untrusted_origin" : NULL);
        answers_with(service->client, header, "POST /locks/a?owner=me", NULL,
                     all[i].status == 403 ? 403 : 201,
                     all[i].status == 403 ? "untrusted_origin" : NULL);
    }
}

static void final_dot_changes_no_name(void **state)
{
    static const struct called ALL[] = {
        {"localhost.", 200},
        {"LOCALHOST.:7420", 200},
        {"baton.localhost.", 200},
        {"baton.locks.svc.:7420", 200},
        {"baton.locks.svc.cluster.local.:7420", 200},
        {"host.docker.internal.", 200},
        {"127.0.0.1.", 200},
        {"localhost..", 403},
        {"baton.locks.svc..", 403},
        {"example.com.", 403},
        {"baton.locks.", 403},
        {"baton.", 403}, /* may be a domain of the public DNS */
        {"svc.", 403},
        {".", 403},
    };
    struct service *service = *state;
    are_answered(service, ALL, LENGTH(ALL));
}

static void final_dot_changes_no_allowed_name(void **state)
{
    static const char *const arguments[] = {
        "--allowed-hosts=locks.example.com,.corp.example,rooted.example.,.zone.example.,single,"
        "rooted.",
        NULL};
    static const struct called ALL[] = {
        {"locks.example.com.", 200},
        {"locks.example.com.:80", 200},
        {"a.corp.example.", 200},
        {"rooted.example", 200},
        {"rooted.example.", 200},
        {"a.zone.example", 200},
        {"a.zone.example.", 200},
        {"single.", 403},
        {"rooted.", 200},
        {"locks.example.com..", 403},
        {"corp.example.", 403},
        {"zone.example.", 403},
        {"other.", 403},
    };
    struct service service;
    (void)state;
    service_open(&service, NULL, arguments);
    are_answered(&service, ALL, LENGTH(ALL));
    service_close(&service);
}

/* Browsers send both as the page was called; a proxy may have changed one of them. */
static void origin_with_final_dot_is_of_this_host(void **state)
{
    struct service *service = *state;
    static const struct {
        const char *host;
        const char *origin;
        long status;
    } ALL[] = {{"localhost.:7420", "http://localhost.:7420", 201},
               {"localhost.:7420", "http://localhost:7420", 201},
               {"localhost.:7420", "http://localhost.:7421", 403},
               {"localhost.:7420", "http://localhost..:7420", 403},
               {"baton.locks.svc:7420", "http://baton.locks.svc.:7420", 201},
               {"baton:7420", "http://baton:7420", 201},
               {"baton:7420", "http://baton.:7420", 403}}; /* may be a public domain */
    char host[60], origin[60];
    for (size_t i = 0; i < LENGTH(ALL); i++) {
        snprintf(host, sizeof host, "Host: %s", ALL[i].host);
        snprintf(origin, sizeof origin, "Origin: %s", ALL[i].origin);
        const char *headers[] = {host, origin, NULL};
        assert_int_equal(
            http_request(service->client, &(struct http_call){.method = "POST",
                                                              .path = "/locks/a?owner=me",
                                                              .headers = headers}),
            ALL[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(final_dot_changes_no_name),
        cmocka_unit_test(origin_with_final_dot_is_of_this_host),
        cmocka_unit_test(final_dot_changes_no_allowed_name),
    };
    return cmocka_run_group_tests_name("final_dot", tests, service_start, service_stop);
}
