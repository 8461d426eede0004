/* script.h: a Lua script as Redis knows it: its text, and the SHA-1 by which EVALSHA calls it. */
#ifndef BATON_REDIS_TYPES_SCRIPT_H
#define BATON_REDIS_TYPES_SCRIPT_H

#include <stddef.h>

struct script {
    const char *name; /* the file's name without .lua, for messages */
    const char *text;
    size_t length;
    const char *sha1; /* 40 lower-case hexadecimal digits, computed by the build */
};

#endif
