/* How baton finds a batond, by which settings, and what it says if none answers. */
#include "tests/cli/terminal.h"
#include "tests/support/faults/silent_names.h"
#include "tests/support/fixtures/secure.h"
#include "tests/support/free_port.h"
#include "tests/support/principals_file.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_ON_SERVICE(next_url_is_asked_if_one_does_not_answer)
{
    struct terminal terminal;
    char urls[200];
    snprintf(urls, sizeof urls, "http://127.0.0.1:%d, %s/", free_port(), service->batond.url);
    terminal_open(&terminal, urls);
    says(&terminal, 0, NULL, "$BATON acquire next");
    says(&terminal, 0, "next", "$BATON list");
    terminal_close(&terminal);
}

TEST(no_answer_is_reported_for_each_url)
{
    struct terminal terminal;
    int port = free_port();
    terminal_open(&terminal, "http://127.0.0.1:1");
    says(&terminal, 69, "http://127.0.0.1:1: ", "$BATON acquire --patience=0 x");
    says(&terminal, 69, "Check the URL",
         "$BATON acquire --patience=0 --url='http://127.0.0.1:1 http://127.0.0.1:%d' x", port);
    char second[80];
    snprintf(second, sizeof second, "  http://127.0.0.1:%d: ", port);
    assert_non_null(strstr(terminal.output, second));
    terminal_close(&terminal);
}

/* The kernel accepts connections, and nobody reads them. */
static int listen_silently(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    return listener;
}

/* As a balancer does that has no batond: it reads the first bytes or none, and hangs up. */
static pid_t hang_up_on_everybody(int listener, bool reads)
{
    char bytes[4096];
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (child == 0) {
        int fd = accept(listener, NULL, NULL);
        if (reads && recv(fd, bytes, sizeof bytes, 0) < 0)
            _exit(1);
        close(fd);
    }
    return child;
}

