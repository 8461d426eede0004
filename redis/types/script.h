/* script.h: the functions that batond calls in Redis, and the library that they are in. */
#ifndef BATON_REDIS_TYPES_SCRIPT_H
#define BATON_REDIS_TYPES_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/* A library of Redis Functions. Another release has one of another name beside it. */
struct library {
    const char *name; /* "baton_" and 16 digits of a hash of its text */
    const char *text; /* for FUNCTION LOAD */
    size_t length;
    const char *many; /* the function that makes several calls: see locks/scripts/many.lua */
};

struct script {
    const char *name;      /* for messages */
    const char *function;  /* by which FCALL calls it */
    const char *when_full; /* NULL, or the function to call in its place where Redis is full */
    bool is_gathered;      /* it may run with others in one command: see locks/scripts/many.lua */
    const struct library *library;
};

#endif
