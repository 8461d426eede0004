/* Settings: how batond is told what to do, and what it says of what it cannot. */
#include "tests/support/fixtures/service.h"

#include "tests/support/free_port.h"
#include "tests/support/principals_file.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One Redis for all; a batond of its own for each story. */
struct shared {
    struct redis_process redis;
};

static const char *redis_url_of(void **state)
{
    return ((struct shared *)*state)->redis.url;
}

static int start(void **state)
{
    static struct shared shared;
    redis_process_start(&shared.redis, &(struct redis_options){.port = true});
    *state = &shared;
    return 0;
}

static int stop(void **state)
{
    redis_process_stop(&((struct shared *)*state)->redis);
    return 0;
}

/* Starts batond with these flags and variables; to be ended with `put_away`. */
static struct http_client *serve(struct batond_process *batond, const char *redis_url,
                                 const char *const *arguments, const char *const *environment)
{
    struct batond_options options = {
        .redis_url = redis_url, .arguments = arguments, .environment = environment};
    batond_process_start(batond, &options);
    return http_client_new(batond->url);
}

static void put_away(struct batond_process *batond, struct http_client *client)
{
    http_client_free(client);
    assert_int_equal(batond_process_stop(batond), 0);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Expects that it ends with this code, having said one line with all of these in it. */
static void is_refused(const struct batond_options *options, int code, const char *const *words)
{
    struct batond_process batond;
    batond_process_launch(&batond, options);
    if (!process_wait(&batond.process, CLOCK_HANG_MS))
        fail_msg("it started in spite of %s", *words);
    char *output = process_output(&batond.process);
    size_t lines = 0;
    for (const char *c = output; *c; c++)
        lines += *c == '\n';
    bool good = process_exit_code(&batond.process) == code && lines == 1 &&
                strncmp(output, "batond: ", 8) == 0;
    for (; *words; words++)
        good &= strstr(output, *words) != NULL;
    if (!good)
        fail_msg("exit code %d (expected %d) and: %s", process_exit_code(&batond.process), code,
                 output);
    free(output);
    batond_process_stop(&batond);
}

/* One of each place that refuses; the others are in tests/unit/test_settings.c. */
static void a_wrong_flag_is_named_in_one_line(void **state)
{
    static const struct {
        const char *flag, *named, *mend;
    } FLAGS[] = {
        {"--listen=nonsense", "--listen", "ADDRESS:PORT"},
        {"--redis-url=redis://:secret@h:port", "redis-url", "1 to 65535"},
        {"--redis-user=me", "--redis-user", "--redis-password"},
        {"--redis-ca=/ca.pem", "--redis-ca", "rediss://"},
        {"--max-connections=9999999", "--max-connections", "LimitNOFILE="},
        {"--workers=257", "--workers", "0 to 256"},
        {"--drains=5s", "--drains", "did you mean --drain?"},
        {"serve", "serve", "--help"},
    };
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        is_refused(&(struct batond_options){.redis_url = redis_url_of(state),
                                            .arguments = LIST(FLAGS[i].flag)},
                   2, LIST(FLAGS[i].named, FLAGS[i].mend));
}

static void a_wrong_variable_is_named_in_one_line(void **state)
{
    is_refused(&(struct batond_options){.redis_url = redis_url_of(state),
                                        .environment = LIST("BATON_WORKERS=many")},
               2, LIST("BATON_WORKERS"));
    is_refused(&(struct batond_options){.environment = LIST("BATON_REDIS_URL_FILE=/no/such/file")},
               2, LIST("BATON_REDIS_URL_FILE"));
    is_refused(&(struct batond_options){.environment = LIST("BATON_REDIS_URL=redis://h",
                                                            "BATON_REDIS_URL_FILE=/etc/hosts")},
               2, LIST("BATON_REDIS_URL", "BATON_REDIS_URL_FILE", "Keep one"));
    is_refused(&(struct batond_options){.environment = LIST("BATON_REDIS_PASSWORD=secret")}, 2,
               LIST("--redis-password", "--redis-url"));
}

static void a_password_is_never_printed(void **state)
{
    struct batond_process batond;
    (void)state;
    batond_process_launch(&batond,
                          &(struct batond_options){.redis_url = "redis://:opensesame@h:port"});
    assert_true(process_wait(&batond.process, CLOCK_HANG_MS));
    char *output = process_output(&batond.process);
    assert_null(strstr(output, "opensesame"));
    free(output);
    batond_process_stop(&batond);
}

/* What a batond that only prints something says; to be freed. */
static char *printed_by(const char *const *arguments, int *ret_code)
{
    struct batond_process batond;
    batond_process_launch(&batond, &(struct batond_options){.arguments = arguments});
    assert_true(process_wait(&batond.process, CLOCK_HANG_MS));
    *ret_code = process_exit_code(&batond.process);
    char *output = process_output(&batond.process);
    batond_process_stop(&batond);
    return output;
}

static void help_is_printed(void **state)
{
    static const char *const ASKED[][2] = {{"--help"}, {"--workers=nonsense", "-h"}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        int code;
        char *help = printed_by(LIST(ASKED[i][0], ASKED[i][1]), &code);
        assert_int_equal(code, 0);
        assert_non_null(strstr(help, "Usage: batond"));
        free(help);
    }
}

static void version_is_one_line(void **state)
{
    int code;
    (void)state;
    char *version = printed_by(LIST("--version"), &code);
    assert_int_equal(code, 0);
    assert_int_equal(strncmp(version, "batond ", 7), 0);
    assert_ptr_equal(strchr(version, '\n'), version + strlen(version) - 1);
    free(version);
}

/* A flag wins over a variable. */
static void the_default_ttl_is_a_setting(void **state)
{
    struct batond_process batond;
    struct http_client *client = serve(&batond, redis_url_of(state), LIST("--default-ttl", "10s"),
                                       LIST("BATON_DEFAULT_TTL=20s"));
    answers(client, "POST /locks/flag", NULL, 201, NULL);
    assert_int_equal(http_integer(client, "ttl_ms"), 10000);
    put_away(&batond, client);
}

static void max_ttl_bounds_what_clients_ask_for(void **state)
{
    struct batond_process batond;
    char token[TOKEN_TEXT];
    struct http_client *client = serve(&batond, redis_url_of(state), LIST("--max-ttl=40s"), NULL);
    answers(client, "POST /locks/max", "{\"ttl_ms\": 40001}", 400, "invalid_parameter");
    answers(client, "POST /locks/max?ttl=40s", NULL, 201, NULL);
    keep_token(client, token);
    answers_token(client, token, "PUT /locks/max?ttl=41s", NULL, 400, "invalid_parameter");
    assert_non_null(strstr(http_text(client, "detail"), "40s"));
    put_away(&batond, client);
}

static void retention_is_how_long_a_free_name_is_remembered(void **state)
{
    struct batond_process batond;
    struct redis_process *redis = &((struct shared *)*state)->redis;
    char token[TOKEN_TEXT];
    struct http_client *client =
        serve(&batond, redis_url_of(state), LIST("--retention=2h", "--key-prefix=r:"), NULL);
    answers(client, "POST /locks/n?ttl=1h", NULL, 201, NULL);
    keep_token(client, token);
    answers_token(client, token, "DELETE /locks/n", NULL, 200, NULL);
    assert_in_range(redis_process_integer(redis, "PTTL r:{n}"), 3600001, 7202000);
    put_away(&batond, client);
}

static void key_prefixes_keep_services_apart(void **state)
{
    struct batond_process one, two;
    struct http_client *client_one =
        serve(&one, redis_url_of(state), LIST("--key-prefix=one:"), NULL);
    struct http_client *client_two =
        serve(&two, redis_url_of(state), NULL, LIST("BATON_KEY_PREFIX=two*"));
    answers(client_one, "POST /locks/same", NULL, 201, NULL);
    answers(client_two, "POST /locks/same", NULL, 201, NULL);
    answers(client_one, "POST /locks/alone", NULL, 201, NULL);
    answers(client_one, "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client_one, "locks")), 2);
    answers(client_two, "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client_two, "locks")), 1);
    struct redis_process *redis = &((struct shared *)*state)->redis;
    assert_int_equal(redis_process_integer(redis, "EXISTS one:{same} two*{same} one:{alone}"), 3);
    put_away(&one, client_one);
    put_away(&two, client_two);
}

static void the_redis_url_may_come_from_a_file(void **state)
{
    struct batond_process batond;
    struct temp_dir dir;
    char path[120], variable[160];
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/url", dir.path);
    FILE *file = fopen(path, "w");
    fprintf(file, "%s\r\n", redis_url_of(state));
    fclose(file);
    snprintf(variable, sizeof variable, "BATON_REDIS_URL_FILE=%s", path);
    struct http_client *client = serve(&batond, NULL, LIST("--key-prefix=file:"), LIST(variable));
    answers(client, "POST /locks/n", NULL, 201, NULL);
    struct redis_process *redis = &((struct shared *)*state)->redis;
    assert_int_equal(redis_process_integer(redis, "EXISTS file:{n}"), 1);
    put_away(&batond, client);
    temp_dir_remove(&dir);
}

/* An address that is ours alone, for a batond that cannot tell which port it was given. */
static void choose_address(char address[40])
{
    int number = getpid();
    snprintf(address, 40, "127.%d.%d.%d:%d", 1 + (number >> 16 & 127), number >> 8 & 255,
             number & 255, free_port());
}

/* Starts the program as it is, without the flags that batond_process gives it. */
static void the_address_may_come_from_a_variable(void **state)
{
    struct process process;
    struct temp_dir dir;
    char log[100], address[40], listen[64], url[64];
    const char *program = getenv("BATON_TEST_BATOND");
    choose_address(address);
    temp_dir_make(&dir);
    snprintf(log, sizeof log, "%s/log", dir.path);
    snprintf(listen, sizeof listen, "BATON_LISTEN=%s", address);
    snprintf(url, sizeof url, "http://%s", address);
    process_start(
        &process,
        LIST(program ? program : "build/batond", "--drain=0", "--redis-url", redis_url_of(state)),
        LIST(listen), log);
    assert_true(process_wait_line(&process, url, NULL, NULL, 0, CLOCK_HANG_MS));
    struct http_client *client = http_client_new(url);
    answers(client, "GET /livez", NULL, 200, NULL);
    http_client_free(client);
    assert_int_equal(process_stop(&process), 0);
    temp_dir_remove(&dir);
}

static void serving_other_machines_has_to_be_allowed(void **state)
{
    struct batond_options options = {.redis_url = redis_url_of(state),
                                     .arguments = LIST("--listen=0.0.0.0:0")};
    is_refused(&options, 2, LIST("--listen", "--allow-anonymous"));
    options.arguments = LIST("--listen=[::]:0");
    is_refused(&options, 2, LIST("--listen", "--allow-anonymous"));
    options.arguments = LIST("--listen=0.0.0.0:0", "--allow-anonymous=false");
    is_refused(&options, 2, LIST("--listen", "--allow-anonymous"));

    struct batond_process batond;
    struct http_client *client =
        serve(&batond, redis_url_of(state), LIST("--listen=0.0.0.0:0", "--allow-anonymous"), NULL);
    answers(client, "GET /livez", NULL, 200, NULL);
    put_away(&batond, client);
    client = serve(&batond, redis_url_of(state), LIST("--listen=localhost:0"),
                   LIST("BATON_ALLOW_ANONYMOUS=false"));
    answers(client, "GET /livez", NULL, 200, NULL);
    put_away(&batond, client);
}

static void or_those_who_ask_have_to_say_who_they_are(void **state)
{
    struct temp_dir dir;
    char path[128], flag[160];
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/tokens.json", dir.path);
    snprintf(flag, sizeof flag, "--tokens-file=%s", path);
    struct batond_options options = {.redis_url = redis_url_of(state),
                                     .arguments = LIST("--listen=0.0.0.0:0", flag)};
    is_refused(&options, 2, LIST("--tokens-file", path, "No such file"));
    principals_file_put(path, "{\"principals\":[]}", 0644);
    is_refused(&options, 2, LIST("--tokens-file", path, "mode 0644", "chmod 600"));
    principals_file_put(path, "{\"principals\":[7]}", 0600);
    is_refused(&options, 2, LIST("--tokens-file", path, "principals[0]"));
    principals_file_put(path, "{\"principals\":[]}", 0600);
    struct batond_process batond;
    struct http_client *client =
        serve(&batond, redis_url_of(state), LIST("--listen=0.0.0.0:0", flag), NULL);
    answers(client, "GET /livez", NULL, 200, NULL);
    answers(client, "POST /locks/a", NULL, 401, "unauthorized");
    put_away(&batond, client);
    temp_dir_remove(&dir);
}

/* What batond prints and exits with, given this flag. */
static void prints(const char *flag, char *text, size_t size, int code)
{
    struct process process;
    const char *const arguments[] = {getenv("BATON_TEST_BATOND"), flag, NULL};
    struct temp_dir dir;
    char log[128];
    temp_dir_make(&dir);
    snprintf(log, sizeof log, "%s/log", dir.path);
    process_start(&process, arguments, NULL, log);
    assert_true(process_wait(&process, CLOCK_HANG_MS));
    assert_int_equal(process_exit_code(&process), code);
    char *output = process_output(&process);
    snprintf(text, size, "%s", output);
    free(output);
    process_stop(&process);
    temp_dir_remove(&dir);
}

/* What it prints is taken by another batond as it is. */
static void a_new_token_comes_with_its_principal(void **state)
{
    char text[1024], again[1024], file[1100], path[128], flag[160], header[256];
    struct temp_dir dir;
    prints("--new-token=ci \"1\"", text, sizeof text, 0);
    prints("--new-token=ci \"1\"", again, sizeof again, 0);
    char *entry = strchr(text, '\n');
    assert_int_equal(entry - text, 49);
    assert_memory_equal(text, "baton_", 6);
    assert_int_not_equal(strncmp(text, again, 49), 0);
    *entry++ = '\0';
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/tokens.json", dir.path);
    snprintf(flag, sizeof flag, "--tokens-file=%s", path);
    snprintf(file, sizeof file, "{\"principals\":[%s]}", entry);
    principals_file_put(path, file, 0600);
    struct batond_process batond;
    struct http_client *client = serve(&batond, redis_url_of(state), LIST(flag), NULL);
    snprintf(header, sizeof header, "Authorization: Bearer %.49s", text);
    answers_with(client, header, "POST /locks/ci%20%221%22%2Fa", NULL, 201, NULL);
    answers_with(client, header, "POST /locks/a", NULL, 403, "forbidden");
    put_away(&batond, client);
    temp_dir_remove(&dir);
    prints("--new-token", text, sizeof text, 2);
    assert_non_null(strstr(text, "batond: --new-token needs the name"));
    prints("--new-token=", text, sizeof text, 2);
    assert_non_null(strstr(text, "batond: --new-token: expected a name"));
    prints("--new-token=a\tb", text, sizeof text, 2);
}

/* Nothing to read again is no reason to stop. */
static void a_hangup_signal_is_survived(void **state)
{
    struct batond_process batond;
    struct http_client *client = serve(&batond, redis_url_of(state), NULL, NULL);
    process_signal(&batond.process, SIGHUP);
    answers(client, "POST /locks/hup", NULL, 201, NULL);
    assert_false(process_wait(&batond.process, 100)); /* a busy machine can only make it pass */
    answers(client, "DELETE /locks/hup?force=true", NULL, 200, NULL);
    put_away(&batond, client);
}

static void a_port_in_use_is_named(void **state)
{
    struct batond_process batond;
    char listen[64], port[16];
    struct http_client *client = serve(&batond, redis_url_of(state), NULL, NULL);
    snprintf(port, sizeof port, "%d", batond.port);
    snprintf(listen, sizeof listen, "--listen=127.0.0.1:%s", port);
    is_refused(
        &(struct batond_options){.redis_url = redis_url_of(state), .arguments = LIST(listen)}, 1,
        LIST("--listen", port, "in use", "another port"));
    answers(client, "GET /livez", NULL, 200, NULL);
    put_away(&batond, client);
}

static void a_state_directory_that_cannot_be_is_named(void **state)
{
    (void)state;
    is_refused(&(struct batond_options){.state_dir = "/dev/null/x"}, 1,
               LIST("/dev/null", "--state-dir"));
}

static void the_log_is_json_or_text(void **state)
{
    struct batond_process batond;
    struct http_client *client = serve(&batond, redis_url_of(state), NULL, NULL);
    char line[512];
    assert_true(
        process_wait_line(&batond.process, "redis is up", NULL, line, sizeof line, CLOCK_HANG_MS));
    json_t *json = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    assert_string_equal(json_string_value(json_object_get(json, "level")), "info");
    assert_string_equal(json_string_value(json_object_get(json, "msg")), "redis is up");
    const char *time = json_string_value(json_object_get(json, "time"));
    assert_int_equal(strlen(time), strlen("2026-01-01T00:00:00.000Z"));
    json_decref(json);
    put_away(&batond, client);

    struct batond_options options = {.redis_url = redis_url_of(state),
                                     .arguments = LIST("--log-format=text")};
    batond_process_launch(&batond, &options);
    assert_true(process_wait_line(&batond.process, "level=\"info\" msg=\"listening\" url=\"http://",
                                  NULL, line, sizeof line, CLOCK_HANG_MS));
    assert_int_equal(strncmp(line, "time=\"20", 8), 0);
    assert_int_equal(batond_process_stop(&batond), 0);
}

static void the_log_level_leaves_out_what_is_below(void **state)
{
    struct batond_process batond;
    char address[40], listen[64], url[64];
    choose_address(address);
    snprintf(listen, sizeof listen, "--listen=%s", address);
    snprintf(url, sizeof url, "http://%s", address);
    struct batond_options options = {.redis_url = redis_url_of(state),
                                     .arguments = LIST("--log-level=error", listen)};
    batond_process_launch(&batond, &options);
    struct http_client *client = http_client_new(url);
    assert_true(comes_to_answer(client, "/livez", 200, CLOCK_HANG_MS));
    http_client_free(client);
    char *output = process_output(&batond.process);
    assert_string_equal(output, "");
    free(output);
    assert_int_equal(batond_process_stop(&batond), 0);
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

/* Each names itself first of all, which may be after another one has answered. */
static void has_workers(const struct batond_process *batond, int count)
{
    struct workers workers = {batond->process.pid, count};
    assert_true(clock_wait_until(are_all_there, &workers, CLOCK_HANG_MS));
}

static void each_worker_is_a_thread(void **state)
{
    struct batond_process batond;
    struct http_client *client = serve(&batond, redis_url_of(state), LIST("--workers=1"), NULL);
    has_workers(&batond, 1);
    put_away(&batond, client);
    client = serve(&batond, redis_url_of(state), NULL, LIST("BATON_WORKERS=5"));
    has_workers(&batond, 5);
    put_away(&batond, client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_flag_is_named_in_one_line),
        cmocka_unit_test(a_wrong_variable_is_named_in_one_line),
        cmocka_unit_test(a_password_is_never_printed),
        cmocka_unit_test(help_is_printed),
        cmocka_unit_test(version_is_one_line),
        cmocka_unit_test(the_default_ttl_is_a_setting),
        cmocka_unit_test(max_ttl_bounds_what_clients_ask_for),
        cmocka_unit_test(retention_is_how_long_a_free_name_is_remembered),
        cmocka_unit_test(key_prefixes_keep_services_apart),
        cmocka_unit_test(the_redis_url_may_come_from_a_file),
        cmocka_unit_test(the_address_may_come_from_a_variable),
        cmocka_unit_test(serving_other_machines_has_to_be_allowed),
        cmocka_unit_test(or_those_who_ask_have_to_say_who_they_are),
        cmocka_unit_test(a_new_token_comes_with_its_principal),
        cmocka_unit_test(a_hangup_signal_is_survived),
        cmocka_unit_test(a_port_in_use_is_named),
        cmocka_unit_test(a_state_directory_that_cannot_be_is_named),
        cmocka_unit_test(the_log_is_json_or_text),
        cmocka_unit_test(the_log_level_leaves_out_what_is_below),
        cmocka_unit_test(each_worker_is_a_thread),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
