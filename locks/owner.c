#include "locks/owner.h"

#include "base/utf8.h"

static const char SEPARATOR = '\x1f'; /* is in no clean text */

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

bool owner_split(struct slice text, struct slice *ret_realm, struct slice *ret_name)
{
    const char *separator = text.length > 0 ? memchr(text.bytes, SEPARATOR, text.length) : NULL;
    struct slice realm = {"", 0}, name = text;
    if (separator) {
        realm = (struct slice){text.bytes, (size_t)(separator - text.bytes)};
        name = (struct slice){separator + 1, text.length - realm.length - 1};
    }
    if ((separator && realm.length == 0) || realm.length > OWNER_REALM_LENGTH || name.length == 0 ||
        name.length > OWNER_NAME_LENGTH || !utf8_is_clean(realm) || !utf8_is_clean(name))
        return false;
    *ret_realm = realm;
    *ret_name = name;
    return true;
}
