#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

/* Quotes from a file or from Redis may hold line feeds, or control a terminal. */
static void failure_make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7F)
            *text = ' ';
}

int failure_set(struct failure *failure, int code, const char *format, ...)
{
    if (failure) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(failure->text, sizeof failure->text, format, arguments);
        va_end(arguments);
        failure_make_one_line(failure->text);
    }
    return code;
}
