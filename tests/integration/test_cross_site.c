/* What a page of another site can make a browser do here: look at nothing and change nothing. */
#include "tests/support/fixtures/guarded.h"

#include <stdio.h>
#include <string.h>

#define ALL "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\",\"break\",\"metrics\"]}]"
#define OWN "Origin: http://127.0.0.1:" /* and the port */

/* What a browser adds to a request; somebody who is no browser may add anything. */
struct story {
    const char *header;
    const char *other; /* one more; NULL: none */
    bool is_refused;
};

static const struct story PAGES[] = {
    {"Origin: https://example.com", NULL, true},
    {"Origin: https://example.com", "Sec-Fetch-Site: cross-site", true},
    {"Origin: null", NULL, true},
    {"Origin: null", "Sec-Fetch-Site: cross-site", true},
    {"Origin: http://127.0.0.1:1", NULL, true}, /* another program on this machine */
    {OWN, "Sec-Fetch-Site: same-site", true},
    {"Sec-Fetch-Site: cross-site", NULL, true},
    {"Sec-Fetch-Site: same-origins", NULL, true},
    {"Origin: 127.0.0.1", NULL, true},
    {OWN, NULL, false},
    {OWN, "Sec-Fetch-Site: same-origin", false},
    {"Origin: https://a.proxy.example", "Sec-Fetch-Site: same-origin", false},
    {"Sec-Fetch-Site: none", NULL, false},
    {"Host: localhost.:7420", "Origin: http://localhost:7420", false},
    {"Host: localhost.:7420", "Origin: http://localhost.:7421", true},
    {"Host: localhost.:7420", "Origin: http://localhost..:7420", true},
    {"Host: baton.locks.svc:7420", "Origin: http://baton.locks.svc.:7420", false},
    {"Host: baton:7420", "Origin: http://baton:7420", false},
    {"Host: baton:7420", "Origin: http://baton.:7420", true}, /* may be a public domain */
    {"Referer: https://example.com/", NULL, false}, /* may be left out, so it proves nothing */
};

static const struct story HOSTS[] = {
    {"Host: example.com", NULL, true},
    {"Host: example.com:7420", NULL, true},
    {"Host: 127.0.0.1.example.com", NULL, true},
    {"Host: localhost.example.com", NULL, true},
    {"Host: localhost.", NULL, false}, /* a final dot changes no name */
    {"Host: LOCALHOST.:7420", NULL, false},
    {"Host: baton.locks.svc.:7420", NULL, false},
    {"Host: 127.0.0.1.", NULL, false},
    {"Host: localhost..", NULL, true},
    {"Host: example.com.", NULL, true},
    {"Host: baton.", NULL, true}, /* may be a domain of the public DNS */
    {"Host: svc.", NULL, true},
    {"Host: .", NULL, true},
    {"Host: example.notinternal", NULL, true},
    {"Host: example.xn--4", NULL, true},
    {"Host: localhost", NULL, false},
    {"Host: LOCALHOST:7420", NULL, false},
    {"Host: baton.localhost:7420", NULL, false},
    {"Host: host.docker.internal:7420", NULL, false},
    {"Host: 10.0.0.7", NULL, false},
    {"Host: [::1]:7420", NULL, false},
    {"Host: baton", NULL, false},
    {"Host: baton.locks.svc", NULL, false},
    {"Host: baton.locks.svc.cluster.local:7420", NULL, false},
    {"Host: baton.locks", NULL, true},
    {"Host: svc.example.com", NULL, true},
    {"Host: cluster.local.example.com", NULL, true},
    {"Host: locks.example.com", NULL, true},
};

/* The same with --allowed-hosts=locks.example.com,.corp.example. */
static const struct story ALLOWED[] = {
    {"Host: locks.example.com", NULL, false},
    {"Host: LOCKS.example.COM:7420", NULL, false},
    {"Host: locks.example.com.:80", NULL, false},
    {"Host: a.corp.example.", NULL, false},
    {"Host: locks.example.com..", NULL, true},
    {"Host: rooted.", NULL, false}, /* as it stands in the list */
    {"Host: single.", NULL, true},
    {"Host: corp.example.", NULL, true},
    {"Host: a.corp.example", NULL, false},
    {"Host: a.b.Corp.Example:80", NULL, false},
    {"Host: 10.0.0.7:7420", NULL, false},
    {"Host: baton", NULL, false},
    {"Host: corp.example", NULL, true},
    {"Host: xcorp.example", NULL, true},
    {"Host: example.com", NULL, true},
    {"Host: a.locks.example.com", NULL, true},
    {"Host: locks.example.com.evil.example", NULL, true},
};

