/* Variables of batond's prefix that are no settings: those of neighbours called baton-something,
 * and names that other programs have for batond's settings. */
#include "server/settings/service_links.h"
#include "server/settings/settings.h"
#include "server/settings/sources.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define URL "BATON_REDIS_URL=redis://[USER:PASSWORD@]HOST:PORT"

static int clean_environment(void **state)
{
    (void)state;
    clearenv();
    return setenv("HOME", "/home/me", 1);
}

struct variable {
    const char *name;
    const char *value;
};

static int read_settings(struct settings *ret, struct failure *failure)
{
    char program[] = "batond", *arguments[] = {program, NULL};
    return settings_read(ret, 1, arguments, failure);
}

/* What kubelet sets for Services called baton, baton-redis, baton-listen and baton-max, and docker
 * for containers linked as baton-redis and baton-redis-server. The last is the name of a setting.
 */
static const struct variable LINKS[] = {
    {"BATON_SERVICE_HOST", "10.96.0.7"},
    {"BATON_PORT", "tcp://10.96.0.7:7420"},
    {"BATON_REDIS_SERVICE_HOST", "10.96.0.8"},
    {"BATON_REDIS_SERVICE_PORT", "6379"},
    {"BATON_REDIS_SERVICE_PORT_REDIS", "6379"},
    {"BATON_REDIS_SERVICE_PORT_HTTP_METRICS", "9121"},
    {"BATON_REDIS_PORT", "tcp://10.96.0.8:6379"},
    {"BATON_REDIS_PORT_6379_TCP", "tcp://10.96.0.8:6379"},
    {"BATON_REDIS_PORT_6379_TCP_PROTO", "tcp"},
    {"BATON_REDIS_PORT_6379_TCP_PORT", "6379"},
    {"BATON_REDIS_PORT_6379_TCP_ADDR", "10.96.0.8"},
    {"BATON_REDIS_PORT_53_UDP", "udp://[fd00::8]:53"},
    {"BATON_REDIS_PORT_53_UDP_ADDR", "fd00::8"},
    {"BATON_REDIS_PORT_9_SCTP", "sctp://10.96.0.8:9"},
    {"BATON_REDIS_PORT_6379_TCP_START", "tcp://172.17.0.2:6379"},
    {"BATON_REDIS_PORT_6379_TCP_END", "tcp://172.17.0.2:6380"},
    {"BATON_REDIS_PORT_6379_TCP_PORT_START", "6379"},
    {"BATON_REDIS_PORT_6379_TCP_PORT_END", "6380"},
    {"BATON_REDIS_NAME", "/batond/baton-redis"},
    {"BATON_REDIS_ENV_REDIS_VERSION", "7.0.15"},
    {"BATON_LISTEN_PORT", "tcp://10.96.0.9:80"},
    {"BATON_LISTEN_SERVICE_HOST", "10.96.0.9"},
    {"BATON_MAX_PORT", "tcp://10.96.0.10:80"},
    {"BATON_REDIS_SERVER_NAME", "/batond/redis-server"},
    {"BATON_REDIS_URL_PORT", "tcp://10.96.0.8:6379"},
};

TEST_WITH(service_link_is_no_setting, clean_environment, NULL)
{
    for (size_t i = 0; i < LENGTH(LINKS); i++) {
        struct settings settings;
        struct failure failure = {""};
        struct overlooked overlooked;
        setenv(LINKS[i].name, LINKS[i].value, 1);
        if (!service_links_have(LINKS[i].name, LINKS[i].value))
            fail_msg("%s=%s is no link", LINKS[i].name, LINKS[i].value);
        if (read_settings(&settings, &failure) != 0)
            fail_msg("%s", failure.text);
        assert_null(settings.redis_server_name);
        assert_false(sources_overlooked(&settings, &overlooked));
        settings_free(&settings);
        unsetenv(LINKS[i].name);
    }
}

TEST_WITH(value_of_another_form_is_no_service_link, clean_environment, NULL)
{
    static const struct variable OTHERS[] = {
        {"BATON_REDIS_PORT", "6379"},
        {"BATON_REDIS_PORT", ""},
        {"BATON_REDIS_SERVICE_HOST", "redis.example.com"},
        {"BATON_REDIS_SERVICE_PORT", "tcp"},
        {"BATON_REDIS_PORT_6379_TCP_PROTO", "6379"},
        {"BATON_REDIS_PORT_6379_TCP_START", "6379"},
        {"BATON_REDIS_SERVER_NAME", "redis.example.com"},
        {"BATON_REDIS_NAME", "/redis"},
        {"BATON_REDIS_URL", "redis://10.96.0.8:6379"},
        {"BATON_LISTEN", "tcp://10.96.0.8:6379"},
    };
    for (size_t i = 0; i < LENGTH(OTHERS); i++)
        if (service_links_have(OTHERS[i].name, OTHERS[i].value))
            fail_msg("%s=%s is taken for a link", OTHERS[i].name, OTHERS[i].value);
}

TEST_WITH(setting_keeps_its_name_beside_links, clean_environment, NULL)
{
    struct settings settings;
    struct failure failure = {""};
    setenv("BATON_REDIS_SERVER_NAME", "redis.example.com", 1);
    assert_int_equal(read_settings(&settings, &failure), 0);
    assert_string_equal(settings.redis_server_name, "redis.example.com");
    settings_free(&settings);
}

