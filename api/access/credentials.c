#include "api/access/credentials.h"

#include "api/http/context.h"
#include "api/http/problem.h"
#include "api/http/route.h"
#include "api/principals/principals.h"
#include "base/base64url.h"

#include <strings.h>

enum {
    PASSWORD_LONGEST = PRINCIPAL_NAME_LENGTH + 1 + CREDENTIALS_TOKEN_LONGEST,
    BASIC_LONGEST = (PASSWORD_LONGEST + 2) / 3 * 4,
};

/* Returns the text after the scheme, without spaces around it; absent for another scheme. */
static struct slice credentials_after_scheme(const char *authorization, const char *scheme)
{
    size_t length = strlen(scheme);
    if (strncasecmp(authorization, scheme, length) != 0 || authorization[length] != ' ')
        return slice_of(NULL);
    const char *rest = authorization + length + strspn(authorization + length, " ");
    struct slice credentials = slice_of(rest);
    while (credentials.length > 0 && rest[credentials.length - 1] == ' ')
        credentials.length--;
    return credentials;
}

static struct principal *credentials_find_token(const struct exchange *exchange, struct slice token)
{
    if (token.length < CREDENTIALS_TOKEN_SHORTEST || token.length > CREDENTIALS_TOKEN_LONGEST)
        return NULL;
    return principals_by_token(exchange->api->principals, token);
}

static bool is_name_of(const struct principal *principal, struct slice name)
{
    return slice_same(principal->name, name);
}

/* Basic: the token is the password. The user may be empty. A name that is not the token's is
 * refused, since proxies would log it as the caller. */
static struct principal *credentials_find_password(const struct exchange *exchange,
                                                   struct slice encoded)
{
    char decoded[BASIC_LONGEST];
    struct slice text = {decoded, 0};
    if (encoded.length > BASIC_LONGEST || base64_decode(encoded, decoded, &text.length) < 0)
        text.length = 0;
    /* A token has no colon; a name in a certificate may have one. */
    const char *colon = text.length > 0 ? memrchr(text.bytes, ':', text.length) : NULL;
    struct principal *found = NULL;
    if (colon) {
        struct slice user = {text.bytes, (size_t)(colon - text.bytes)};
        struct slice token = {colon + 1, text.length - user.length - 1};
        found = credentials_find_token(exchange, token);
        if (found && user.length > 0 && !is_name_of(found, user))
            found = NULL;
    }
    explicit_bzero(decoded, sizeof decoded);
    return found;
}

/* Returns the principal of this header, or NULL with the reason in *ret_why. */
static struct principal *credentials_find_authorized(const struct exchange *exchange,
                                                     const char **ret_why)
{
    struct slice bearer = credentials_after_scheme(exchange->head.authorization, "Bearer");
    struct slice basic = credentials_after_scheme(exchange->head.authorization, "Basic");
    if (exchange->head.authorization_repeated) {
        *ret_why = "The request has several Authorization fields. Send one.";
        return NULL;
    }
    if (!bearer.bytes && !basic.bytes) {
        *ret_why = "Send Authorization: Bearer KEY, or Basic with the API key as the password.";
        return NULL;
    }
    *ret_why =
        "This API key is unknown: it may have been replaced, or cut when it was copied. With "
        "Basic, send an empty user or the name that belongs to the key.";
    return bearer.bytes ? credentials_find_token(exchange, bearer)
                        : credentials_find_password(exchange, basic);
}

static struct principal *credentials_find(const struct exchange *exchange, const char **ret_why)
{
    struct principals *principals = exchange->api->principals;
    *ret_why = "Send an API key: Authorization: Bearer KEY, or Basic with the key as the password.";
    if (exchange->api->asks_certificates && !exchange->head.certificate) {
        *ret_why =
            "Connect with a client certificate that the authority in tls-client-ca has issued.";
        return NULL;
    }
    if (principals_everybody(principals))
        return principals_everybody(principals);
    if (exchange->head.authorization && !exchange->api->asks_certificates)
        return credentials_find_authorized(exchange, ret_why);
    if (!exchange->head.certificate)
        return NULL;
    *ret_why =
        "The client certificate names no known caller, or it has no common name, several, "
        "or one of more than 64 bytes. Use a certificate whose common name is in the tokens-file.";
    return principals_by_name(principals, slice_of(exchange->head.certificate));
}

bool credentials_check(struct exchange *exchange)
{
    const char *why;
    if (exchange->route->needs == VERB_NONE)
        return true;
    struct principal *found = credentials_find(exchange, &why);
    if (found) {
        exchange->principal = principal_keep(found);
        return true;
    }
    reply_header(exchange, "WWW-Authenticate", "Bearer realm=\"baton\"%s",
                 exchange->head.authorization ? ", error=\"invalid_token\"" : "");
    if (!exchange->head.is_from_script) /* its browser would open a window for a password */
        reply_header(exchange, "WWW-Authenticate", "Basic realm=\"baton\", charset=\"UTF-8\"");
    problem_simply(exchange, PROBLEM_UNAUTHORIZED, "%s", why);
    return false;
}

bool credentials_allow(const struct exchange *exchange, enum verb verb)
{
    const char *why;
    return principal_may_somewhere(credentials_find(exchange, &why), verb);
}

bool credentials_last(const struct exchange *exchange)
{
    const char *why;
    const struct principal *then = exchange->principal;
    if (principals_by_name(exchange->api->principals, then->name) == then)
        return true; /* no file was read since */
    const struct principal *now = credentials_find(exchange, &why);
    return now &&
           (now == then || (is_name_of(now, then->name) && principal_may_the_same(now, then)));
}