TEST(balancer_that_hangs_up_on_tls_is_asked_again)
{
    struct terminal terminal;
    int port, listener = listen_silently(&port);
    terminal_open(&terminal, "");
    for (int reads = 0; reads < 2; reads++) {
        pid_t child = hang_up_on_everybody(listener, reads);
        says(&terminal, 69, "  baton has asked again for 100ms (--patience).\n",
             "$BATON run -n -E 0 --patience=100ms --url=https://127.0.0.1:%d x -- echo runs", port);
        assert_null(strstr(terminal.output, "Is this HTTP?"));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    terminal_close(&terminal);
    close(listener);
}

TEST_ON_SERVICE(proxy_is_named_and_never_asked_for_this_machine)
{
    static const char *const LOCAL[] = {"127.0.0.1", "localhost", "127.1", "a.localhost"};
    struct terminal terminal;
    char said[80], proxies[120];
    int port, listener = listen_silently(&port);
    terminal_open(&terminal, service->batond.url);
    snprintf(proxies, sizeof proxies, "export no_proxy= http_proxy=http://127.0.0.1:%d", port);
    for (size_t i = 0; i < LENGTH(LOCAL); i++)
        says(&terminal, 0, "free", "%s; $BATON show --url=http://%s:%d x", proxies, LOCAL[i],
             service->batond.port);
    snprintf(said, sizeof said, "batond.example:7420, by the proxy 127.0.0.1 port %d: ", port);
    says(&terminal, 69, said,
         "%s; $BATON show --connect-timeout=100ms --url=http://batond.example:7420 x", proxies);
    terminal_close(&terminal);
    close(listener);
}

TEST_ON_SERVICE(option_wins_over_variable_and_variable_over_file)
{
    struct terminal terminal;
    terminal_open(&terminal, "");
    says(&terminal, 0, NULL,
         "mkdir -p .config/baton; printf '# ours\\n BATON_URL=%s \\n' >.config/baton/client.conf",
         service->batond.url);
    says(&terminal, 0, "free", "$BATON show x");
    says(&terminal, 69, "127.0.0.1:1:", "BATON_URL=http://127.0.0.1:1 $BATON show x");
    says(&terminal, 69,
         "127.0.0.1:2:", "BATON_URL=http://127.0.0.1:1 $BATON show --url=http://127.0.0.1:2 x");
    says(&terminal, 78, "client.conf, line 3: not a setting of baton",
         "echo BATON_ULR=x >>.config/baton/client.conf; $BATON show x");
    says(&terminal, 78, "client.conf, line 1: the value of BATON_URL is in quotes.",
         "echo 'BATON_URL=\"%s\"' >.config/baton/client.conf; $BATON show x", service->batond.url);
    says(&terminal, 78, "the environment: the value of BATON_CA is in quotes.",
         "rm -r .config; BATON_CA=\"'ca.pem'\" $BATON show x");
    terminal_close(&terminal);
}

/* As editors, templates and secrets leave them. */
TEST_ON_SERVICE(white_space_and_byte_order_mark_are_not_of_a_value)
{
    struct terminal terminal;
    terminal_open(&terminal, "");
    says(&terminal, 0, "free", "BATON_URL=$'\\xef\\xbb\\xbf \\t%s \\r\\n' $BATON show x",
         service->batond.url);
    says(&terminal, 0, "free",
         "mkdir -p .config/baton; printf '\\xef\\xbb\\xbfBATON_URL= %s \\r\\n\\r\\n' "
         ">.config/baton/client.conf; $BATON show x",
         service->batond.url);
    terminal_close(&terminal);
}

/* Only a file that is not there is none. */
TEST_ON_SERVICE(client_conf_that_cannot_be_looked_at_is_an_error)
{
    struct terminal terminal;
    terminal_open(&terminal, service->batond.url);
    says(&terminal, 0, "free", "touch .config; $BATON show x");
    says(&terminal, 78, "client.conf: cannot read",
         "rm .config; ln -s .config .config; $BATON show x");
    terminal_close(&terminal);
}

TEST_ON_SERVICE(wrong_url_never_runs_a_command_without_the_lock)
{
    static const char *const URLS[] = {
        "http://127.0.0.1:99999",  "http://127.0.0.1:abc",  "http://:7420",
        "http://[::1:7420",        "http://${VAR}",         "http://h\\xc2\\xa0",
        "http://127.0.0.1:7420\"", "http://h:7420?wait=1s", "http://ci:secret@127.0.0.1:7420",
    };
    struct terminal terminal;
    terminal_open(&terminal, "");
    for (size_t i = 0; i < LENGTH(URLS); i++) {
        says(&terminal, 78, "a URL of batond",
             "$BATON run --if-unavailable=run --url=$'%s' x -- echo runs", URLS[i]);
        assert_null(strstr(terminal.output, "runs"));
        assert_null(strstr(terminal.output, "secret"));
    }
    /* batond hangs up on some of what TLS begins with, and answers the rest by 400. */
    says(&terminal, 78, "Is this HTTP? Then write http:// into the URL.",
         "$BATON run --if-unavailable=run --url=https://127.0.0.1:%d x -- echo runs",
         service->batond.port);
    assert_null(strstr(terminal.output, "runs\n"));
    terminal_close(&terminal);
}

TEST_ON_SERVICE(url_that_is_not_of_batond_is_refused)
{
    struct terminal terminal;
    char advice[200];
    terminal_open(&terminal, service->batond.url);
    says(&terminal, 78, "Write http://HOST:PORT", "$BATON show --url=127.0.0.1:7420 x");
    says(&terminal, 78, "Write http://HOST:PORT", "$BATON show --url=https:// x");
    snprintf(advice, sizeof advice, "ends in /locks, which baton adds itself. Write %s into",
             service->batond.url);
    says(&terminal, 78, advice, "$BATON show --url=%s/locks x", service->batond.url);
    says(&terminal, 78, advice, "$BATON show --url=%s/locks/ x", service->batond.url);
    terminal_close(&terminal);
}

TEST_ON_SERVICE(api_key_comes_from_auth_file_and_names_who_breaks_a_lock)
{
    static const struct file_principal CI = {
        "ci", "[{\"prefix\": \"ci:\", \"verbs\": [\"acquire\", \"read\", \"break\"]}]", NULL};
    struct batond_process batond;
    struct terminal terminal;
    char key[PRINCIPAL_TOKEN_TEXT], path[120];
    terminal_open(&terminal, "");
    snprintf(path, sizeof path, "%s/tokens.json", terminal.dir.path);
    principals_file_write(path, &CI, 1);
    principal_token("ci", key);
    const char *const flags[] = {"--tokens-file", path, NULL};
    struct http_client *client = batond_open(&batond, service->redis.url, flags);
    snprintf(terminal.url, sizeof terminal.url, "BATON_URL=%s", batond.url);
    says(&terminal, 77, "--auth-file or BATON_AUTH_FILE", "$BATON acquire ci:build");
    says(&terminal, 0, NULL, "echo %s >key; BATON_AUTH_FILE=key $BATON acquire ci:build", key);
    says(&terminal, 77, NULL, "$BATON acquire --auth-file=key other");
    says(&terminal, 0, NULL,
         "printf '\\xef\\xbb\\xbf \\n %s \\r\\n' >key; "
         "BATON_AUTH_FILE=$' key\\n' $BATON show ci:build",
         key);
    says(&terminal, 0, NULL, "$BATON break --auth-file=key ci:build");
    says(&terminal, 0, " ago by ci from 127.0.0.1\n", "$BATON show --auth-file=key ci:build");
    says(&terminal, 0, "every user of this machine can read your key in key.",
         "chmod 604 key; $BATON show --auth-file=key ci:build");
    says(&terminal, 0, NULL, "chmod 640 key; $BATON show --auth-file=key ci:build");
    assert_null(strstr(terminal.output, "can read your key"));
    says(&terminal, 78, "empty", ">none; $BATON acquire --auth-file=none ci:build");
    says(&terminal, 78, "cannot read", "$BATON acquire --auth-file=missing ci:build");
    batond_close(&batond, client);
    terminal_close(&terminal);
}

TEST(https_needs_the_authority_and_may_show_a_certificate)
{
    struct secure secure;
    struct certificate own;
    struct terminal terminal;
    secure_open(&secure, true, NULL);
    certificate_make(&own, &secure.dir, "own",
                     &(struct certificate_options){.issuer = &secure.clients});
    terminal_open(&terminal, secure.batond.url);
    says(&terminal, 78, ". Name the file of its authority in --ca or BATON_CA.\n", "$BATON show x");
    says(&terminal, 69, ". Is this HTTPS? Then write https:// into the URL.\n",
         "$BATON show --url=$(echo $BATON_URL | sed s/https/http/) x");
    says(&terminal, 78, "--ca: cannot read missing", "$BATON show --ca=missing x");
    says(&terminal, 77, NULL, "$BATON show --ca=%s x", secure.authority.file);
    says(&terminal, 0, "free", "$BATON show --ca=%s --cert=%s --key=%s x", secure.authority.file,
         own.file, own.key);
    terminal_close(&terminal);
    secure_close(&secure);
}

TEST_ON_SERVICE(variables_of_the_client_do_not_stop_batond)
{
    static const char *const VARIABLES[] = {
        "BATON_URL=http://h", "BATON_AUTH_FILE=/none", "BATON_CA=/none",
        "BATON_CERT=/none",   "BATON_KEY=/none",       NULL,
    };
    struct batond_process batond;
    batond_process_start(&batond, &(struct batond_options){.redis_url = service->redis.url,
                                                           .environment = VARIABLES});
    assert_int_equal(batond_process_stop(&batond), 0);
}

/* The resolver gives up after 150 s. */
TEST_ON_SERVICE(next_url_is_asked_if_nobody_resolves_a_name)
{
    struct terminal terminal;
    struct silent_names names;
    char urls[200];
    if (!silent_names_open(&names))
        skip();
    snprintf(urls, sizeof urls, "http://nobody.baton.example:7420 %s", service->batond.url);
    terminal_open(&terminal, urls);
    says(&terminal, 0, NULL,
         "RES_OPTIONS='timeout:30 attempts:5' $BATON acquire --connect-timeout=1s resolved");
    terminal_close(&terminal);
    silent_names_close(&names);
}

RUN_TESTS(service_start, service_stop)
