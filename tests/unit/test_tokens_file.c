#include "api/access/tokens_file.h"
#include "tests/support/cmocka.h"
#include "tests/support/principals_file.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define ONES  "1111111111111111111111111111111111111111111111111111111111111111"
#define TWOS  "2222222222222222222222222222222222222222222222222222222222222222"

static int parse(const char *text, struct principals *before, struct principals **ret,
                 struct failure *failure)
{
    const struct tokens_file_options options = {.path = "FILE", .before = before};
    return tokens_file_parse(&options, slice_of(text), ret, failure);
}

static struct principals *parsed(const char *text, struct principals *before)
{
    struct principals *principals;
    struct failure failure = {""};
    if (parse(text, before, &principals, &failure) < 0)
        fail_msg("%s: %s", text, failure.text);
    return principals;
}

static struct principal *named(struct principals *principals, const char *name)
{
    struct principal *principal = principals_by_name(principals, slice_of(name));
    if (!principal)
        fail_msg("there is no %s", name);
    return principal;
}

#define FILE_OF(principals) "{\"principals\":[" principals "]}"
#define ENTRY(name, hex)    "{\"name\":\"" name "\",\"sha256\":\"" hex "\",\"rules\":[]}"

TEST(names_rules_and_limits_are_read)
{
    struct principals *principals = parsed(
        FILE_OF("{\"name\":\"ci\",\"sha256\":\"" ZEROS "\",\"rules\":["
                "{\"prefix\":\"deploy/\",\"verbs\":[\"acquire\",\"read\"],\"max_ttl\":\"5m\","
                "\"max_held\":\"48h\"},"
                "{\"prefix\":\"\",\"verbs\":[\"metrics\"]}],"
                "\"rate_limit\":100,\"max_waiters\":0.0,\"max_streams\":7e0,"
                "\"max_connection_holds\":8}," ENTRY("Jos\\u00e9 & co", ONES)),
        NULL);
    const struct principal *ci = named(principals, "ci");
    assert_int_equal(principals_count(principals), 2);
    assert_null(principals_everybody(principals));
    assert_int_equal(ci->rule_count, 2);
    assert_true(slice_equals(ci->rules[0].prefix, "deploy/"));
    assert_int_equal(ci->rules[0].verbs, VERB_BIT(VERB_ACQUIRE) | VERB_BIT(VERB_READ));
    assert_int_equal(ci->rules[0].max_ttl_ms, 300000);
    assert_int_equal(ci->rules[1].max_ttl_ms, 0);
    assert_int_equal(ci->rules[0].max_held_ms, 172800000);
    assert_int_equal(ci->rules[1].max_held_ms, 0);
    assert_int_equal(ci->rules[1].prefix.length, 0);
    assert_int_equal(ci->rules[1].verbs, VERB_BIT(VERB_METRICS));
    assert_int_equal(ci->rate_limit, 100);
    assert_int_equal(ci->max_waiters, 0);
    assert_int_equal(ci->max_streams, 7);
    assert_int_equal(ci->max_connection_holds, 8);
    const struct principal *jose = named(principals, "José & co");
    assert_int_equal(jose->rule_count, 0);
    assert_int_equal(jose->rate_limit, PRINCIPAL_LIMIT_UNSET);
    assert_int_equal(jose->max_waiters, PRINCIPAL_LIMIT_UNSET);
    assert_int_equal(jose->max_streams, PRINCIPAL_LIMIT_UNSET);
    assert_int_equal(jose->max_connection_holds, PRINCIPAL_LIMIT_UNSET);
    principals_drop(principals);
}

TEST(file_may_let_nobody_in)
{
    struct principals *principals = parsed("{\"principals\": []}", NULL);
    assert_int_equal(principals_count(principals), 0);
    assert_null(principals_everybody(principals));
    assert_null(principals_by_token(principals, slice_of("")));
    assert_null(principals_by_name(principals, slice_of("")));
    principals_drop(principals);
}

