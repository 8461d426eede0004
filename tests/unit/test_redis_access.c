#include "redis/address/access.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <string.h>

/* Takes the failure's text, "" where there is none. */
static int add(const char *text, const struct redis_access *access, struct redis_url *url,
               struct failure *failure)
{
    failure->text[0] = '\0';
    assert_int_equal(redis_url_parse(text, url, failure), 0);
    return redis_access_add(url, access, failure);
}

TEST(settings_complete_the_url)
{
    const struct redis_access access = {.user = "baton", .password = "opensesame"};
    struct redis_url url, copy;
    struct failure failure;
    assert_int_equal(add("redis://h:1/2", &access, &url, &failure), 0);
    assert_string_equal(url.user, "baton");
    assert_string_equal(url.password, "opensesame");
    assert_string_equal(url.host, "h");
    assert_null(url.ca);
    redis_url_copy(&url, &copy);
    redis_url_free(&url);
    assert_string_equal(copy.user, "baton");
    assert_string_equal(copy.password, "opensesame");
    assert_int_equal(copy.database, 2);
    redis_url_free(&copy);

    const struct redis_access password = {.password = "p@w"};
    assert_int_equal(add("unix:///r", &password, &url, &failure), 0);
    assert_null(url.user);
    assert_string_equal(url.password, "p@w"); /* as it is: nothing to encode */
    redis_url_free(&url);
}

TEST(files_for_tls_are_kept)
{
    const struct redis_access access = {
        .ca = "/ca", .certificate = "/cert", .key = "/key", .server_name = "name"};
    struct redis_url url, copy;
    struct failure failure;
    assert_int_equal(add("rediss://:pw@h", &access, &url, &failure), 0);
    redis_url_copy(&url, &copy);
    redis_url_free(&url);
    assert_string_equal(copy.ca, "/ca");
    assert_string_equal(copy.certificate, "/cert");
    assert_string_equal(copy.key, "/key");
    assert_string_equal(copy.server_name, "name");
    assert_string_equal(copy.password, "pw");
    redis_url_free(&copy);
}

static const struct wrong {
    const char *url;
    struct redis_access access;
    const char *said;
} WRONG[] = {
    {"redis://me:secret@h", {.user = "me"}, "--redis-user is given, and redis-url has it, too"},
    {"redis://me:secret@h", {.password = "secret"}, "--redis-password is given, and redis-url"},
    {"unix://:secret@/r", {.password = "secret"}, "--redis-password is given, and redis-url"},
    {"redis://h", {.user = "me"}, "--redis-user needs --redis-password"},
    {"redis://h", {.user = "", .password = "secret"}, "--redis-user is empty"},
    {"redis://h", {.password = ""}, "--redis-password is empty"},
    {"redis://h", {.ca = "/ca"}, "--redis-ca is for TLS"},
    {"unix:///r", {.ca = "/ca"}, "--redis-ca is for TLS"},
    {"redis://h", {.sentinel_password = "secret"}, "--redis-sentinel-password is for sentinels"},
    {"redis+sentinel://h/m",
     {.sentinel_user = "me"},
     "--redis-sentinel-user needs --redis-sentinel-password"},
    {"redis://h", {.certificate = "/c", .key = "/k"}, "--redis-cert is for TLS"},
    {"redis://h", {.key = "/k"}, "--redis-key is for TLS"},
    {"redis://h", {.server_name = "n"}, "--redis-server-name is for TLS"},
    {"rediss://h", {.certificate = "/c"}, "--redis-cert and --redis-key need each other"},
    {"rediss://h", {.key = "/k"}, "--redis-cert and --redis-key need each other"},
    {"rediss://h", {.ca = ""}, "--redis-ca is empty"},
};

TEST(contradictory_settings_are_refused)
{
    for (size_t i = 0; i < LENGTH(WRONG); i++) {
        struct redis_url url;
        struct failure failure;
        assert_int_equal(add(WRONG[i].url, &WRONG[i].access, &url, &failure), -EINVAL);
        if (!strstr(failure.text, WRONG[i].said))
            fail_msg("`%s` does not say `%s`", failure.text, WRONG[i].said);
        assert_null(strstr(failure.text, "secret"));
        redis_url_free(&url);
    }
}

TEST(a_redis_of_our_own_takes_none)
{
    struct failure failure = {""};
    assert_int_equal(redis_access_expect_none(&(struct redis_access){0}, &failure), 0);
    assert_int_equal(
        redis_access_expect_none(&(struct redis_access){.password = "secret"}, &failure), -EINVAL);
    assert_non_null(strstr(failure.text, "--redis-password is for a Redis that --redis-url names"));
    assert_null(strstr(failure.text, "secret"));
}
