/* Variables that are no settings: batond starts beside them, and says so of those that were meant
 * for it. */
#include "tests/support/fixtures/service.h"

#include <stdlib.h>
#include <string.h>

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    while ((text = strstr(text, part))) {
        count++;
        text += strlen(part);
    }
    return count;
}

static char *log_with(const char *const *environment)
{
    struct redis_process redis;
    struct batond_process batond;
    redis_process_start(&redis, NULL);
    struct batond_options options = {.redis_url = redis.url, .environment = environment};
    batond_process_start(&batond, &options);
    char *log = process_output(&batond.process); /* up to where it listens */
    assert_int_equal(batond_process_stop(&batond), 0);
    redis_process_stop(&redis);
    return log;
}

static const char WARNING[] = "have no effect";

static void service_called_baton_redis_does_not_stop_the_start(void **state)
{
    static const char *const LINKS[] = {"BATON_REDIS_SERVICE_HOST=10.96.0.8",
                                        "BATON_REDIS_PORT=tcp://10.96.0.8:6379",
                                        "BATON_REDIS_PORT_6379_TCP=tcp://10.96.0.8:6379", NULL};
    (void)state;
    char *log = log_with(LINKS);
    assert_null(strstr(log, WARNING));
    free(log);
}

static void variables_of_other_programs_are_told_in_one_warning(void **state)
{
    static const char *const OTHERS[] = {"BATON_PORT=8080", "BATON_REDIS_USERNAME=baton",
                                         "BATON_REDIS_USER_NAME=baton", NULL};
    (void)state;
    char *log = log_with(OTHERS);
    assert_int_equal(count_of(log, WARNING), 1);
    assert_non_null(strstr(log, "\"level\":\"warn\",\"msg\":\"some variables have no effect"));
    assert_null(strstr(log, "BATON_PORT")); /* --listen is there */
    assert_non_null(strstr(log, "BATON_REDIS_USERNAME, BATON_REDIS_USER_NAME"));
    assert_non_null(strstr(log, "\"set\":\"BATON_REDIS_USER\""));
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(service_called_baton_redis_does_not_stop_the_start),
        cmocka_unit_test(variables_of_other_programs_are_told_in_one_warning),
    };
    return cmocka_run_group_tests_name("variables", tests, NULL, NULL);
}
