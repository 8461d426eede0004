#include "locks/types/name.h"

#include "base/utf8.h"

static bool has_dot_segment(struct slice name)
{
    if (!memchr(name.bytes, '.', name.length))
        return false;
    for (size_t i = 0, begin = 0; i <= name.length; i++) {
        if (i < name.length && name.bytes[i] != '/')
            continue;
        size_t length = i - begin;
        if ((length == 1 || length == 2) && name.bytes[begin] == '.' && name.bytes[i - 1] == '.')
            return true;
        begin = i + 1;
    }
    return false;
}

bool name_is_valid(struct slice name)
{
    return name.length >= 1 && name.length <= NAME_LENGTH && utf8_is_clean(name) &&
           !has_dot_segment(name);
}

bool key_prefix_is_valid(struct slice prefix)
{
    return prefix.length <= KEY_PREFIX_LENGTH && utf8_is_clean(prefix) &&
           !memchr(prefix.bytes, '{', prefix.length) && !memchr(prefix.bytes, '}', prefix.length);
}

/* What a key has in place of the characters that would end its hash tag, and of the escape
 * itself. */
static const struct escape {
    char character;
    const char *text;
} ESCAPES[] = {{'%', "%25"}, {'{', "%7B"}, {'}', "%7D"}};

enum { ESCAPE_COUNT = sizeof ESCAPES / sizeof ESCAPES[0], ESCAPE_LENGTH = 3 };

static const struct escape *name_escape(char character)
{
    for (size_t i = 0; i < ESCAPE_COUNT; i++)
        if (ESCAPES[i].character == character)
            return &ESCAPES[i];
    return NULL;
}

/* PREFIX{NAME without the closing brace. */
static size_t name_open_key(struct slice prefix, struct slice name, char key[KEY_LENGTH])
{
    size_t length = prefix.length;
    memcpy(key, prefix.bytes, prefix.length);
    key[length++] = '{';
    for (size_t i = 0; i < name.length; i++) {
        const struct escape *escape = name_escape(name.bytes[i]);
        if (escape) {
            memcpy(key + length, escape->text, ESCAPE_LENGTH);
            length += ESCAPE_LENGTH;
        } else {
            key[length++] = name.bytes[i];
        }
    }
    return length;
}

size_t name_to_key(struct slice prefix, struct slice name, char key[KEY_LENGTH])
{
    size_t length = name_open_key(prefix, name, key);
    key[length++] = '}';
    return length;
}

static char name_unescape(const char *text)
{
    for (size_t i = 0; i < ESCAPE_COUNT; i++)
        if (memcmp(text, ESCAPES[i].text, ESCAPE_LENGTH) == 0)
            return ESCAPES[i].character;
    return '\0';
}

size_t name_from_key(struct slice prefix, struct slice key, char name[NAME_LENGTH])
{
    if (key.length < prefix.length + 2 || memcmp(key.bytes, prefix.bytes, prefix.length) != 0 ||
        key.bytes[prefix.length] != '{' || key.bytes[key.length - 1] != '}')
        return 0;

    size_t length = 0;
    for (size_t i = prefix.length + 1; i < key.length - 1; i++) {
        char character = key.bytes[i];
        if (character == '{' || character == '}')
            return 0;
        if (character == '%') {
            if (i + ESCAPE_LENGTH > key.length - 1)
                return 0;
            character = name_unescape(key.bytes + i);
            i += ESCAPE_LENGTH - 1;
        }
        if (length == NAME_LENGTH)
            return 0;
        name[length++] = character;
    }
    return name_is_valid((struct slice){name, length}) ? length : 0;
}

size_t name_to_pattern(struct slice prefix, struct slice beginning,
                       char pattern[KEY_PATTERN_LENGTH])
{
    char key[KEY_LENGTH];
    size_t key_length = name_open_key(prefix, beginning, key), length = 0;
    for (size_t i = 0; i < key_length; i++) {
        if (strchr("*?[]^-\\", key[i]))
            pattern[length++] = '\\';
        pattern[length++] = key[i];
    }
    pattern[length++] = '*';
    pattern[length++] = '}';
    return length;
}
