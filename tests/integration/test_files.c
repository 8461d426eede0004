/* Limits of open files: too low to serve, and as high as container engines set it. */
#include "tests/support/faults/preloaded.h"
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { EXIT_SETTINGS = 2 };

/* Starts batond with such a limit, and checks that it ends, having said one line. */
static void is_refused(const char *files, const char *arguments)
{
    struct temp_dir dir;
    struct process process;
    char log[120], command[300];
    const char *program = getenv("BATON_TEST_BATOND");
    assert_non_null(program);
    temp_dir_make(&dir);
    snprintf(log, sizeof log, "%s/log", dir.path);
    snprintf(command, sizeof command,
             "ulimit -n %s; exec \"$0\" --listen=127.0.0.1:0 --state-dir=%s/state %s", files,
             dir.path, arguments);
    process_start(&process, LIST("sh", "-c", command, program), NULL, log);
    assert_true(process_wait(&process, CLOCK_HANG_MS));
    char *output = process_output(&process);
    if (process_exit_code(&process) != EXIT_SETTINGS ||
        strncmp(output, "batond: the limit of open files is ", 35) != 0 ||
        strchr(output, '\n') != output + strlen(output) - 1)
        fail_msg("ulimit -n %s: %d %s", files, process_exit_code(&process), output);
    assert_non_null(strstr(output, files));
    assert_non_null(strstr(output, "ulimit -n"));
    free(output);
    temp_dir_remove(&dir);
}

TEST(too_low_limit_is_one_line_and_exit_status_2)
{
    SKIP_UNDER_VALGRIND("valgrind keeps the limit of descriptors to itself");
    is_refused("8", "--workers=1");
    is_refused("16", "--workers=1");
    is_refused("16", "--workers=1 --sandbox");
    is_refused("100", "--workers=1");
    is_refused("200", "--workers=8");
    is_refused("300", "--workers=1 --admin-listen=127.0.0.1:0");
}

TEST(limit_of_a_billion_is_no_burden)
{
    struct temp_dir dir;
    struct batond_process batond;
    char library[120], preload[140];
    SKIP_UNDER_VALGRIND("valgrind keeps the limit of descriptors to itself");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("limit_of_a_billion_is_no_burden: skipped: sanitizers have to be loaded first\n");
    skip();
#endif
    temp_dir_make(&dir);
    snprintf(library, sizeof library, "%s/limit.so", dir.path);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    preloaded_build("file_limit.c", library, dir.path);
    /* With a Redis of its own, for which batond starts a process. */
    batond_process_start(&batond, &(struct batond_options){.environment = LIST(preload)});
    struct http_client *client = http_client_new(batond.url);
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    answers(client, "POST /locks/a", NULL, 201, NULL);
    answers(client, "GET /metrics", NULL, 200, NULL);
    if (!strstr(client->reply.body, "\nprocess_max_fds 1073741816\n"))
        fail_msg("%s", client->reply.body);
    batond_close(&batond, client);
    temp_dir_remove(&dir);
}

/* The last test, as a process cannot raise such a limit again. */
TEST(low_limit_for_many_processors_means_fewer_workers)
{
    enum { FILES = 1024 };
    struct temp_dir dir;
    struct batond_process batond;
    char library[120], preload[140];
    SKIP_UNDER_VALGRIND("valgrind keeps the limit of descriptors to itself");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("low_limit_for_many_processors_means_fewer_workers: skipped: sanitizers have to "
                  "be loaded first\n");
    skip();
#endif
    temp_dir_make(&dir);
    snprintf(library, sizeof library, "%s/processors.so", dir.path);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    preloaded_build("processors.c", library, dir.path);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES, FILES}), 0);
    batond_process_start(&batond, &(struct batond_options){.environment = LIST(preload)});
    char *log = process_output(&batond.process);
    assert_non_null(strstr(log, "\"msg\":\"fewer workers than half of the processors, "));
    assert_non_null(strstr(log, "\"workers\":\"3\",\"usually\":\"8\",\"limit\":\"1024\""));
    free(log);
    struct http_client *client = http_client_new(batond.url);
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    answers(client, "GET /metrics", NULL, 200, NULL);
    assert_non_null(strstr(client->reply.body, "\nbaton_workers 3\n"));
    http_client_free(client);
    assert_int_equal(batond_process_stop(&batond), 0);
    temp_dir_remove(&dir);
}
