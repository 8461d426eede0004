#include "api/access/new_token.h"

#include "api/principals/principal.h"
#include "base/base64url.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

/* Shows a finder, such as a secret scanner, what the token is. */
#define TOKEN_PREFIX "baton_"

enum { TOKEN_BYTES = 32, TOKEN_TEXT = sizeof TOKEN_PREFIX + BASE64URL_LENGTH(TOKEN_BYTES) };

static void new_token_make(char token[TOKEN_TEXT])
{
    unsigned char bytes[TOKEN_BYTES];
    random_bytes(bytes, sizeof bytes);
    memcpy(token, TOKEN_PREFIX, sizeof TOKEN_PREFIX - 1);
    base64url_encode(bytes, sizeof bytes, token + sizeof TOKEN_PREFIX - 1);
    explicit_bzero(bytes, sizeof bytes);
}

/* The rule allows names below the principal's own, so that an unchanged entry gives few rights. */
static char *new_token_entry(struct slice name, const char *token)
{
    struct digest digest = digest_of(slice_of(token));
    char hex[DIGEST_HEX_LENGTH + 1];
    digest_format(&digest, hex);
    json_t *entry = json_pack(
        "{s:s%, s:s, s:[{s:o, s:[s, s]}]}", "name", name.bytes, name.length, "sha256", hex, "rules",
        "prefix", json_sprintf("%.*s/", (int)name.length, name.bytes), "verbs", "acquire", "read");
    char *text = entry ? json_dumps(entry, 0) : NULL;
    if (!text)
        abort();
    json_decref(entry);
    return text;
}

int new_token_print(FILE *out, struct slice name, struct failure *failure)
{
    char token[TOKEN_TEXT];
    if (name.length == 0 || name.length > PRINCIPAL_NAME_LENGTH || !utf8_is_clean(name))
        return failure_set(failure, -EINVAL,
                           "--new-token: expected a name of 1 to %d bytes of UTF-8 without control "
                           "characters",
                           PRINCIPAL_NAME_LENGTH);
    new_token_make(token);
    char *entry = new_token_entry(name, token);
    int result = fprintf(out, "%s\n%s\n", token, entry) < 0 || fflush(out) != 0
                     ? failure_set(failure, -EIO, "--new-token: cannot print the API key")
                     : 0;
    explicit_bzero(token, sizeof token);
    free(entry);
    return result;
}
