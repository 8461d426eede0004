#include "base/decimal.h"

char *decimal_put(char *at, int64_t number)
{
    char digits[DECIMAL_LONGEST];
    unsigned count = 0;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        *at++ = '-';
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

struct slice decimal_text(int64_t number, char text[DECIMAL_TEXT])
{
    char *end = decimal_put(text, number);
    *end = '\0';
    return (struct slice){text, (size_t)(end - text)};
}
