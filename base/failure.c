#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

int failure_set(struct failure *failure, int code, const char *format, ...)
{
    if (failure) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(failure->text, sizeof failure->text, format, arguments);
        va_end(arguments);
    }
    return code;
}
