/* Settings as a process is given them: one row for each place that refuses one, and what each kind
 * of setting changes. Which values there are, tests/unit/test_settings.c shows. */
#include "tests/support/fixtures/service.h"

#include "tests/support/free_port.h"
#include "tests/support/principals_file.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One Redis for all tests; each has a batond of its own. */
static int start(void **state)
{
    static struct redis_process redis;
    redis_process_start(&redis, &(struct redis_options){.port = true});
    *state = &redis;
    return 0;
}

static int stop(void **state)
{
    redis_process_stop(*state);
    return 0;
}

static const char *redis_url_of(void **state)
{
    return ((struct redis_process *)*state)->url;
}

/* Starts batond with these flags and variables; to be ended with `batond_close`. */
static struct http_client *serve(struct batond_process *batond, const char *redis_url,
                                 const char *const *arguments, const char *const *environment)
{
    struct batond_options options = {
        .redis_url = redis_url, .arguments = arguments, .environment = environment};
    batond_process_start(batond, &options);
    return http_client_new(batond->url);
}

/* What a batond that ends by itself has said, to be freed, and its exit code. */
static char *said_by(const struct batond_options *options, int *ret_code)
{
    struct batond_process batond;
    batond_process_launch(&batond, options);
    if (!process_wait(&batond.process, CLOCK_HANG_MS))
        fail_msg("it started in spite of %s", options->arguments ? *options->arguments : "");
    *ret_code = process_exit_code(&batond.process);
    char *output = process_output(&batond.process);
    batond_process_stop(&batond);
    return output;
}

/* Expects one line that says both, and this exit code. */
static void is_refused(const struct batond_options *options, int expected, const char *named,
                       const char *mend)
{
    int code;
    char *output = said_by(options, &code);
    bool is_line = strchr(output, '\n') == output + strlen(output) - 1;
    if (code != expected || !is_line || strncmp(output, "batond: ", 8) != 0 ||
        !strstr(output, named) || !strstr(output, mend) || strstr(output, "opensesame"))
        fail_msg("exit code %d (expected %d) and: %s", code, expected, output);
    free(output);
}

TEST(wrong_setting_is_named_in_one_line)
{
    static const struct {
        const char *flag, *variable; /* of which one is given */
        const char *named, *mend;
    } ROWS[] = {
        {"--listen=nonsense", NULL, "--listen", "ADDRESS:PORT"},
        {"--listen=0.0.0.0:0", NULL, "--listen", "--allow-anonymous"},
        {"--listen=[::]:0", NULL, "--listen", "--allow-anonymous"},
        {"--redis-url=redis://:opensesame@h:port", NULL, "redis-url", "1 to 65535"},
        {"--redis-ca=/ca.pem", NULL, "--redis-ca", "rediss://"},
        {"--max-connections=9999999", NULL, "--max-connections", "LimitNOFILE="},
        {"--tokens-file=/no/such/file", NULL, "--tokens-file", "No such file"},
        {"--drains=5s", NULL, "--drains", "did you mean --drain?"},
        {NULL, "BATON_WORKERS=many", "BATON_WORKERS", "0 to 256"},
    };
    for (size_t i = 0; i < LENGTH(ROWS); i++)
        is_refused(&(struct batond_options){.redis_url = redis_url_of(state),
                                            .arguments = LIST(ROWS[i].flag),
                                            .environment = LIST(ROWS[i].variable)},
                   2, ROWS[i].named, ROWS[i].mend);
    is_refused(&(struct batond_options){.environment = LIST("BATON_REDIS_PASSWORD=opensesame")}, 2,
               "--redis-password", "--redis-url");
    is_refused(&(struct batond_options){.state_dir = "/dev/null/x"}, 1, "/dev/null", "--state-dir");
}

TEST(help_and_version_are_printed)
{
    static const char *const ASKED[][3] = {{"--help", NULL, "Usage: batond"},
                                           {"--workers=nonsense", "-h", "Usage: batond"},
                                           {"--version", NULL, "batond "}};
    for (size_t i = 0; i < LENGTH(ASKED); i++) {
        int code;
        char *text =
            said_by(&(struct batond_options){.arguments = LIST(ASKED[i][0], ASKED[i][1])}, &code);
        assert_int_equal(code, 0);
        assert_non_null(strstr(text, ASKED[i][2]));
        free(text);
    }
}

