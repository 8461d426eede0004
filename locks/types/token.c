#include "locks/types/token.h"

#include "base/base64url.h"

static bool token_is_character(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

bool token_is_valid(struct slice token)
{
    if (token.length < TOKEN_SHORTEST || token.length > TOKEN_LONGEST)
        return false;
    for (size_t i = 0; i < token.length; i++)
        if (!token_is_character(token.bytes[i]))
            return false;
    return true;
}

void token_make(struct random_pool *randomness, char token[TOKEN_SHORTEST + 1])
{
    unsigned char bytes[16];
    random_pool_take(randomness, bytes, sizeof bytes);
    base64url_encode(bytes, sizeof bytes, token);
}
