#include "api/access/tokens_file.h"
#include "api/principals/principals.h"
#include "base/base64url.h"
#include "base/digest.h"
#include "tests/support/cmocka.h"

#include <errno.h>
#include <stdio.h>

static const struct {
    const char *prefix;
    unsigned verbs;
} RULES[] = {
    {"deploy/", VERB_BIT(VERB_ACQUIRE) | VERB_BIT(VERB_READ)},
    {"deploy/web", VERB_BIT(VERB_BREAK)},
    {"\303\251", VERB_BIT(VERB_READ)},
    {"report/a", VERB_BIT(VERB_READ)},
    {"report/ab", VERB_BIT(VERB_READ)},
    {"report/b", VERB_BIT(VERB_ACQUIRE)},
};

static struct principal *make(void)
{
    struct principal *principal = principal_new(slice_of("ci"), LENGTH(RULES) + 1, NULL);
    for (size_t i = 0; i < LENGTH(RULES); i++)
        principal_set_rule(principal, i,
                           &(struct rule){slice_of(RULES[i].prefix), RULES[i].verbs, 0, 0});
    return principal; /* the last rule was never set, and allows nothing */
}

static const struct {
    const char *name;
    enum verb verb;
    bool may;
} ASKED[] = {
    {"deploy/", VERB_ACQUIRE, true},         {"deploy/x", VERB_ACQUIRE, true},
    {"deploy", VERB_ACQUIRE, false},         {"Deploy/x", VERB_ACQUIRE, false},
    {" deploy/x", VERB_ACQUIRE, false},      {"", VERB_ACQUIRE, false},
    {"deploy/x", VERB_BREAK, false},         {"deploy/we", VERB_BREAK, false},
    {"deploy/web", VERB_BREAK, true},        {"deploy/web/7", VERB_BREAK, true},
    {"deploy/x", VERB_METRICS, false},       {"\303\251t\303\251", VERB_READ, true},
    {"\303\250t\303\251", VERB_READ, false}, /* the same first byte */
    {"e\314\201t", VERB_READ, false},        /* looks the same */
};

TEST(a_rule_is_for_what_begins_with_its_prefix)
{
    struct principal *principal = make();
    for (size_t i = 0; i < LENGTH(ASKED); i++) {
        if (principal_may(principal, ASKED[i].verb, slice_of(ASKED[i].name)) != ASKED[i].may)
            fail_msg("%s %s", VERB_WORDS[ASKED[i].verb], ASKED[i].name);
        assert_false(principal_may(NULL, ASKED[i].verb, slice_of(ASKED[i].name)));
    }
    principal_drop(principal);
}

TEST(the_empty_prefix_is_for_all_names)
{
    struct principal *principal = principal_new(slice_of("x"), 1, NULL);
    principal_set_rule(principal, 0, &(struct rule){slice_of(""), VERB_BIT(VERB_READ), 0, 0});
    assert_true(principal_may(principal, VERB_READ, slice_of("a")));
    assert_true(principal_may(principal, VERB_READ, slice_of("")));
    assert_true(principal_may(principal, VERB_READ, slice_of(NULL)));
    assert_false(principal_may(principal, VERB_ACQUIRE, slice_of("a")));
    principal_drop(principal);
}

static const struct {
    enum verb verb;
    const char *asked;
    const char *narrowed; /* NULL: refused */
} NARROWED[] = {
    {VERB_READ, "deploy/", "deploy/"},
    {VERB_READ, "deploy/web", "deploy/web"},
    {VERB_READ, "deplo", "deploy/"},
    {VERB_READ, "rep", "report/a"},
    {VERB_READ, "report/ab", "report/ab"},
    {VERB_READ, "report/", "report/a"},
    {VERB_READ, "report/b", NULL},
    {VERB_READ, "reports", NULL},
    {VERB_READ, "", ""},
    {VERB_BREAK, "", "deploy/web"},
    {VERB_ACQUIRE, "", ""},
    {VERB_READ, "\303", "\303\251"},
    {VERB_METRICS, "", NULL},
};

TEST(a_prefix_becomes_what_may_be_seen_of_it)
{
    struct principal *principal = make();
    for (size_t i = 0; i < LENGTH(NARROWED); i++) {
        struct slice prefix = slice_of(NARROWED[i].asked);
        bool may = principal_narrow(principal, NARROWED[i].verb, &prefix);
        if (may != (NARROWED[i].narrowed != NULL) ||
            !slice_equals(prefix, may ? NARROWED[i].narrowed : NARROWED[i].asked))
            fail_msg("%s %s: %.*s", VERB_WORDS[NARROWED[i].verb], NARROWED[i].asked,
                     (int)prefix.length, prefix.bytes);
        prefix = slice_of("");
        assert_false(principal_narrow(NULL, NARROWED[i].verb, &prefix));
    }
    principal_drop(principal);
}

