#include "api/http/text_line.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char *text_line(const char *format, ...)
{
    char *written;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&written, format, arguments);
    va_end(arguments);
    if (length < 0)
        abort();
    size_t size = (size_t)length * (UTF8_SHOWN_LONGEST / 2) + 2; /* \u0007 is one byte */
    char *line = memory_checked(malloc(size));
    utf8_show_all((struct slice){written, (size_t)length}, line, size - 1);
    free(written);
    return strcat(line, "\n");
}