/* Known answers of SHA-256, from FIPS 180. */
TEST(principal_is_found_by_each_of_its_tokens)
{
    struct principals *principals = parsed(
        FILE_OF(ENTRY(
            "other",
            ZEROS) ",{\"name\":\"ci\",\"rules\":[],\"sha256\":["
                   "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\","
                   "\"248D6A61D20638B8E5C026930C3E6039A33CE45964FF2167F6ECEDD419DB06C1\"]}," ENTRY(
                       "last", TWOS)),
        NULL);
    const struct principal *ci = named(principals, "ci");
    assert_ptr_equal(principals_by_token(principals, slice_of("abc")), ci);
    assert_ptr_equal(
        principals_by_token(principals,
                            slice_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
        ci);
    assert_null(principals_by_token(principals, slice_of("")));
    assert_null(principals_by_token(principals, slice_of("abd")));
    assert_null(principals_by_token(principals, slice_of("abc\n")));
    assert_null(principals_by_token(principals, slice_of(ZEROS)));
    principals_drop(principals);
}

TEST(principal_is_found_by_its_name)
{
    struct principals *principals = principals_new();
    char name[16];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "p%u", i * 37 % 100);
        assert_true(principals_add(principals, principal_new(slice_of(name), 0, NULL)));
    }
    assert_false(principals_add(principals, principal_new(slice_of("p50"), 0, NULL)));
    assert_int_equal(principals_count(principals), 100);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "p%u", i);
        assert_true(slice_equals(named(principals, name)->name, name));
    }
    assert_null(principals_by_name(principals, slice_of("p")));
    assert_null(principals_by_name(principals, slice_of("p100")));
    assert_null(principals_by_name(principals, slice_of("q")));
    principals_drop(principals);
}