/* Sends it with one more header (NULL: none). */
static void expect_story(struct service *service, const struct story *story, const char *more,
                         const char *method, const char *path)
{
    char own[64];
    snprintf(own, sizeof own, "%s%d", OWN, service->batond.port);
    const char *headers[4] = {strcmp(story->header, OWN) == 0 ? own : story->header};
    size_t count = 1;
    if (story->other)
        headers[count++] = story->other;
    headers[count] = more;
    long status = http_request(
        service->client, &(struct http_call){.method = method, .path = path, .headers = headers});
    const char *code = http_text(service->client, "code");
    bool is_refused = status == 403 && code && strcmp(code, "untrusted_origin") == 0;
    if (is_refused != story->is_refused || (!is_refused && status != 200 && status != 201))
        fail_msg("%s %s, %s, %s: %ld %s", method, path, story->header,
                 story->other ? story->other : "", status, service->client->reply.body);
}

TEST_ON_SERVICE(page_of_another_site_reads_but_changes_nothing)
{
    for (size_t i = 0; i < LENGTH(PAGES); i++) {
        answers(service->client, "POST /locks/a?owner=me&reentrant", NULL, 201, NULL);
        expect_story(service, &(struct story){PAGES[i].header, PAGES[i].other, false}, NULL, "GET",
                     "/locks/a");
        expect_story(service, &PAGES[i], NULL, "POST", "/locks/b?owner=me&reentrant");
        expect_story(service, &PAGES[i], NULL, "DELETE", "/locks/a?force=true");
        answers(service->client, "GET /locks/a", NULL, 200, NULL);
        assert_int_equal(http_integer(service->client, "hold_count") > 0, PAGES[i].is_refused);
    }
}

TEST_ON_SERVICE(host_of_another_site_is_refused)
{
    for (size_t i = 0; i < LENGTH(HOSTS); i++) {
        expect_story(service, &HOSTS[i], NULL, "POST", "/locks/b?owner=me&reentrant");
        expect_story(service, &HOSTS[i], NULL, "GET", "/locks/b");
        expect_story(service, &HOSTS[i], NULL, "GET", "/metrics");
        expect_story(service, &(struct story){HOSTS[i].header, NULL, false}, NULL, "GET",
                     "/readyz");
    }
    expect_story(service, &HOSTS[0], NULL, "POST", "/locks/b");
    assert_non_null(strstr(http_text(service->client, "detail"), "allowed-hosts"));
}

/* Starts batond with these flags and tells it of all these stories. */
static void expect_stories(const char *first, const char *second, const struct story *stories,
                           size_t count)
{
    struct service service;
    service_open(&service, NULL, LIST(first, second));
    for (size_t i = 0; i < count; i++)
        expect_story(&service, &stories[i], NULL, "POST", "/locks/b?owner=me&reentrant");
    expect_story(&service, &PAGES[0], NULL, "POST", "/locks/b");
    service_close(&service);
}

TEST(allow_anonymous_allows_no_other_host)
{
    expect_stories("--allow-anonymous", NULL, HOSTS, LENGTH(HOSTS));
}

TEST(allowed_hosts_are_served)
{
    static const struct story ANY[] = {{"Host: example.com", NULL, false}};
    expect_stories("--allow-anonymous",
                   "--allowed-hosts=locks.example.com,.corp.example.,rooted.,single", ALLOWED,
                   LENGTH(ALLOWED));
    expect_stories("--allowed-hosts=*", NULL, ANY, LENGTH(ANY));
}

/* The browser adds a password that it knows to whatever a page has it send. */
TEST(credentials_do_not_help_pages_of_other_sites)
{
    static const struct file_principal principals[] = {{"ci", ALL, NULL}};
    struct guarded guarded;
    char header[PRINCIPAL_HEADER_TEXT];
    guarded_open(&guarded, principals, 1, 1);
    principal_header("ci", header);
    for (size_t i = 0; i < LENGTH(PAGES); i++)
        expect_story(&guarded.service, &PAGES[i], header, "POST", "/locks/a?owner=me&reentrant");
    for (size_t i = 0; i < LENGTH(HOSTS); i++) /* they do not know it themselves */
        expect_story(&guarded.service, &(struct story){HOSTS[i].header, NULL, false}, header, "GET",
                     "/locks/a");
    guarded_close(&guarded);
}

TEST(script_gets_no_basic_challenge)
{
    static const struct file_principal principals[] = {{"ci", ALL, NULL}};
    struct guarded guarded;
    guarded_open(&guarded, principals, 1, 1);
    struct http_client *client = guarded.service.client;
    answers(client, "GET /locks", NULL, 401, "unauthorized");
    assert_non_null(strstr(client->reply.headers, "Basic"));
    answers_with(client, "X-Requested-With: baton", "GET /locks", NULL, 401, "unauthorized");
    assert_null(strstr(client->reply.headers, "Basic"));
    assert_non_null(strstr(client->reply.headers, "Bearer"));
    guarded_close(&guarded);
}

RUN_TESTS(service_start, service_stop)
