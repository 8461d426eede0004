#include "server/log/log.h"
#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <jansson.h>
#include <regex.h>
#include <string.h>
#include <unistd.h>

/* A log that is read from a pipe. */
struct recorder {
    struct log log;
    int read_fd;
    char text[65536];
};

static void recorder_open(struct recorder *recorder, enum log_format format, enum log_level level)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    recorder->log = (struct log){.fd = fds[1], .format = format, .level = level};
    recorder->read_fd = fds[0];
}

static void recorder_close(struct recorder *recorder)
{
    close(recorder->read_fd);
    close(recorder->log.fd);
}

/* All that was written since the last time. */
static const char *recorded(struct recorder *recorder)
{
    ssize_t length = read(recorder->read_fd, recorder->text, sizeof recorder->text - 1);
    recorder->text[length > 0 ? length : 0] = '\0';
    return recorder->text;
}

/* One line that is one JSON object without duplicates; the caller's to release. */
static json_t *recorded_json(struct recorder *recorder)
{
    const char *line = recorded(recorder);
    size_t length = strlen(line);
    json_error_t error;
    if (length == 0 || strchr(line, '\n') != line + length - 1)
        fail_msg("not one line: %s", line);
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        fail_msg("%s at %d: %s", error.text, error.position, line);
    assert_true(json_is_object(json));
    return json;
}

static const char *member(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

static void assert_matches(const char *text, const char *pattern)
{
    regex_t regex;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&regex, text, 0, NULL, 0) != 0)
        fail_msg("%s does not match %s", text, pattern);
    regfree(&regex);
}

TEST(a_line_has_time_level_message_and_pairs)
{
    struct recorder recorder;
    recorder_open(&recorder, LOG_JSON, LOG_DEBUG);
    log_line(&recorder.log, LOG_INFO, "listening", "url", "http://h:1", "workers", "2", NULL);
    assert_matches(recorded(&recorder),
                   "^\\{\"time\":\"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]"
                   "\\.[0-9]{3}Z\",\"level\":\"info\",\"msg\":\"listening\","
                   "\"url\":\"http://h:1\",\"workers\":\"2\"\\}\n$");
    recorder_close(&recorder);
}

TEST(a_line_may_be_text)
{
    struct recorder recorder;
    recorder_open(&recorder, LOG_TEXT, LOG_DEBUG);
    log_line(&recorder.log, LOG_ERROR, "it \"broke\"", "why", "a\nb\\", NULL);
    assert_matches(recorded(&recorder),
                   "^time=\"[0-9-]+T[0-9:.]+Z\" level=\"error\" msg=\"it \\\\\"broke\\\\\"\" "
                   "why=\"a\\\\u000ab\\\\\\\\\"\n$");
    recorder_close(&recorder);
}

TEST(lines_below_the_level_are_left_out)
{
    static const char *const NAMES[] = {"debug", "info", "warn", "error"};
    for (size_t least = 0; least < LENGTH(NAMES); least++) {
        struct recorder recorder;
        recorder_open(&recorder, LOG_JSON, (enum log_level)least);
        for (size_t level = 0; level < LENGTH(NAMES); level++) {
            log_line(&recorder.log, (enum log_level)level, "x", NULL);
            if (level < least) {
                assert_string_equal(recorded(&recorder), "");
                continue;
            }
            json_t *json = recorded_json(&recorder);
            assert_string_equal(member(json, "level"), NAMES[level]);
            json_decref(json);
        }
        recorder_close(&recorder);
    }
}

TEST(every_character_comes_back_from_the_json)
{
    struct recorder recorder;
    recorder_open(&recorder, LOG_JSON, LOG_INFO);
    for (int c = 1; c < 0x80; c++) {
        const char text[] = {'a', (char)c, 'z', '\0'};
        log_line(&recorder.log, LOG_INFO, text, "pair", text, NULL);
        json_t *json = recorded_json(&recorder);
        assert_string_equal(member(json, "msg"), text);
        assert_string_equal(member(json, "pair"), text);
        json_decref(json);
    }
    recorder_close(&recorder);
}

