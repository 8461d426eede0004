#include "api/access/ownership.h"

#include "base/base64url.h"
#include "base/digest.h"
#include "base/memory.h"
#include "locks/types/owner.h"

enum { DIGEST_TEXT = BASE64URL_LENGTH(DIGEST_LENGTH) };

struct ownership {
    char owner[OWNER_LENGTH];
    char token[DIGEST_TEXT + 1];
};

static bool has_a_name(const struct exchange *exchange)
{
    return exchange->principal && exchange->principal->name.length > 0;
}

static struct ownership *ownership_of(struct exchange *exchange)
{
    if (!exchange->holder.ownership)
        exchange->holder.ownership = memory_checked(calloc(1, sizeof *exchange->holder.ownership));
    return exchange->holder.ownership;
}

/* Digest of the principal's name, a NUL, which no name has, and the token. */
static struct digest digest_of_both(struct slice principal, struct slice token)
{
    char text[PRINCIPAL_NAME_LENGTH + 1 + TOKEN_LONGEST];
    memcpy(text, principal.bytes, principal.length);
    text[principal.length] = '\0';
    memcpy(text + principal.length + 1, token.bytes, token.length);
    struct digest digest = digest_of((struct slice){text, principal.length + 1 + token.length});
    explicit_bzero(text, sizeof text);
    return digest;
}

void ownership_set_token(struct exchange *exchange)
{
    struct slice token = exchange->parameters.texts[FIELD_LOCK_TOKEN];
    exchange->holder.token = token;
    if (!token.bytes || !has_a_name(exchange))
        return;
    struct ownership *ownership = ownership_of(exchange);
    struct digest digest = digest_of_both(exchange->principal->name, token);
    base64url_encode(digest.bytes, sizeof digest.bytes, ownership->token);
    exchange->holder.token = (struct slice){ownership->token, DIGEST_TEXT};
}

void ownership_set_owner(struct exchange *exchange)
{
    struct slice owner = exchange->parameters.texts[FIELD_OWNER];
    exchange->holder.owner = owner;
    if (has_a_name(exchange))
        exchange->holder.owner =
            owner_compose(exchange->principal->name, owner, ownership_of(exchange)->owner);
}

void ownership_free(struct ownership *ownership)
{
    if (ownership)
        explicit_bzero(ownership, sizeof *ownership);
    free(ownership);
}
