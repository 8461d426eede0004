#include "api/principals/principal.h"

#include "base/memory.h"

const char *const VERB_WORDS[VERB_COUNT] = {
#define VERB_WORD(name, word) [name] = word,
    VERBS(VERB_WORD)
#undef VERB_WORD
};

static void *principal_allocate(size_t count, size_t size)
{
    return memory_checked(calloc(count ? count : 1, size));
}

static struct slice principal_copy(struct slice text)
{
    char *bytes = principal_allocate(text.length, 1);
    if (text.length > 0)
        memcpy(bytes, text.bytes, text.length);
    return (struct slice){bytes, text.length};
}

static void principal_free_copy(struct slice copy)
{
    free((void *)(uintptr_t)copy.bytes);
}

static struct account *principal_account(const struct principal *before)
{
    struct account *account = before ? before->account : principal_allocate(1, sizeof *account);
    atomic_fetch_add(&account->references, 1);
    return account;
}

struct principal *principal_new(struct slice name, size_t rule_count,
                                const struct principal *before)
{
    struct principal *principal = principal_allocate(1, sizeof *principal);
    atomic_store(&principal->references, 1);
    principal->name = principal_copy(name);
    principal->rate_limit = principal->max_waiters = PRINCIPAL_LIMIT_UNSET;
    principal->max_streams = principal->max_connection_holds = PRINCIPAL_LIMIT_UNSET;
    principal->account = principal_account(before);
    principal->rule_count = rule_count;
    principal->rules = principal_allocate(rule_count, sizeof *principal->rules);
    return principal;
}

void principal_set_rule(struct principal *principal, size_t index, const struct rule *rule)
{
    principal_free_copy(principal->rules[index].prefix);
    principal->rules[index] = *rule;
    principal->rules[index].prefix = principal_copy(rule->prefix);
}

struct principal *principal_keep(struct principal *principal)
{
    atomic_fetch_add_explicit(&principal->references, 1, memory_order_relaxed);
    return principal;
}

static void account_drop(struct account *account)
{
    if (atomic_fetch_sub(&account->references, 1) == 1)
        free(account);
}

void principal_drop(struct principal *principal)
{
    if (!principal || atomic_fetch_sub(&principal->references, 1) > 1)
        return;
    for (size_t i = 0; i < principal->rule_count; i++)
        principal_free_copy(principal->rules[i].prefix);
    principal_free_copy(principal->name);
    free(principal->rules);
    account_drop(principal->account);
    free(principal);
}

static bool begins_with(struct slice text, struct slice prefix)
{
    return text.length >= prefix.length &&
           (prefix.length == 0 || memcmp(text.bytes, prefix.bytes, prefix.length) == 0);
}

bool principal_may(const struct principal *principal, enum verb verb, struct slice name)
{
    for (size_t i = 0; principal && i < principal->rule_count; i++)
        if ((principal->rules[i].verbs & VERB_BIT(verb)) &&
            begins_with(name, principal->rules[i].prefix))
            return true;
    return false;
}

/* The most that a rule allows by the member at this offset. */
static int64_t principal_longest(const struct principal *principal, struct slice name,
                                 size_t member_at, int64_t setting)
{
    int64_t longest = 0;
    for (size_t i = 0; principal && i < principal->rule_count; i++) {
        const struct rule *rule = &principal->rules[i];
        int64_t own = *(const int64_t *)(const void *)((const char *)rule + member_at);
        int64_t allowed = own ? own : setting;
        if ((rule->verbs & VERB_BIT(VERB_ACQUIRE)) && allowed > longest &&
            (!name.bytes || begins_with(name, rule->prefix)))
            longest = allowed;
    }
    return longest ? longest : setting;
}

int64_t principal_longest_ttl(const struct principal *principal, struct slice name, int64_t setting)
{
    return principal_longest(principal, name, offsetof(struct rule, max_ttl_ms), setting);
}

int64_t principal_longest_held(const struct principal *principal, struct slice name,
                               int64_t setting)
{
    return principal_longest(principal, name, offsetof(struct rule, max_held_ms), setting);
}

static struct slice principal_common_part(struct slice one, struct slice other)
{
    size_t length = 0;
    while (length < one.length && length < other.length && one.bytes[length] == other.bytes[length])
        length++;
    return (struct slice){one.bytes, length};
}

bool principal_narrow(const struct principal *principal, enum verb verb, struct slice *prefix)
{
    struct slice common = slice_of(NULL);
    if (principal_may(principal, verb, *prefix))
        return true;
    for (size_t i = 0; principal && i < principal->rule_count; i++) {
        const struct rule *rule = &principal->rules[i];
        if ((rule->verbs & VERB_BIT(verb)) && begins_with(rule->prefix, *prefix))
            common = common.bytes ? principal_common_part(common, rule->prefix) : rule->prefix;
    }
    if (common.bytes)
        *prefix = common;
    return common.bytes != NULL;
}

bool principal_may_somewhere(const struct principal *principal, enum verb verb)
{
    for (size_t i = 0; principal && i < principal->rule_count; i++)
        if (principal->rules[i].verbs & VERB_BIT(verb))
            return true;
    return false;
}

bool principal_may_the_same(const struct principal *one, const struct principal *other)
{
    bool same = one->rule_count == other->rule_count;
    for (size_t i = 0; same && i < one->rule_count; i++) {
        const struct rule *a = &one->rules[i], *b = &other->rules[i];
        same = a->verbs == b->verbs && a->max_ttl_ms == b->max_ttl_ms &&
               a->max_held_ms == b->max_held_ms && a->prefix.length == b->prefix.length &&
               begins_with(a->prefix, b->prefix);
    }
    return same;
}