static const struct shown {
    const char *text;
    const char *shown;
} SHOWN[] = {
    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92"},
    {"a\xff z", "a\xef\xbf\xbd z"},
    {"\xc3", "\xef\xbf\xbd"},
    {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xed\xa0\x80z", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz"},
    {"\xf0\x9f\x94\xc3\xa9", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9"},
};

TEST(bytes_that_are_no_utf8_are_replaced)
{
    struct recorder recorder;
    recorder_open(&recorder, LOG_JSON, LOG_INFO);
    for (size_t i = 0; i < LENGTH(SHOWN); i++) {
        log_line(&recorder.log, LOG_INFO, "x", "text", SHOWN[i].text, NULL);
        json_t *json = recorded_json(&recorder);
        assert_string_equal(member(json, "text"), SHOWN[i].shown);
        json_decref(json);
    }
    recorder_close(&recorder);
}

/* No name was cut: a pair that has no room is left out whole. */
static void assert_whole_names(const json_t *json)
{
    static const char *const NAMES[] = {"time", "level", "msg", "first", "second", "third"};
    size_t present = 0;
    for (size_t i = 0; i < LENGTH(NAMES); i++)
        present += json_object_get(json, NAMES[i]) != NULL;
    assert_int_equal(json_object_size(json), present);
}

/* Texts of all lengths around that of a line, made of what takes one to six bytes there. */
TEST(a_long_line_is_cut_and_stays_json)
{
    static const char *const PIECES[] = {
        "a", "\"", "\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x94\x92", "\xff"};
    struct recorder recorder;
    static char text[4096];
    recorder_open(&recorder, LOG_JSON, LOG_INFO);
    for (size_t i = 0; i < LENGTH(PIECES); i++) {
        size_t piece = strlen(PIECES[i]);
        for (size_t length = 250; length < 2100; length += length < 1900 ? 37 : 1) {
            size_t used = 0;
            for (; used + piece <= length; used += piece)
                memcpy(text + used, PIECES[i], piece);
            text[used] = '\0';
            log_line(&recorder.log, LOG_WARN, "cut", "first", text, "second", text, "third", "3",
                     NULL);
            json_t *json = recorded_json(&recorder);
            assert_string_equal(member(json, "msg"), "cut");
            assert_true(strlen(recorder.text) <= 2048);
            assert_whole_names(json);
            if (PIECES[i][0] != '\xff')
                assert_memory_equal(member(json, "first"), text, strlen(member(json, "first")));
            json_decref(json);
        }
    }
    recorder_close(&recorder);
}

TEST(a_long_message_leaves_a_line_too)
{
    static const enum log_format FORMATS[] = {LOG_JSON, LOG_TEXT};
    static char text[10000];
    memset(text, 'm', sizeof text - 1);
    for (size_t i = 0; i < LENGTH(FORMATS); i++) {
        struct recorder recorder;
        recorder_open(&recorder, FORMATS[i], LOG_INFO);
        log_line(&recorder.log, LOG_WARN, text, "url", "http://h", text, text, NULL);
        const char *line = recorded(&recorder);
        size_t length = strlen(line);
        assert_in_range(length, 2000, 2048);
        assert_string_equal(line + length - 2, FORMATS[i] == LOG_JSON ? "}\n" : "\"\n");
        assert_ptr_equal(strchr(line, '\n'), line + length - 1);
        recorder_close(&recorder);
    }
}

TEST(text_that_fits_is_not_cut)
{
    struct recorder recorder;
    static char text[1901];
    memset(text, 'x', sizeof text - 1);
    recorder_open(&recorder, LOG_JSON, LOG_INFO);
    log_line(&recorder.log, LOG_INFO, "long", "text", text, "last", "1", NULL);
    json_t *json = recorded_json(&recorder);
    assert_string_equal(member(json, "text"), text);
    assert_string_equal(member(json, "last"), "1");
    json_decref(json);
    recorder_close(&recorder);
}
