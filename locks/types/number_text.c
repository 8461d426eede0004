#include "locks/types/number_text.h"

#include "base/decimal.h"

struct slice number_text(int64_t number, char text[NUMBER_TEXT])
{
    char *end = decimal_put(text, number);
    *end = '\0';
    return (struct slice){text, (size_t)(end - text)};
}
