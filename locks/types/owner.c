#include "locks/types/owner.h"

#include "base/utf8.h"

static const char SEPARATOR = '\x1f'; /* is also in no clean text */

struct slice owner_compose(struct slice realm, struct slice name, char *text)
{
    size_t length = realm.length;
    if (length > 0) {
        memcpy(text, realm.bytes, length);
        text[length++] = SEPARATOR;
    }
    memcpy(text + length, name.bytes, name.length);
    return (struct slice){text, length + name.length};
}

void owner_keep(struct slice *owner, char copy[OWNER_LENGTH])
{
    if (owner->length > 0)
        memcpy(copy, owner->bytes, owner->length);
    owner->bytes = copy;
}

/* The text without OWNER_MADE. */
static struct slice owner_unmarked(struct slice text)
{
    bool is_made = text.length > 0 && text.bytes[0] == OWNER_MADE;
    return is_made ? (struct slice){text.bytes + 1, text.length - 1} : text;
}

void owner_split(struct slice text, struct slice *ret_realm, struct slice *ret_name)
{
    text = owner_unmarked(text);
    const char *separator = text.length > 0 ? memchr(text.bytes, SEPARATOR, text.length) : NULL;
    size_t length = separator ? (size_t)(separator - text.bytes) : 0;
    size_t start = separator ? length + 1 : 0;
    *ret_realm = (struct slice){text.bytes, length};
    *ret_name = (struct slice){text.bytes + start, text.length - start};
}

static bool owner_is_clean(struct slice text, size_t shortest, size_t longest)
{
    return text.length >= shortest && text.length <= longest && utf8_is_clean(text);
}

bool owner_is_valid(struct slice text)
{
    struct slice realm, name;
    owner_split(text, &realm, &name);
    bool has_a_realm = owner_unmarked(text).length > name.length;
    return owner_is_clean(realm, has_a_realm, OWNER_REALM_LENGTH) &&
           owner_is_clean(name, 1, OWNER_NAME_LENGTH);
}