TEST(flags_and_variables_are_in_force)
{
    struct redis_process *redis = *state;
    struct batond_process one, two;
    struct temp_dir dir;
    char path[120], variable[160], token[TOKEN_TEXT];
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/url", dir.path);
    principals_file_put(path, redis->url, 0600);
    snprintf(variable, sizeof variable, "BATON_REDIS_URL_FILE=%s", path);
    struct http_client *client =
        serve(&one, redis->url,
              LIST("--default-ttl", "10s", "--max-ttl=40s", "--retention=2h", "--key-prefix=one:"),
              LIST("BATON_DEFAULT_TTL=20s"));
    struct http_client *other = serve(&two, NULL, NULL, LIST(variable, "BATON_KEY_PREFIX=two*"));

    answers(client, "POST /locks/same", NULL, 201, NULL);
    assert_int_equal(http_integer(client, "ttl_ms"), 10000);
    keep_token(client, token);
    answers_token(client, token, "PUT /locks/same?ttl=41s", NULL, 400, "invalid_parameter");
    answers(client, "POST /locks/alone?ttl=41s", NULL, 400, "invalid_parameter");
    assert_non_null(strstr(http_text(client, "detail"), "40s"));
    answers(client, "POST /locks/alone?ttl=40s", NULL, 201, NULL);

    answers(other, "POST /locks/same", NULL, 201, NULL);
    answers(client, "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 2);
    answers(other, "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(other, "locks")), 1);
    assert_int_equal(redis_process_integer(redis, "EXISTS one:{same} two*{same} one:{alone}"), 3);

    release_lock(client, token, "same");
    assert_in_range(redis_process_integer(redis, "PTTL one:{same}"), 3600001, 7202000);
    batond_close(&one, client);
    batond_close(&two, other);
    temp_dir_remove(&dir);
}

/* Kubernetes sets the first ones for a service of the name baton-redis. */
TEST(unknown_variables_are_named_in_one_warning)
{
    static const char WARNING[] = "\"level\":\"warn\",\"msg\":\"some variables have no effect";
    struct batond_process batond;
    struct http_client *client =
        serve(&batond, redis_url_of(state), NULL,
              LIST("BATON_REDIS_SERVICE_HOST=10.96.0.8", "BATON_REDIS_PORT=tcp://10.96.0.8:6379",
                   "BATON_PORT=8080", "BATON_REDIS_USERNAME=baton", "BATON_REDIS_USER_NAME=baton"));
    char *log = process_output(&batond.process), *warning = strstr(log, WARNING);
    assert_non_null(warning);
    assert_null(strstr(warning + 1, WARNING));
    assert_null(strstr(warning, "BATON_PORT")); /* --listen is there */
    assert_non_null(strstr(warning, "BATON_REDIS_USERNAME, BATON_REDIS_USER_NAME"));
    assert_null(strstr(log, "BATON_REDIS_SERVICE_HOST"));
    free(log);
    batond_close(&batond, client);
}

/* Starts the program as it is, without the flags that batond_process gives it, at an address that
 * is this test's alone. */
TEST(listen_variable_and_log_level_are_in_force)
{
    struct process process;
    struct temp_dir dir;
    char log[100], listen[64], url[64];
    int number = getpid();
    const char *program = getenv("BATON_TEST_BATOND");
    snprintf(listen, sizeof listen, "BATON_LISTEN=127.%d.%d.%d:%d", 1 + (number >> 16 & 127),
             number >> 8 & 255, number & 255, free_port());
    snprintf(url, sizeof url, "http://%s", strchr(listen, '=') + 1);
    temp_dir_make(&dir);
    snprintf(log, sizeof log, "%s/log", dir.path);
    process_start(&process,
                  LIST(program ? program : "build/batond", "--drain=0", "--log-level=error",
                       "--redis-url", redis_url_of(state)),
                  LIST(listen), log);
    struct http_client *client = http_client_new(url);
    assert_true(comes_to_answer(client, "/livez", 200, CLOCK_HANG_MS));
    http_client_free(client);
    char *output = process_output(&process);
    assert_string_equal(output, "");
    free(output);
    assert_int_equal(process_stop(&process), 0);
    temp_dir_remove(&dir);
}

TEST(log_format_may_be_text)
{
    struct batond_process batond;
    char line[512];
    batond_process_launch(&batond,
                          &(struct batond_options){.redis_url = redis_url_of(state),
                                                   .arguments = LIST("--log-format=text")});
    assert_true(process_wait_line(&batond.process, "level=\"info\" msg=\"listening\" url=\"http://",
                                  NULL, line, sizeof line, CLOCK_HANG_MS));
    assert_int_equal(strncmp(line, "time=\"20", 8), 0);
    assert_int_equal(batond_process_stop(&batond), 0);
}

/* SIGHUP has nothing to read again. */
TEST(open_listener_serves_whoever_is_allowed)
{
    struct batond_process batond;
    struct http_client *client =
        serve(&batond, redis_url_of(state), LIST("--listen=0.0.0.0:0", "--allow-anonymous"), NULL);
    process_signal(&batond.process, SIGHUP);
    answers(client, "POST /locks/open", NULL, 201, NULL);
    batond_close(&batond, client);
    client = serve(&batond, redis_url_of(state), LIST("--listen=localhost:0"),
                   LIST("BATON_ALLOW_ANONYMOUS=false"));
    answers(client, "GET /livez", NULL, 200, NULL);
    batond_close(&batond, client);
}

/* batond prints a token and a principal; another batond takes both as they are. */
TEST(new_token_is_accepted_with_its_principal)
{
    static const char *const WRONG[][2] = {{"--new-token", "--new-token needs the name"},
                                           {"--new-token=", "--new-token: expected a name"},
                                           {"--new-token=a\tb", "--new-token"}};
    const struct batond_options make = {.arguments = LIST("--new-token=ci \"1\"")};
    char file[1100], path[128], flag[160], header[256];
    struct temp_dir dir;
    int code;
    char *text = said_by(&make, &code), *again = said_by(&make, &code);
    char *entry = strchr(text, '\n');
    assert_int_equal(code, 0);
    assert_int_equal(entry - text, 49);
    assert_memory_equal(text, "baton_", 6);
    assert_int_not_equal(strncmp(text, again, 49), 0);
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/tokens.json", dir.path);
    snprintf(flag, sizeof flag, "--tokens-file=%s", path);
    snprintf(file, sizeof file, "{\"principals\":[%s]}", entry);
    principals_file_put(path, file, 0600);
    struct batond_process batond;
    struct http_client *client =
        serve(&batond, redis_url_of(state), LIST("--listen=0.0.0.0:0", flag), NULL);
    snprintf(header, sizeof header, "Authorization: Bearer %.49s", text);
    answers_with(client, header, "POST /locks/ci%20%221%22%2Fa", NULL, 201, NULL);
    answers_with(client, header, "POST /locks/a", NULL, 403, "forbidden");
    answers(client, "POST /locks/a", NULL, 401, "unauthorized");
    batond_close(&batond, client);
    temp_dir_remove(&dir);
    free(text);
    free(again);
    for (size_t i = 0; i < LENGTH(WRONG); i++)
        is_refused(&(struct batond_options){.arguments = LIST(WRONG[i][0])}, 2, WRONG[i][1], "");
}

TEST(port_in_use_is_named)
{
    struct batond_process batond;
    char listen[64];
    struct http_client *client = serve(&batond, redis_url_of(state), NULL, NULL);
    snprintf(listen, sizeof listen, "--listen=127.0.0.1:%d", batond.port);
    is_refused(
        &(struct batond_options){.redis_url = redis_url_of(state), .arguments = LIST(listen)}, 1,
        "in use", "another port");
    answers(client, "GET /livez", NULL, 200, NULL);
    batond_close(&batond, client);
}

/* The kernel adds threads of its own to a process that uses io_uring, as libuv does from 1.45 on,
 * so they are told by their names. */
static bool is_worker(pid_t pid, const char *thread)
{
    char path[320], name[16] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%s/comm", (int)pid, thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool is_read = fgets(name, sizeof name, file);
    fclose(file);
    return is_read && strncmp(name, "worker ", strlen("worker ")) == 0;
}

static int workers_of(pid_t pid)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        count += is_worker(pid, entry->d_name);
    closedir(dir);
    return count;
}

struct workers {
    pid_t pid;
    int count;
};

static bool are_all_there(void *context)
{
    const struct workers *workers = context;
    return workers_of(workers->pid) == workers->count;
}

/* A thread names itself first of all, which may be after another one has answered. */
TEST(every_worker_is_a_thread)
{
    struct batond_process batond;
    struct http_client *client = serve(&batond, redis_url_of(state), NULL, LIST("BATON_WORKERS=5"));
    struct workers workers = {batond.process.pid, 5};
    assert_true(clock_wait_until(are_all_there, &workers, CLOCK_HANG_MS));
    batond_close(&batond, client);
}

RUN_TESTS(start, stop)
