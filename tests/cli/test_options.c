/* What baton takes on its command line, and what it says of the rest. */
#include "cli/options.h"
#include "cli/status.h"
#include "cli/token.h"
#include "tests/support/cmocka.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS = 8 };

static int read_them(struct options *options, unsigned command, const char *const *arguments,
                     struct failure *failure)
{
    static char texts[ARGUMENTS][64];
    static char *argv[ARGUMENTS + 1]; /* the options point into it */
    int argc = 0;
    for (; argc < ARGUMENTS && arguments[argc]; argc++) {
        snprintf(texts[argc], sizeof texts[argc], "%s", arguments[argc]);
        argv[argc] = texts[argc];
    }
    argv[argc] = NULL;
    return options_read(options, command, argc, argv, failure);
}

TEST(options_have_defaults)
{
    static const char *const ARGV[] = {"acquire", "a", NULL};
    struct options options;
    assert_int_equal(read_them(&options, FOR_ACQUIRE, ARGV, NULL), 0);
    assert_int_equal(options.wait_ms, OPTIONS_WAIT_FOREVER);
    assert_int_equal(options.connect_timeout_ms, 10000);
    assert_int_equal(options.patience_ms, 60000);
    assert_int_equal(options.refused_status, STATUS_REFUSED);
    assert_int_equal(options.name_count, 1);
    options_free(&options);
}

TEST(options_are_read_before_and_behind_names)
{
    static const char *const ARGV[] = {"acquire",  "-w",         "5m",   "a",
                                       "--ttl=9s", "--meta=k=v", "-sE4", NULL};
    struct options options;
    assert_int_equal(read_them(&options, FOR_ACQUIRE, ARGV, NULL), 0);
    assert_int_equal(options.wait_ms, 300000);
    assert_int_equal(options.ttl_ms, 9000);
    assert_true(options.shared);
    assert_int_equal(options.refused_status, 4);
    assert_string_equal(json_string_value(json_object_get(options.meta, "k")), "v");
    assert_int_equal(options.name_count, 1);
    options_free(&options);
}

TEST(durations_may_have_a_fraction)
{
    static const struct {
        const char *argument;
        int64_t ms;
    } READ[] = {{"-w0.5", 500},
                {"-w.5", 500},
                {"-w1.5m", 90000},
                {"-w0.57", 570},
                {"-w0.0001", 1},
                {"-w2.5ms", 3},
                {"-w8766h", INT64_C(31557600000)},
                {"--wait=1.001s", 1001}};
    for (size_t i = 0; i < LENGTH(READ); i++) {
        const char *const argv[] = {"acquire", READ[i].argument, NULL};
        struct options options;
        assert_int_equal(read_them(&options, FOR_ACQUIRE, argv, NULL), 0);
        assert_int_equal(options.wait_ms, READ[i].ms);
        options_free(&options);
    }
}

TEST(arguments_behind_two_dashes_are_names_or_the_command)
{
    static const char *const ARGV[] = {"run", "a", "-qn", "-", "--", "-b", "--ttl", NULL};
    struct options options;
    assert_int_equal(read_them(&options, FOR_ACQUIRE, ARGV, NULL), 0);
    assert_int_equal(options.name_count, 4);
    assert_string_equal(options.names[1], "-");
    assert_string_equal(options.names[2], "-b");
    assert_true(options.quiet && options.wait_ms == 0);
    options_free(&options);
    assert_int_equal(read_them(&options, FOR_RUN, ARGV, NULL), 0);
    assert_int_equal(options.name_count, 2);
    assert_string_equal(options.command[1], "--ttl");
    options_free(&options);
}

TEST(wrong_option_is_refused_with_what_is_expected)
{
    static const struct {
        const char *argument, *said;
    } WRONG[] = {
        {"--colour", "\"--colour\" is not an option of baton acquire"},
        {"--token=secret", "\"--token\" is not an option"},
        {"-z", "\"-z\" is not an option"},
        {"-qz", "\"-z\" is not an option"},
        {"--quiet=yes", "--quiet takes no value"},
        {"--reason=x", "\"--reason\" is not an option of baton acquire"},
        {"--ttl", "--ttl needs a value: --ttl=DURATION"},
        {"-w", "--wait needs a value: --wait=DURATION"},
        {"--wait=soon", "\"soon\" is not valid. Give a duration from 0s"},
        {"--connect-timeout=1.5.0s", "\"1.5.0s\" is not valid"},
        {"--wait=0x1", "\"0x1\" is not valid"},
        {"--wait=1e3", "\"1e3\" is not valid"},
        {"--wait=.", "\".\" is not valid"},
        {"--wait=1000000h", "to 8766h"},
        {"--limit=0", "Give a whole number from 1"},
        {"--limit=3x", "\"3x\" is not valid"},
        {"-E256", "from 0 to 255"},
        {"--connect-timeout=0", "Give a duration from 1ms to 1h"},
        {"--meta=x", "Write KEY=VALUE"},
        {"--meta==x", "Write KEY=VALUE"},
        {"--meta=x=\xff", "is not UTF-8"},
        {"--owner=\xff", "is not UTF-8"},
    };
    for (size_t i = 0; i < LENGTH(WRONG); i++) {
        const char *const argv[] = {"acquire", WRONG[i].argument, NULL};
        struct options options;
        struct failure failure = {0};
        assert_int_equal(read_them(&options, FOR_ACQUIRE, argv, &failure), -EINVAL);
        if (!strstr(failure.text, WRONG[i].said))
            fail_msg("%s: %s", WRONG[i].argument, failure.text);
        assert_null(strstr(failure.text, "secret"));
        options_free(&options);
    }
}

TEST(text_that_is_no_token_is_refused)
{
    static const char *const BAD[] = {"", "\n", "two words\n", "tab\there", "caf\xc3\xa9"};
    struct temp_dir dir;
    struct failure failure;
    char path[120], token[TOKEN_SIZE], longest[200];
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/token", dir.path);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i <= LENGTH(BAD); i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(i < LENGTH(BAD) ? BAD[i] : longest, file);
        fclose(file);
        assert_int_equal(token_read(path, token, &failure), -EINVAL);
        assert_non_null(strstr(failure.text, "has no token"));
    }
    temp_dir_remove(&dir);
}
