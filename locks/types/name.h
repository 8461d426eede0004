/* name.h: which names a lock may have, and the Redis key that each name gets. */
#ifndef BATON_LOCKS_TYPES_NAME_H
#define BATON_LOCKS_TYPES_NAME_H

#include "base/slice.h"

enum {
    NAME_LENGTH = 255,      /* bytes, at most */
    KEY_PREFIX_LENGTH = 64, /* bytes, at most */
    KEY_LENGTH = KEY_PREFIX_LENGTH + 3 * NAME_LENGTH + 2,
};

/* 1 to 255 bytes of valid UTF-8 without control characters. No part between slashes is "." or "..":
 * many clients and proxies remove these from a path, in any encoding. */
bool name_is_valid(struct slice name);

/* At most 64 bytes of clean text without braces: the first brace of a key begins its hash tag. */
bool key_prefix_is_valid(struct slice prefix);

/* Writes PREFIX{NAME}, with %, { and } of the name written as %25, %7B and %7D, so that the whole
 * name is the hash tag. Returns the key's length; the key is not NUL-terminated. */
size_t name_to_key(struct slice prefix, struct slice name, char key[KEY_LENGTH]);

/* The reverse. Returns the name's length, or 0 if name_to_key does not write this key. */
size_t name_from_key(struct slice prefix, struct slice key, char name[NAME_LENGTH]);

/* Writes a pattern of Redis (SCAN's MATCH) for the main keys of all names that begin with
 * `beginning`; not NUL-terminated. Returns its length. */
enum { KEY_PATTERN_LENGTH = 2 * KEY_LENGTH };
size_t name_to_pattern(struct slice prefix, struct slice beginning,
                       char pattern[KEY_PATTERN_LENGTH]);

#endif