TEST_WITH(misspelled_setting_stops_the_start_beside_links, clean_environment, NULL)
{
    static const char *const WRONG[] = {"BATON_REDIS_ULR", "BATON_REDIS_PORT", "BATON_LISTN",
                                        "BATON_REDIS_SERVER_NAM"};
    struct settings settings;
    setenv("BATON_REDIS_SERVICE_HOST", "10.96.0.8", 1);
    for (size_t i = 0; i < LENGTH(WRONG); i++) {
        struct failure failure = {""};
        setenv(WRONG[i], "6379", 1);
        assert_int_equal(read_settings(&settings, &failure), -EINVAL);
        assert_non_null(strstr(failure.text, WRONG[i]));
        assert_non_null(strstr(failure.text, " is not a setting; "));
        unsetenv(WRONG[i]);
    }
}

static void overlook(const struct variable *variables, size_t count, struct overlooked *ret)
{
    struct settings settings;
    struct failure failure = {""};
    for (size_t i = 0; i < count; i++)
        setenv(variables[i].name, variables[i].value, 1);
    if (read_settings(&settings, &failure) != 0)
        fail_msg("%s", failure.text);
    bool found = sources_overlooked(&settings, ret);
    assert_int_equal(found, ret->variables[0] != '\0');
    settings_free(&settings);
    for (size_t i = 0; i < count; i++)
        unsetenv(variables[i].name);
}

TEST_WITH(names_of_other_programs_are_reported_with_what_to_set, clean_environment, NULL)
{
    static const struct variable ALL[] = {{"BATON_REDIS_HOST", "redis"},
                                          {"BATON_REDIS", "redis:6379"},
                                          {"BATON_REDIS_USERNAME", "baton"},
                                          {"BATON_PORT", "8080"},
                                          {"BATON_HOST", "0.0.0.0"}};
    struct overlooked overlooked;
    overlook(ALL, LENGTH(ALL), &overlooked);
    assert_string_equal(overlooked.variables,
                        "BATON_REDIS_HOST, BATON_REDIS, BATON_REDIS_USERNAME, BATON_PORT, "
                        "BATON_HOST");
    assert_string_equal(overlooked.settings, URL " and BATON_LISTEN=ADDRESS:PORT");
    overlook(&ALL[3], 1, &overlooked);
    assert_string_equal(overlooked.variables, "BATON_PORT");
    assert_string_equal(overlooked.settings, "BATON_LISTEN=ADDRESS:PORT");
}

TEST_WITH(user_alone_is_advised_whole_url, clean_environment, NULL)
{
    static const struct variable ALL[] = {{"BATON_REDIS_USERNAME", "baton"},
                                          {"BATON_REDIS_URL", "redis://redis"}};
    struct overlooked overlooked;
    overlook(ALL, 1, &overlooked);
    assert_string_equal(overlooked.settings, URL);
    overlook(ALL, 2, &overlooked);
    assert_string_equal(overlooked.settings, "BATON_REDIS_USER");
}

/* They may be there to put the setting together. */
TEST_WITH(names_of_other_programs_are_passed_over_beside_the_setting, clean_environment, NULL)
{
    static const struct variable ALL[] = {{"BATON_REDIS_HOST", "redis"},
                                          {"BATON_REDIS_USERNAME", "baton"},
                                          {"BATON_REDIS_URL", "redis://baton@redis"},
                                          {"BATON_HOST", "127.0.0.1"},
                                          {"BATON_PORT", "7420"},
                                          {"BATON_LISTEN", "127.0.0.1:7420"}};
    struct overlooked overlooked;
    overlook(ALL, LENGTH(ALL), &overlooked);
    assert_string_equal(overlooked.variables, "");
}

TEST_WITH(long_names_are_no_harm, clean_environment, NULL)
{
    static const struct variable ALL[] = {
        {"BATON_REDIS_OF_A_SERVICE_WITH_A_NAME_AS_LONG_AS_KUBERNETES_ALLOWS_ITS_NAMES_TO_BE_PORT",
         "tcp://10.96.0.8:6379"},
        {"BATON_REDIS_AND_SO_ON_1_WITH_A_NAME_THAT_NOBODY_WANTS_TO_READ_TO_ITS_END", "x"},
        {"BATON_REDIS_AND_SO_ON_2_WITH_A_NAME_THAT_NOBODY_WANTS_TO_READ_TO_ITS_END", "x"},
        {"BATON_REDIS_AND_SO_ON_3_WITH_A_NAME_THAT_NOBODY_WANTS_TO_READ_TO_ITS_END", "x"},
        {"BATON_REDIS_AND_SO_ON_4_WITH_A_NAME_THAT_NOBODY_WANTS_TO_READ_TO_ITS_END", "x"},
        {"BATON_REDIS_AND_SO_ON_5_WITH_A_NAME_THAT_NOBODY_WANTS_TO_READ_TO_ITS_END", "x"},
    };
    struct overlooked overlooked;
    overlook(ALL, LENGTH(ALL), &overlooked);
    assert_true(strlen(overlooked.variables) < sizeof overlooked.variables);
    assert_null(strstr(overlooked.variables, "KUBERNETES"));
}
