/* Whatever bytes a line is made of, it is one line, and says what it was given. */
#include "server/log/line.h"
#include "tests/support/cmocka.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5000, TEXT_MOST = 400 };

static void end(struct line *line, char text[LINE_LENGTH + 1])
{
    line_end(line);
    assert_in_range(line->length, 1, LINE_LENGTH);
    memcpy(text, line->text, line->length);
    text[line->length] = '\0';
}

/* The caller's to release. */
static json_t *parsed(const struct line *line)
{
    json_error_t error;
    const char *newline = memchr(line->text, '\n', line->length);
    assert_ptr_equal(newline, line->text + line->length - 1);
    json_t *json =
        json_loadb(line->text, line->length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!json)
        fail_msg("%s: %.*s", error.text, (int)line->length, line->text);
    return json;
}

static const struct {
    int64_t number;
    const char *text;
} NUMBERS[] = {{0, "0"},
               {7, "7"},
               {-7, "-7"},
               {10, "10"},
               {1795255595472869, "1795255595472869"},
               {INT64_MAX, "9223372036854775807"},
               {INT64_MIN, "-9223372036854775808"}};

TEST(numbers_are_numbers)
{
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        struct line line;
        char text[LINE_LENGTH + 1], expected[64];
        line_begin(&line, LOG_JSON, "info", "x");
        line_number(&line, "n", NUMBERS[i].number);
        end(&line, text);
        snprintf(expected, sizeof expected, ",\"n\":%s}\n", NUMBERS[i].text);
        assert_non_null(strstr(text, expected));
        line_begin(&line, LOG_TEXT, "info", "x");
        line_number(&line, "n", NUMBERS[i].number);
        end(&line, text);
        snprintf(expected, sizeof expected, " n=%s\n", NUMBERS[i].text);
        assert_non_null(strstr(text, expected));
    }
}

TEST(milliseconds_have_three_places)
{
    static const struct {
        int64_t us;
        const char *text;
    } TIMES[] = {
        {0, "0.000"}, {1, "0.001"}, {999, "0.999"}, {1000, "1.000"}, {12345678, "12345.678"}};
    for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++) {
        struct line line;
        char text[LINE_LENGTH + 1], expected[64];
        line_begin(&line, LOG_JSON, "info", "x");
        line_ms(&line, "ms", TIMES[i].us);
        line_flag(&line, "yes", true);
        line_flag(&line, "no", false);
        end(&line, text);
        snprintf(expected, sizeof expected, ",\"ms\":%s,\"yes\":true,\"no\":false}\n",
                 TIMES[i].text);
        assert_non_null(strstr(text, expected));
    }
}

/* Bytes of all kinds, more often those that a line could stumble over. */
static struct slice make_up(char text[TEXT_MOST], unsigned *seed)
{
    static const char *const PIECES[] = {
        "\"",   "\\",   "\n",      "\r",       "\0x",          "}",
        "{\"",  "=",    " ",       "\xc3\xa9", "\xe2\x80\xa8", "\xc2\x85",
        "\xff", "\xe2", "\x1b[2J", "\x7f",     "plain text "};
    size_t length = 0, most = (size_t)rand_r(seed) % TEXT_MOST;
    while (length < most) {
        const char *piece = PIECES[(size_t)rand_r(seed) % (sizeof PIECES / sizeof *PIECES)];
        size_t more = piece[0] ? strlen(piece) : 1;
        if (rand_r(seed) % 4 == 0 || length + more > most)
            text[length++] = (char)rand_r(seed);
        else
            memcpy(text + length, piece, more), length += more;
    }
    return (struct slice){text, length};
}

/* No pair and no line is made up by what stands in a value. */
TEST(no_byte_makes_another_line_or_pair)
{
    unsigned seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        char texts[3][TEXT_MOST];
        struct line line;
        line_begin(&line, LOG_JSON, "info", "x");
        for (int i = 0; i < 3; i++)
            line_text(&line, (const char *const[]){"a", "b", "c"}[i], make_up(texts[i], &seed));
        line_number(&line, "n", round);
        line_end(&line);
        json_t *json = parsed(&line);
        size_t known = 3;
        static const char *const NAMES[] = {"a", "b", "c", "n"};
        for (size_t i = 0; i < 4; i++)
            known += json_object_get(json, NAMES[i]) != NULL;
        assert_int_equal(json_object_size(json), known);
        json_decref(json);
    }
}

/* As above for logfmt: words, each behind one space, and all else between quotes. */
TEST(no_byte_leaves_its_quotes)
{
    unsigned seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        char text[TEXT_MOST];
        struct line line;
        line_begin(&line, LOG_TEXT, "info", "x");
        line_text(&line, "a", make_up(text, &seed));
        line_number(&line, "n", 1);
        line_end(&line);
        bool quoted = false;
        size_t pairs = 0;
        for (size_t i = 0; i + 1 < line.length; i++) {
            unsigned char c = (unsigned char)line.text[i];
            assert_true(c >= ' ' && c != 0x7f);
            if (quoted && c == '\\')
                i++;
            else if (c == '"')
                quoted = !quoted;
            else if (!quoted)
                pairs += c == '=';
        }
        assert_false(quoted);
        assert_int_equal(pairs, 5); /* time, level, msg, a, n */
        assert_int_equal(line.text[line.length - 1], '\n');
    }
}

/* In JSON it is the same text to who parses it; in a terminal nothing turns or hides. */
TEST(invisible_characters_are_escaped)
{
    static const enum log_format FORMATS[] = {LOG_JSON, LOG_TEXT};
    // NOLINTBEGIN(misc-misleading-bidirectional): that is what this is about
    static const char NAME[] = "pay/\xe2\x80\xae"
                               "a\xe2\x80\xa8"
                               "b\xf3\xa0\x80\x81";
    // NOLINTEND(misc-misleading-bidirectional)
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        struct line line;
        char text[LINE_LENGTH + 1];
        line_begin(&line, FORMATS[i], "info", "x");
        line_text(&line, "lock", slice_of(NAME));
        end(&line, text);
        assert_non_null(strstr(text, "\"pay/\\u202ea\\u2028b\\udb40\\udc01\""));
        if (FORMATS[i] != LOG_JSON)
            continue;
        json_t *json = parsed(&line);
        assert_string_equal(json_string_value(json_object_get(json, "lock")), NAME);
        json_decref(json);
    }
}
