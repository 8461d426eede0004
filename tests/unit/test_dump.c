#include "api/http/dump.h"
#include "tests/support/cmocka.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What it takes the place of. */
static void is_as_jansson_has_it(json_t *document)
{
    assert_non_null(document);
    char *expected = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY);
    char *line = dump_line(document);
    size_t length = strlen(expected);
    if (strlen(line) != length + 1 || memcmp(line, expected, length) != 0 || line[length] != '\n')
        fail_msg("%s\nis written as\n%s", expected, line);
    free(expected);
    free(line);
}

TEST(every_kind_of_value_is_written)
{
    static const char *const DOCUMENTS[] = {
        "{}",
        "[]",
        "[[],{},[[]],{\"\":{}}]",
        "{\"a\":1,\"b\":[1,-2,0,9007199254740993,-9223372036854775808],\"c\":{\"d\":null}}",
        "[true,false,null,\"\",\"text\",1.5,-0.0,1e300,3.0,1e-7]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u00e9\\u20ac\\ud83d\\ude00\"]",
        "{\"k\\n\\\"\":\"\\u0000 behind a NUL\"}",
    };
    for (size_t i = 0; i < sizeof DOCUMENTS / sizeof DOCUMENTS[0]; i++)
        is_as_jansson_has_it(json_loads(DOCUMENTS[i], JSON_ALLOW_NUL, NULL));
}

TEST(every_character_is_written)
{
    char text[0x80];
    for (int c = 0; c < 0x80; c++) {
        text[0] = (char)c;
        is_as_jansson_has_it(json_stringn(text, 1));
    }
    for (int c = 0; c < 0x80; c++)
        text[c] = (char)c;
    is_as_jansson_has_it(json_stringn(text, sizeof text));
}

TEST(verbatim_text_stays_as_it_is)
{
    static const char META[] = "{\"a\":[0.1,1e3,-0.0],\"b\":\"\\u0041\\/\"}";
    static const char *const REFUSED[] = {"", "[]", "7", "{", "{}}", "{\n}", "{\"a\":\"\t\"}"};
    json_t *document = json_pack("{s:o, s:i}", "meta", dump_verbatim(slice_of(META)), "n", 1);
    char *line = dump_line(document), expected[128];
    snprintf(expected, sizeof expected, "{\"meta\":%s,\"n\":1}\n", META);
    assert_string_equal(line, expected);
    free(line);
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        assert_null(dump_verbatim(slice_of(REFUSED[i])));
    assert_null(dump_verbatim((struct slice){"{}\0", 3}));
}

/* Each is behind a text that leaves it less room than it may take, so that the text is moved. */
TEST(a_number_has_room_wherever_it_stands)
{
    for (size_t length = 0; length < 1100; length++) {
        char *text = malloc(length + 1);
        memset(text, 'x', length);
        is_as_jansson_has_it(json_pack("[s#, I, f, I]", text, (int)length, (json_int_t)INT64_MIN,
                                       -1.2345678901234567e-300, (json_int_t)INT64_MAX));
        free(text);
    }
}

TEST(long_text_has_room)
{
    for (size_t length = 0; length < 5000; length = length * 5 / 4 + 1) {
        char *text = malloc(length + 1);
        memset(text, length % 2 ? '"' : 'x', length);
        json_t *array = json_array();
        for (int i = 0; i < 5; i++)
            json_array_append_new(array, json_stringn(text, length));
        is_as_jansson_has_it(array);
        free(text);
    }
}

/* Whatever the fuzzer has found worth to keep. */
TEST(all_bodies_of_the_corpus_are_written)
{
    static const char CORPUS[] = "tests/fuzz/corpus/body";
    size_t documents = 0;
    DIR *folder = opendir(CORPUS);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[1024], text[32768];
        snprintf(path, sizeof path, "%s/%s", CORPUS, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        size_t length = file ? fread(text, 1, sizeof text, file) : 0;
        for (const char *at = memchr(text, '{', length); at && at < text + length; at = NULL) {
            json_t *document = json_loadb(at, (size_t)(text + length - at),
                                          JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL);
            if (!document)
                continue;
            is_as_jansson_has_it(document);
            documents++;
        }
        if (file)
            fclose(file);
    }
    closedir(folder);
    assert_true(documents > 10);
}
