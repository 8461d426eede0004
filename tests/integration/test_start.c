/* GET /: who has found batond is told where to begin. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/secure.h"

#include <stdio.h>
#include <string.h>

enum { OUTPUT_LONGEST = 4096 };

/* Runs the commands of the text, which are its lines that begin with a space. */
static void run_commands(const char *text, char output[OUTPUT_LONGEST])
{
    char script[OUTPUT_LONGEST];
    size_t length = (size_t)snprintf(script, sizeof script, "(set -e\n");
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (*line == ' ')
            length += (size_t)snprintf(script + length, sizeof script - length, "%.*s\n",
                                       (int)strcspn(line, "\n"), line);
    snprintf(script + length, sizeof script - length, ") 2>/dev/null");
    FILE *shell = popen(script, "re"); /* NOLINT(cert-env33-c): as who reads the text does */
    assert_non_null(shell);
    output[fread(output, 1, OUTPUT_LONGEST - 1, shell)] = '\0';
    assert_int_equal(pclose(shell), 0);
}

TEST(text_has_commands_that_work)
{
    struct service service;
    char output[OUTPUT_LONGEST];
    service_open(&service, NULL, NULL);
    answers_with(service.client, "Accept: */*", "GET /", NULL, 200, NULL);
    run_commands(service.client->reply.body, output);
    assert_non_null(strstr(output, "\"name\":\"demo\",\"state\":\"held\""));
    assert_non_null(strstr(output, "\"released\":true"));
    service_close(&service);
}

TEST(browser_is_led_to_page)
{
    struct service service;
    service_open(&service, NULL, NULL);
    answers_with(service.client, "Accept: text/html,application/xml;q=0.9,*/*;q=0.8", "GET /", NULL,
                 302, NULL);
    assert_string_equal(http_header(service.client, "Location"), "ui");
    assert_string_equal(http_header(service.client, "Vary"), "Accept");
    service_close(&service);
}

TEST(text_says_how_to_log_in)
{
    static const struct file_principal PRINCIPALS[] = {{"ci", "[]", NULL}};
    struct guarded guarded;
    guarded_open(&guarded, PRINCIPALS, 1, 1);
    answers(guarded.service.client, "GET /", NULL, 200, NULL);
    assert_non_null(strstr(guarded.service.client->reply.body,
                           "curl -H 'Authorization: Bearer API-KEY' 'http"));
    guarded_close(&guarded);
}

TEST(text_says_https_where_that_is_served)
{
    struct secure secure;
    secure_open(&secure, true, NULL);
    secure.client->tls = &secure.tls;
    answers(secure.client, "GET /", NULL, 200, NULL);
    assert_non_null(strstr(secure.client->reply.body, " --cert FILE --key FILE 'https://"));
    secure_close(&secure);
}