TEST(some_name_may_be_enough)
{
    struct principal *principal = make();
    assert_true(principal_may_somewhere(principal, VERB_BREAK));
    assert_false(principal_may_somewhere(principal, VERB_METRICS));
    assert_false(principal_may_somewhere(NULL, VERB_BREAK));
    principal_drop(principal);
}

TEST(the_rule_that_allows_most_says_how_long_a_hold_may_be)
{
    enum { SETTING = 1000 };
    struct principal *principal = principal_new(slice_of("x"), 4, NULL);
    struct principal *other = principal_new(slice_of("x"), 1, NULL);
    principal_set_rule(principal, 0,
                       &(struct rule){slice_of("a"), VERB_BIT(VERB_ACQUIRE), 300, 70});
    principal_set_rule(principal, 1,
                       &(struct rule){slice_of("ab"), VERB_BIT(VERB_ACQUIRE), 2000, 90});
    principal_set_rule(principal, 2, &(struct rule){slice_of("b"), VERB_BIT(VERB_ACQUIRE), 0, 0});
    principal_set_rule(principal, 3, &(struct rule){slice_of(""), VERB_BIT(VERB_READ), 9000, 0});
    assert_int_equal(principal_longest_ttl(principal, slice_of("a"), SETTING), 300);
    assert_int_equal(principal_longest_ttl(principal, slice_of("abc"), SETTING), 2000);
    assert_int_equal(principal_longest_ttl(principal, slice_of("b"), SETTING), SETTING);
    assert_int_equal(principal_longest_ttl(principal, slice_of("c"), SETTING), SETTING);
    assert_int_equal(principal_longest_ttl(principal, slice_of(NULL), SETTING), 2000);
    assert_int_equal(principal_longest_ttl(NULL, slice_of("a"), SETTING), SETTING);
    assert_int_equal(principal_longest_held(principal, slice_of("a"), SETTING), 70);
    assert_int_equal(principal_longest_held(principal, slice_of("ab"), SETTING), 90);
    assert_int_equal(principal_longest_held(principal, slice_of("b"), INT64_MAX), INT64_MAX);

    principal_set_rule(other, 0, &(struct rule){slice_of("a"), VERB_BIT(VERB_ACQUIRE), 300, 70});
    assert_true(principal_may_the_same(other, other));
    principal_drop(principal);
    principal = principal_new(slice_of("x"), 1, NULL);
    principal_set_rule(principal, 0,
                       &(struct rule){slice_of("a"), VERB_BIT(VERB_ACQUIRE), 301, 70});
    assert_false(principal_may_the_same(principal, other));
    principal_set_rule(principal, 0,
                       &(struct rule){slice_of("a"), VERB_BIT(VERB_ACQUIRE), 300, 71});
    assert_false(principal_may_the_same(principal, other));
    principal_drop(principal);
    principal_drop(other);
}

TEST(owners_of_different_realms_differ)
{
    static const struct {
        const char *realm, *name;
    } OWNERS[] = {{"", "me"},   {"ci", "me"}, {"c", "ime"},
                  {"cim", "e"}, {"ci", "m"},  {"a b", "c d"}};
    char texts[LENGTH(OWNERS)][OWNER_LENGTH];
    struct slice owners[LENGTH(OWNERS)], realm, name;
    for (size_t i = 0; i < LENGTH(OWNERS); i++) {
        owners[i] = owner_compose(slice_of(OWNERS[i].realm), slice_of(OWNERS[i].name), texts[i]);
        assert_true(owner_is_valid(owners[i]));
        owner_split(owners[i], &realm, &name);
        assert_true(slice_equals(realm, OWNERS[i].realm));
        assert_true(slice_equals(name, OWNERS[i].name));
        for (size_t j = 0; j < i; j++)
            assert_false(owners[i].length == owners[j].length &&
                         memcmp(texts[i], texts[j], owners[i].length) == 0);
    }
}

