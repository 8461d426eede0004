/* script.h: the functions that batond calls in Redis, and the library that they are in. */
#ifndef BATON_REDIS_TYPES_SCRIPT_H
#define BATON_REDIS_TYPES_SCRIPT_H

#include <stddef.h>

/* A library of Redis Functions. Another release has one of another name beside it. */
struct library {
    const char *name; /* "baton_" and 16 digits of a hash of its text */
    const char *text; /* for FUNCTION LOAD */
    size_t length;
};

struct script {
    const char *name;      /* for messages */
    const char *function;  /* by which FCALL calls it */
    const char *when_full; /* NULL, or the function to call in its place where Redis is full */
    const struct library *library;
};

#endif