/* What is refused, and what the line has to say. */
static const struct {
    const char *text;
    const char *place;
    const char *why;
} REFUSED[] = {
    {"", "FILE: line 1", ""},
    {"{\"principals\":[", "line 1, column", ""},
    {"[]", "FILE: expected an object", "\"principals\""},
    {"{}", "principals", "expected a list"},
    {"{\"principals\":{}}", "principals", "expected a list"},
    {"{\"principals\":[],\"principles\":[]}", "FILE", "unknown member \"principles\""},
    {"{\"principals\":[],\"principals\":[]}", "line 1", "duplicate"},
    {FILE_OF("{}"), "principals[0].name", "1 to 64 bytes"},
    {FILE_OF(ENTRY("", ZEROS)), "principals[0].name", "1 to 64 bytes"},
    {FILE_OF(ENTRY("a\\nb", ZEROS)), "principals[0].name", "control"},
    {FILE_OF(ENTRY("a\\u001fb", ZEROS)), "principals[0].name", "control"},
    {FILE_OF(ENTRY("a\\u0000b", ZEROS)), "line 1", "NUL"},
    {FILE_OF(ENTRY(ZEROS "0", ZEROS)), "principals[0].name", "64 bytes"},
    {FILE_OF(ENTRY("a", ZEROS) "," ENTRY("a", ONES)), "principals[1].name",
     "another principal \"a\""},
    {FILE_OF(ENTRY("a", ZEROS) "," ENTRY("b", ZEROS)), "principals[1].sha256",
     "this API key twice"},
    {FILE_OF("{\"name\":\"a\",\"rules\":[],\"sha256\":[\"" ZEROS "\",\"" ZEROS "\"]}"),
     "principals[0].sha256[1]", "this API key twice"},
    {FILE_OF("{\"name\":\"a\",\"rules\":[]}"), "principals[0].sha256", "64 hexadecimal"},
    {FILE_OF("{\"name\":\"a\",\"rules\":[],\"sha256\":null}"), "principals[0].sha256", "64 hex"},
    {FILE_OF("{\"name\":\"a\",\"rules\":[],\"sha256\":[]}"), "principals[0].sha256", "1 to 8"},
    {FILE_OF("{\"name\":\"a\",\"rules\":[],\"sha256\":[7]}"), "sha256[0]", "64 hexadecimal"},
    {FILE_OF(ENTRY("a", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")),
     "principals[0].sha256", "SHA-256 of an empty text"},
    {FILE_OF(ENTRY("a", "0000")), "principals[0].sha256", "64 hexadecimal"},
    {FILE_OF(ENTRY("a", "g000000000000000000000000000000000000000000000000000000000000000")),
     "principals[0].sha256", "64 hexadecimal"},
    {FILE_OF(ENTRY("a", "000000000000000000000000000000000000000000000000000000000000000 ")),
     "principals[0].sha256", "64 hexadecimal"},
    {FILE_OF("{\"name\":\"a\",\"sha256\":\"" ZEROS "\"}"), "principals[0]", "\"rules\": expected"},
    {FILE_OF("{\"name\":\"a\",\"sha256\":\"" ZEROS "\",\"rules\":{}}"), "principals[0]", "rules"},
    {FILE_OF("{\"name\":\"a\",\"rules\":[],\"token\":\"x\"}"), "principals[0]", "\"token\""},
#define RULES(rules) FILE_OF("{\"name\":\"a\",\"sha256\":\"" ZEROS "\",\"rules\":[" rules "]}")
#define TTL(ttl)     RULES("{\"prefix\":\"\",\"verbs\":[\"acquire\"],\"max_ttl\":" ttl "}")
    {TTL("60"), "rules[0].max_ttl",
     "from 100ms to 24h, as one number and one unit (ms, s, m or h) in quotes, such as \"10m\""},
    {TTL("\"1m30s\""), "rules[0].max_ttl", "as one number and one unit"},
    {TTL("\"99ms\""), "rules[0].max_ttl", "from 100ms to 24h"},
    {TTL("\"25h\""), "rules[0].max_ttl", "from 100ms to 24h"},
    {RULES("{\"prefix\":\"\",\"verbs\":[\"acquire\"],\"max_held\":\"721h\"}"), "rules[0].max_held",
     "from 100ms to 720h"},
    {RULES("{\"prefix\":\"\",\"verbs\":[\"read\"]},[]"), "principals[0].rules[1]", "an object"},
    {RULES("{\"verbs\":[\"read\"]}"), "rules[0].prefix", "0 to 255 bytes"},
    {RULES("{\"prefix\":null,\"verbs\":[\"read\"]}"), "rules[0].prefix", "expected a text"},
    {RULES("{\"prefix\":\"a\\tb\",\"verbs\":[\"read\"]}"), "rules[0].prefix", "control"},
    {RULES("{\"prefix\":\"a\",\"verbs\":[\"read\"],\"names\":[]}"), "rules[0]", "\"names\""},
    {RULES("{\"prefix\":\"a\"}"), "rules[0].verbs", "expected a list"},
    {RULES("{\"prefix\":\"a\",\"verbs\":[]}"), "rules[0].verbs", "at least"},
    {RULES("{\"prefix\":\"a\",\"verbs\":[\"read\",\"acquier\"]}"), "rules[0].verbs[1]",
     "\"acquire\""},
    {RULES("{\"prefix\":\"a\",\"verbs\":[\"Read\"]}"), "rules[0].verbs[0]", "\"read\""},
    {RULES("{\"prefix\":\"a\",\"verbs\":[\"read\",\"break\",\"read\"]}"), "verbs[2]", "twice"},
#define LIMITS(limits) FILE_OF("{\"name\":\"a\",\"sha256\":\"" ZEROS "\",\"rules\":[]," limits "}")
    {LIMITS("\"rate_limit\":1e-400"), "rate_limit", "expected an integer from 0"},
    {LIMITS("\"rate_limit\":99999999999999999999"), "rate_limit", "expected an integer from 0"},
    {LIMITS("\"rate_limit\":-1"), "principals[0].rate_limit", "from 0"},
    {LIMITS("\"rate_limit\":1.5"), "principals[0].rate_limit", "an integer"},
    {LIMITS("\"rate_limit\":1000001"), "principals[0].rate_limit", "to 1000000"},
    {LIMITS("\"max_waiters\":\"5\""), "principals[0].max_waiters", "an integer"},
    {LIMITS("\"max_streams\":-1"), "principals[0].max_streams", "from 0"},
    {LIMITS("\"max_connection_holds\":true"), "principals[0].max_connection_holds", "an integer"},
};

TEST(invalid_file_is_refused_with_the_place)
{
    for (size_t i = 0; i < LENGTH(REFUSED); i++) {
        struct principals *principals = NULL;
        struct failure failure = {""};
        if (parse(REFUSED[i].text, NULL, &principals, &failure) != -EINVAL || principals)
            fail_msg("taken: %s", REFUSED[i].text);
        if (strncmp(failure.text, "--tokens-file: FILE: ", 21) != 0 ||
            !strstr(failure.text, REFUSED[i].place) || !strstr(failure.text, REFUSED[i].why) ||
            strchr(failure.text, '\n'))
            fail_msg("%s: %s", REFUSED[i].text, failure.text);
    }
}

/* A token may stand there by mistake, and a failure comes into a log. */
TEST(malformed_json_is_not_quoted)
{
    static const char *const TEXTS[] = {"{\"principals\":[baton_secret]}",
                                        "{\"principals\":[\"baton_secret\" \"a\"]}",
                                        "{\"principals\":[\"baton_secret\n"};
    for (size_t i = 0; i < LENGTH(TEXTS); i++) {
        struct principals *principals;
        struct failure failure;
        assert_int_equal(parse(TEXTS[i], NULL, &principals, &failure), -EINVAL);
        assert_null(strstr(failure.text, "secret"));
        assert_non_null(strstr(failure.text, "line 1, column"));
    }
}

TEST(principal_with_a_certificate_needs_no_token)
{
    const struct tokens_file_options options = {.path = "FILE", .certificates = true};
    struct principals *principals;
    struct failure failure = {""};
    assert_int_equal(tokens_file_parse(&options,
                                       slice_of(FILE_OF("{\"name\":\"web\",\"rules\":[]}")),
                                       &principals, &failure),
                     0);
    assert_non_null(named(principals, "web"));
    principals_drop(principals);
}

TEST(account_outlives_a_reload)
{
    struct principals *first = parsed(FILE_OF(ENTRY("a", ZEROS) "," ENTRY("b", ONES)), NULL);
    struct principal *kept = principal_keep(named(first, "a"));
    atomic_store(&kept->account->waiters, 7);
    struct principals *second = parsed(FILE_OF(ENTRY("c", ONES) "," ENTRY("a", TWOS)), first);
    principals_drop(first);
    assert_ptr_not_equal(named(second, "a"), kept);
    assert_ptr_equal(named(second, "a")->account, kept->account);
    assert_int_equal(atomic_load(&named(second, "a")->account->waiters), 7);
    assert_int_equal(atomic_load(&named(second, "c")->account->waiters), 0);
    principals_drop(second);
    assert_true(slice_equals(kept->name, "a")); /* whoever keeps it may go on */
    assert_int_equal(atomic_load(&kept->account->waiters), 7);
    principal_drop(kept);
}

static int read_file(const char *path, struct principals **ret, struct failure *failure)
{
    const struct tokens_file_options options = {.path = path};
    return tokens_file_read(&options, ret, failure);
}

static void is_refused(const char *path, const char *why)
{
    struct principals *principals = NULL;
    struct failure failure = {""};
    if (read_file(path, &principals, &failure) != -EINVAL || principals)
        fail_msg("taken, instead of %s", why);
    if (!strstr(failure.text, path) || !strstr(failure.text, why))
        fail_msg("expected %s: %s", why, failure.text);
}

TEST(file_open_to_others_is_refused)
{
    static const unsigned GOOD[] = {0600, 0400, 0640, 0440, 0700};
    static const unsigned BAD[] = {0604, 0602, 0601, 0620, 0660, 0644, 0666, 0777, 0606};
    struct temp_dir dir;
    char path[128];
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/tokens", dir.path);
    for (size_t i = 0; i < LENGTH(GOOD); i++) {
        struct principals *principals;
        struct failure failure = {""};
        principals_file_put(path, FILE_OF(ENTRY("a", ZEROS)), GOOD[i]);
        if (read_file(path, &principals, &failure) < 0)
            fail_msg("%o: %s", GOOD[i], failure.text);
        principals_drop(principals);
    }
    for (size_t i = 0; i < LENGTH(BAD); i++) {
        principals_file_put(path, FILE_OF(ENTRY("a", ZEROS)), BAD[i]);
        is_refused(path, "chmod 600");
    }
    temp_dir_remove(&dir);
}

TEST(file_may_begin_with_byte_order_mark)
{
    struct temp_dir dir;
    struct principals *principals;
    struct failure failure = {""};
    char path[128];
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/tokens", dir.path);
    principals_file_put(path, "\xEF\xBB\xBF" FILE_OF(ENTRY("a", ZEROS)) "\r\n", 0600);
    if (read_file(path, &principals, &failure) < 0)
        fail_msg("%s", failure.text);
    assert_non_null(named(principals, "a"));
    principals_drop(principals);
    temp_dir_remove(&dir);
}

TEST(file_of_another_kind_or_user_is_refused)
{
    struct temp_dir dir;
    char path[128];
    temp_dir_make(&dir);
    is_refused(dir.path, "not a regular file");
    snprintf(path, sizeof path, "%s/nothing", dir.path);
    is_refused(path, "No such file");
    snprintf(path, sizeof path, "%s/fifo", dir.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    is_refused(path, "not a regular file"); /* and is not waited for */
    if (geteuid() == 0) {
        snprintf(path, sizeof path, "%s/tokens", dir.path);
        principals_file_put(path, FILE_OF(""), 0600);
        assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
        is_refused(path, "belongs to user 12345");
    }
    temp_dir_remove(&dir);
}

TEST(file_has_at_most_a_mebibyte)
{
    struct temp_dir dir;
    char path[128];
    char *text = malloc(TOKENS_FILE_LONGEST + 2);
    struct principals *principals;
    struct failure failure = {""};
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/tokens", dir.path);
    memset(text, ' ', TOKENS_FILE_LONGEST + 1);
    memcpy(text, FILE_OF(""), sizeof FILE_OF("") - 1);
    text[TOKENS_FILE_LONGEST + 1] = '\0';
    principals_file_put(path, text, 0600);
    is_refused(path, "more than 1048576 bytes");
    text[TOKENS_FILE_LONGEST] = '\0';
    principals_file_put(path, text, 0600);
    assert_int_equal(read_file(path, &principals, &failure), 0);
    principals_drop(principals);
    free(text);
    temp_dir_remove(&dir);
}