TEST(invalid_owner_is_not_split)
{
    static const char *const BAD[] = {"",
                                      "\x1f",
                                      "a\x1f",
                                      "\x1f\x1f"
                                      "a",
                                      "a\x1f"
                                      "b\x1f"
                                      "c",
                                      "a\nb",
                                      "\xff"};
    char text[OWNER_LENGTH + 1];
    struct slice realm, name;
    for (size_t i = 0; i < LENGTH(BAD); i++)
        if (owner_is_valid(slice_of(BAD[i])))
            fail_msg("%s", BAD[i]);
    memset(text, 'a', sizeof text);
    text[OWNER_REALM_LENGTH] = '\x1f';
    assert_true(owner_is_valid((struct slice){text, OWNER_LENGTH - 1}));
    owner_split((struct slice){text, OWNER_LENGTH - 1}, &realm, &name);
    assert_int_equal(realm.length, OWNER_REALM_LENGTH);
    assert_int_equal(name.length, OWNER_NAME_LENGTH);
    assert_false(owner_is_valid((struct slice){text, OWNER_LENGTH}));
    memset(text, 'a', sizeof text);
    assert_true(owner_is_valid((struct slice){text, OWNER_NAME_LENGTH}));
    assert_false(owner_is_valid((struct slice){text, OWNER_NAME_LENGTH + 1}));
    text[OWNER_REALM_LENGTH + 1] = '\x1f';
    assert_false(owner_is_valid((struct slice){text, OWNER_LENGTH - 1}));
}

TEST(made_owner_is_shown_by_its_name)
{
    static const struct {
        const char *stored, *realm, *name;
    } MADE[] = {{"\x1f"
                 "10.0.0.1",
                 "", "10.0.0.1"},
                {"\x1f"
                 "ci\x1f"
                 "10.0.0.1",
                 "ci", "10.0.0.1"}};
    struct slice realm, name;
    for (size_t i = 0; i < LENGTH(MADE); i++) {
        assert_true(owner_is_valid(slice_of(MADE[i].stored)));
        owner_split(slice_of(MADE[i].stored), &realm, &name);
        assert_true(slice_equals(realm, MADE[i].realm));
        assert_true(slice_equals(name, MADE[i].name));
    }
}

TEST(a_digest_is_compared_as_a_whole)
{
    struct digest one = digest_of(slice_of("abc")), other;
    char hex[DIGEST_HEX_LENGTH + 1];
    digest_format(&one, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(digest_parse(slice_of(hex), &other), 0);
    assert_true(digest_equals(&one, &other));
    for (size_t i = 0; i < DIGEST_LENGTH; i++) {
        other.bytes[i] ^= 1;
        assert_false(digest_equals(&one, &other));
        other.bytes[i] ^= 1;
    }
    assert_int_equal(digest_parse((struct slice){hex, 63}, &other), -EINVAL);
    for (const char *wrong = "g G:- \t\n"; *wrong; wrong++)
        for (size_t i = 0; i < DIGEST_HEX_LENGTH; i++) {
            char text[DIGEST_HEX_LENGTH + 1];
            memcpy(text, hex, sizeof text);
            text[i] = *wrong;
            assert_int_equal(digest_parse(slice_of(text), &other), -EINVAL);
        }
}

/* RFC 4648, section 10, and what is no base64. */
TEST(basic_credentials_are_ordinary_base64)
{
    static const struct {
        const char *text, *bytes; /* NULL: refused */
    } TEXTS[] = {{"", ""},
                 {"Zg==", "f"},
                 {"Zm8=", "fo"},
                 {"Zm9v", "foo"},
                 {"Zm9vYg==", "foob"},
                 {"Zm9vYmE", "fooba"},
                 {"Pz8/Pj4+", "\077\077\077>>>"},
                 {"Zg", "f"},
                 {"Pz8_", NULL},
                 {"Z", NULL},
                 {"Zg=", NULL},
                 {"Zg===", NULL},
                 {"Zh==", NULL},
                 {"Z g=", NULL},
                 {"=", NULL},
                 {"====", NULL}};
    char bytes[16];
    for (size_t i = 0; i < LENGTH(TEXTS); i++) {
        size_t length = 0;
        int result = base64_decode(slice_of(TEXTS[i].text), bytes, &length);
        if (result != (TEXTS[i].bytes ? 0 : -EINVAL) ||
            (result == 0 && !slice_equals((struct slice){bytes, length}, TEXTS[i].bytes)))
            fail_msg("%s: %d", TEXTS[i].text, result);
    }
}

/* That this is soon done, tests/timing/test_principals.c shows. */
TEST(nobodys_token_is_distinguished_from_all_there_may_be)
{
    struct principals *principals = principals_new();
    struct principal *principal = make();
    principals_add(principals, principal);
    for (int i = 0; i < TOKENS_FILE_PRINCIPALS * TOKENS_FILE_TOKENS; i++) {
        char token[32];
        snprintf(token, sizeof token, "token %d", i);
        struct digest digest = digest_of(slice_of(token));
        assert_true(principals_add_token(principals, &digest, principal));
    }
    assert_ptr_equal(principals_by_token(principals, slice_of("token 7000")), principal);
    assert_null(principals_by_token(principals, slice_of("nobody's")));
    principals_drop(principals);
}
