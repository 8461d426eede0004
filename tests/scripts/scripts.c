#include "tests/scripts/scripts.h"

#include "locks/quarantine/stamp.h"
#include "locks/scripts/scripts.h"
#include "locks/types/name.h"
#include "locks/types/packed.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARGUMENTS = 12 + PAGE,
    RECORDED_MOST = 32,
    NUMBER = 24,
    HOUR_MS = 3600 * 1000,
    TTL_MS = 30000,
    LEASE_MS = 60000,
    CLAIM_MS = 5000,
    BOUND = 10000
};

int scripts_start(void **state)
{
    struct scripts *scripts = calloc(1, sizeof *scripts);
    redis_process_start(&scripts->redis, NULL);
    *state = scripts;
    return 0;
}

int scripts_start_together(void **state)
{
    scripts_start(state);
    struct scripts *scripts = *state;
    scripts->together = true;
    return 0;
}

int scripts_stop(void **state)
{
    struct scripts *scripts = *state;
    redis_process_stop(&scripts->redis);
    free(scripts);
    return 0;
}

void scripts_reset(struct scripts *scripts)
{
    redis_process_flush(&scripts->redis);
    scripts->link = scripts->redis.link;
    scripts->retention_ms = HOUR_MS;
    scripts->latest_us = scripts->opens_us = scripts->floor_us = scripts->level_us = 0;
    scripts->epoch = scripts->tag = NULL;
    scripts->unwatched = false;
    scripts->clock_us = 0;
    scripts->cut_at = 0;
    scripts->was_cut = scripts->is_impatient = scripts->keys_were_lost = false;
    scripts->list_owner = NULL;
    scripts->list_held_ms = 0;
}

void scripts_reset_with_own_clock(struct scripts *scripts)
{
    scripts_reset(scripts);
    scripts->clock_us = redis_now(scripts);
}

int scripts_clean(void **state)
{
    scripts_reset(*state);
    return 0;
}

int scripts_clean_with_own_clock(void **state)
{
    scripts_reset_with_own_clock(*state);
    return 0;
}

void scripts_limit_memory(struct scripts *scripts, int bytes)
{
    freeReplyObject(redis_process_command(&scripts->redis, "CONFIG SET maxmemory %d", bytes));
    scripts->is_full = bytes > 0;
}

struct name_key key_of(const char *name, const char *suffix)
{
    struct name_key key;
    key.length = name_to_key(slice_of("baton:"), slice_of(name), key.text);
    strcpy(key.text + key.length, suffix);
    key.length += strlen(suffix);
    return key;
}

void delete_key(struct scripts *scripts, const char *name, const char *suffix)
{
    struct name_key key = key_of(name, suffix);
    scripts->keys_were_lost = true;
    redis_process_integer(&scripts->redis, "DEL %b", key.text, key.length);
}

int64_t key_count(struct scripts *scripts)
{
    return redis_process_integer(&scripts->redis, "DBSIZE");
}

/* Running a script. */

struct arguments {
    int count;
    const char *text[ARGUMENTS];
    size_t length[ARGUMENTS];
    char numbers[8 + RECORDED_MOST][NUMBER];
    int number_count;
};

static void push(struct arguments *arguments, const char *text)
{
    assert_true(arguments->count < ARGUMENTS);
    arguments->text[arguments->count] = text;
    arguments->length[arguments->count++] = strlen(text);
}

static void push_bytes(struct arguments *arguments, const char *bytes, size_t length)
{
    push(arguments, "");
    arguments->text[arguments->count - 1] = bytes;
    arguments->length[arguments->count - 1] = length;
}

static void push_number(struct arguments *arguments, int64_t number)
{
    char *text = arguments->numbers[arguments->number_count++];
    snprintf(text, NUMBER, "%" PRId64, number);
    push(arguments, text);
}

static redisReply *send(struct scripts *scripts, const struct arguments *arguments)
{
    redisReply *reply =
        redisCommandArgv(scripts->link, arguments->count, (const char **)(uintptr_t)arguments->text,
                         arguments->length);
    if (!reply)
        fail_msg("redis: %s", scripts->link->errstr);
    return reply;
}

/* The library with another clock in it: two keys that the test has set. To be freed. */
static char *with_own_clock(const char *library)
{
    static const char CLOCK[] = "call('time')", OWN[] = "call('mget', 'clock:s', 'clock:us')";
    const char *found = strstr(library, CLOCK);
    assert_non_null(found);
    char *text = malloc(strlen(library) + sizeof OWN);
    sprintf(text, "%.*s%s%s", (int)(found - library), library, OWN, found + strlen(CLOCK));
    return text;
}

static void write_clock(struct scripts *scripts)
{
    bool is_full = scripts->is_full;
    if (is_full)
        scripts_limit_memory(scripts, 0);
    freeReplyObject(redis_process_command(&scripts->redis, "MSET clock:s %lld clock:us %lld",
                                          (long long)(scripts->clock_us / 1000000),
                                          (long long)(scripts->clock_us % 1000000)));
    if (is_full)
        scripts_limit_memory(scripts, 1);
}

/* The library with a call in it that fails, when set_cut has said which: as if Redis did not let
 * batond's user run that one. To be freed. */
static char *with_a_cut(const char *library)
{
    static const char HEAD[] = "local calls, run, redis = 0, redis "
                               "local function cut(name) calls = calls - 1 "
                               "if calls == 0 and string.sub(name, 1, 7) ~= 'pexpire' then "
                               "error({err = 'NOPERM cut'}) end end "
                               "redis = {register_function = run.register_function, "
                               "call = function(...) cut(...) return _G.redis.call(...) end, "
                               "pcall = function(...) cut(...) return _G.redis.pcall(...) end} "
                               "run.register_function(LIBRARY .. '_set_cut', "
                               "function(_, argv) calls = argv[1] + 0 return calls end)\n";
    const char *rest = strchr(strchr(library, '\n') + 1, '\n') + 1; /* behind LIBRARY = ... */
    size_t size = strlen(library) + sizeof HEAD;
    char *text = malloc(size);
    snprintf(text, size, "%.*s%s%s", (int)(rest - library), library, HEAD, rest);
    return text;
}

/* The kinds of libraries that tests call: batond's own, or one that is changed and has another
 * name. */
struct library_kind {
    bool has_clock;
    bool has_cut;
};

static struct library_kind library_kind(const struct scripts *scripts)
{
    return (struct library_kind){.has_clock = scripts->clock_us, .has_cut = scripts->cut_at > 0};
}

/* In the name of the library, which is as long then: "baton_" and 16 digits. */
static void rename_library(struct library_kind kind, char *text)
{
    static const char *const NAMES[] = {"0000000000000000", "clock00000000000", "cut0000000000000",
                                        "clockcut00000000"};
    const char *name = NAMES[kind.has_clock + 2 * kind.has_cut];
    const char *digits = script_library.name + strlen("baton_");
    for (char *at; (kind.has_clock || kind.has_cut) && (at = strstr(text, digits));)
        memcpy(at, name, strlen(name));
}

/* Its name is that of batond's library. */
static char *library_of_a_file(const char *path)
{
    enum { LONGEST = 1 << 20 };
    char *text = calloc(1, LONGEST);
    FILE *file = fopen(path, "r");
    if (!file || fread(text, 1, LONGEST - 1, file) == 0)
        fail_msg("%s: no library", path);
    fclose(file);
    return text;
}

static char *library_text(struct library_kind kind)
{
    const char *other = getenv("BATON_TEST_LIBRARY");
    char *text = other ? library_of_a_file(other) : strdup(script_library.text);
    if (kind.has_clock) {
        char *plain = text;
        text = with_own_clock(plain);
        free(plain);
    }
    if (kind.has_cut) {
        char *whole = text;
        text = with_a_cut(whole);
        free(whole);
    }
    rename_library(kind, text);
    return text;
}

static bool is_error(const redisReply *reply, const char *code)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, code, strlen(code)) == 0;
}

static void load_library(struct scripts *scripts)
{
    bool is_full = scripts->is_full;
    char *text = library_text(library_kind(scripts));
    if (is_full)
        scripts_limit_memory(scripts, 0);
    redisReply *reply = redisCommand(scripts->link, "FUNCTION LOAD REPLACE %s", text);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("FUNCTION LOAD: %s", reply->str);
    freeReplyObject(reply);
    free(text);
    if (is_full)
        scripts_limit_memory(scripts, 1);
}

/* Loads the library first where Redis does not know it. */
static redisReply *call_function(struct scripts *scripts, const char *function,
                                 struct arguments *all)
{
    char name[TEXT];
    snprintf(name, sizeof name, "%s", function);
    rename_library(library_kind(scripts), name);
    all->text[1] = name, all->length[1] = strlen(name);
    redisReply *reply = send(scripts, all);
    if (is_error(reply, "ERR Function not found")) {
        freeReplyObject(reply);
        load_library(scripts);
        reply = send(scripts, all);
    }
    all->text[1] = "", all->length[1] = 0;
    return reply;
}

/* The n-th call of Redis fails from now on. */
static void set_cut(struct scripts *scripts)
{
    char name[TEXT], number[NUMBER];
    struct arguments all = {0};
    snprintf(name, sizeof name, "%s_set_cut", script_library.name);
    snprintf(number, sizeof number, "%d", scripts->cut_at);
    push(&all, "FCALL");
    push(&all, "");
    push(&all, "0");
    push(&all, number);
    freeReplyObject(call_function(scripts, name, &all));
}

static redisReply *call_script(struct scripts *scripts, const struct script *script,
                               struct arguments *all)
{
    if (scripts->clock_us)
        write_clock(scripts);
    if (scripts->cut_at > 0)
        set_cut(scripts);
    redisReply *reply = call_function(scripts, script->function, all);
    if (script->when_full && is_error(reply, "OOM")) {
        freeReplyObject(reply);
        reply = call_function(scripts, script->when_full, all);
    }
    scripts->was_cut = scripts->cut_at > 0 && reply->type == REDIS_REPLY_ERROR;
    if (scripts->was_cut && !strstr(reply->str, "NOPERM cut"))
        fail_msg("call %d: %s", scripts->cut_at, reply->str);
    return reply;
}

/* As a client of a Cluster follows ASK. */
static redisReply *send_asking(struct scripts *scripts, const struct script *script,
                               struct arguments *all, redisReply *refusal)
{
    redisContext *link = scripts->link;
    freeReplyObject(refusal);
    scripts->link = scripts->ask;
    load_library(scripts);
    freeReplyObject(redisCommand(scripts->ask, "ASKING"));
    redisReply *reply = call_script(scripts, script, all);
    scripts->link = link;
    return reply;
}

static redisReply *run_command(struct scripts *scripts, const struct script *script,
                               size_t key_count, const char *const *keys,
                               const struct arguments *arguments)
{
    struct stamp stamp = {(double)scripts->retention_ms * 1000,
                          INFINITY,
                          (double)scripts->opens_us,
                          (double)scripts->floor_us,
                          (double)scripts->level_us,
                          {0},
                          {0}};
    char stamp_bytes[STORE_STAMP_LENGTH];
    if (scripts->latest_us)
        stamp.latest = (double)scripts->latest_us;
    if (scripts->epoch)
        memcpy(stamp.epoch, scripts->epoch, sizeof stamp.epoch);
    if (scripts->tag)
        snprintf(stamp.tag, sizeof stamp.tag, "%s", scripts->tag);
    stamp_write(&stamp, stamp_bytes);
    struct arguments all = {0};
    push(&all, "FCALL");
    push(&all, "");
    push_number(&all, (int64_t)key_count);
    for (size_t i = 0; i < key_count; i++)
        push(&all, keys[i]);
    push_bytes(&all, stamp_bytes, sizeof stamp_bytes);
    for (int i = 0; i < arguments->count; i++)
        push_bytes(&all, arguments->text[i], arguments->length[i]);
    redisReply *reply = call_script(scripts, script, &all);
    return scripts->ask && is_error(reply, "ASK") ? send_asking(scripts, script, &all, reply)
                                                  : reply;
}

static redisReply *run_alone(struct scripts *scripts, const struct script *script, const char *key,
                             const struct arguments *arguments)
{
    return run_command(scripts, script, scripts->ask ? 2 : 1, (const char *const[]){key, key},
                       arguments);
}

/* Recording */

struct recording {
    size_t count;
    struct recorded {
        const struct script *script;
        char *key;
        struct arguments arguments; /* their texts to be freed */
        char *reply;
    } calls[RECORDED_MOST];
};

/* An error without what Redis adds, which depends on how a function was called. */
static void print_error_of(FILE *out, const char *error)
{
    const char *end = strstr(error, " script: ");
    const char *begin = strncmp(error, "ERR user_function", 17) == 0 ? error + 4 : error;
    fprintf(out, "error %.*s", (int)(end ? end - begin : (long)strlen(begin)), begin);
}

static void print_reply(FILE *out, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR)
        print_error_of(out, reply->str);
    else if (reply->type == REDIS_REPLY_INTEGER)
        fprintf(out, "%lld", reply->integer);
    for (size_t i = 0; reply->type == REDIS_REPLY_STRING && i < reply->len; i++)
        fprintf(out, "%02x", (unsigned char)reply->str[i]);
    for (size_t i = 0; i < reply->elements; i++) {
        fputs(" [", out);
        print_reply(out, reply->element[i]);
        fputs("]", out);
    }
}

static char *reply_text(const redisReply *reply)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    print_reply(out, reply);
    fclose(out);
    return text;
}

static void record(struct recording *recording, const struct script *script, const char *key,
                   const struct arguments *arguments, const redisReply *reply)
{
    assert_true(recording->count < RECORDED_MOST);
    struct recorded *recorded = &recording->calls[recording->count++];
    *recorded =
        (struct recorded){script, strdup(key), {.count = arguments->count}, reply_text(reply)};
    for (int i = 0; i < arguments->count; i++) {
        recorded->arguments.length[i] = arguments->length[i];
        recorded->arguments.text[i] =
            memcpy(malloc(arguments->length[i] + 1), arguments->text[i], arguments->length[i] + 1);
    }
}

void recording_begin(struct scripts *scripts)
{
    scripts->recording = calloc(1, sizeof *scripts->recording);
}

struct recording *recording_end(struct scripts *scripts)
{
    struct recording *recording = scripts->recording;
    scripts->recording = NULL;
    return recording;
}

/* Takes one of its replies out of that of a command. */
static redisReply *reply_take(redisReply *all, size_t i)
{
    redisReply *reply = all->element[i];
    all->element[i] = NULL;
    return reply;
}

static void push_part(struct arguments *all, const struct script *script,
                      const struct arguments *part)
{
    push(all, script->name);
    push_number(all, part->count);
    for (int i = 0; i < part->count; i++)
        push_bytes(all, part->text[i], part->length[i]);
}

/* As run_alone, by a command that could have more calls. Where Redis is full, the call is made
 * alone. */
static redisReply *run_together(struct scripts *scripts, const struct script *script,
                                const char *key, const struct arguments *arguments)
{
    struct arguments all = {0};
    push_part(&all, script, arguments);
    redisReply *reply = run_alone(scripts, &script_many, key, &all);
    if (is_error(reply, "OOM")) {
        freeReplyObject(reply);
        return run_alone(scripts, script, key, arguments);
    }
    if (reply->type != REDIS_REPLY_ARRAY)
        return reply;
    assert_int_equal(reply->elements, 1);
    redisReply *inner = reply_take(reply, 0);
    freeReplyObject(reply);
    scripts->was_cut = scripts->cut_at > 0 && inner->type == REDIS_REPLY_ERROR;
    return inner;
}

static redisReply *run(struct scripts *scripts, const struct script *script, const char *key,
                       struct arguments *arguments)
{
    bool together = scripts->together && script->is_gathered && !scripts->ask && key[0];
    redisReply *reply = (together ? run_together : run_alone)(scripts, script, key, arguments);
    if (scripts->recording)
        record(scripts->recording, script, key, arguments, reply);
    return reply;
}

static int64_t integer(const redisReply *reply, size_t i);
static void text(const redisReply *reply, size_t i, char *ret, size_t size);

/* The next number or text of a packed reply. */

static int64_t take(struct slice *rest)
{
    int64_t number = 0;
    assert_true(packed_take(rest, &number));
    return number;
}

static void take_text(struct slice *rest, char *ret, size_t size)
{
    struct slice found = {NULL, 0};
    assert_true(packed_take_text(rest, &found));
    assert_true(found.length < size);
    memcpy(ret, found.bytes, found.length + 1);
}

static struct slice packed_of(const redisReply *reply)
{
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    return (struct slice){reply->str, (size_t)reply->len};
}

static void read_expiry(const redisReply *entry, struct seen_expiry *ret)
{
    *ret = (struct seen_expiry){.count = 1};
    if (entry->type == REDIS_REPLY_ARRAY) {
        text(entry, 0, ret->key, sizeof ret->key);
        ret->count = integer(entry, 1);
        return;
    }
    struct slice rest = packed_of(entry);
    ret->fence = take(&rest);
    ret->held_ms = take(&rest);
    take_text(&rest, ret->owner, sizeof ret->owner);
    take_text(&rest, ret->mode, sizeof ret->mode);
    assert_true(rest.length < sizeof ret->key);
    memcpy(ret->key, rest.bytes, rest.length);
    ret->key[rest.length] = '\0';
}

/* What servers were notified of under this test's name, if any. */
static void read_due(struct scripts *scripts, const redisReply *all)
{
    for (size_t i = 0; i + 1 < all->elements; i += 2)
        scripts->due_ms = all->element[i + 1]->integer;
}

/* The reply of the script, without what it says of what has expired, and what is due. */
static redisReply *eval_once(struct scripts *scripts, const struct script *script, const char *key,
                             struct arguments *arguments)
{
    redisReply *reply = run(scripts, script, key, arguments);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 4 || reply->elements > 5 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        strcmp(reply->element[0]->str, "beside") != 0)
        return reply;
    const redisReply *all = reply->element[2];
    assert_in_range(all->elements, 0, REPORTED_MOST);
    read_due(scripts, reply->element[3]);
    for (size_t i = 0; i < all->elements && scripts->expired_count < EXPIRIES; i++)
        read_expiry(all->element[i], &scripts->expired[scripts->expired_count++]);
    const redisReply *damaged = reply->elements == 5 ? reply->element[4] : NULL;
    for (size_t i = 0; damaged && i < damaged->elements; i += 2)
        text(damaged, i, scripts->damaged[scripts->damaged_count++], TEXT);
    redisReply *inner = reply->element[1];
    reply->element[1] = NULL;
    freeReplyObject(reply);
    return inner;
}

static void recording_free(struct recording *recording)
{
    for (size_t i = 0; i < recording->count; i++) {
        free(recording->calls[i].key);
        free(recording->calls[i].reply);
        for (int j = 0; j < recording->calls[i].arguments.count; j++)
            free((char *)(uintptr_t)recording->calls[i].arguments.text[j]);
    }
    free(recording);
}

static int recording_compare(const struct recording *recording, const redisReply *replies)
{
    int differ = 0;
    assert_int_equal(replies->elements, recording->count);
    for (size_t i = 0; i < recording->count; i++) {
        const struct recorded *alone = &recording->calls[i];
        char *together = reply_text(replies->element[i]);
        if (strcmp(alone->reply, together) != 0) {
            differ++;
            print_message("%s %s: alone %s, together %s\n", alone->script->name, alone->key,
                          alone->reply, together);
        }
        free(together);
    }
    return differ;
}

int recording_repeat(struct scripts *scripts, struct recording *recording, char ret[TEXT])
{
    struct arguments all = {0};
    const char *keys[RECORDED_MOST];
    for (size_t i = 0; i < recording->count; i++) {
        keys[i] = recording->calls[i].key;
        push_part(&all, recording->calls[i].script, &recording->calls[i].arguments);
    }
    redisReply *replies = run_command(scripts, &script_many, recording->count, keys, &all);
    bool is_done = replies->type == REDIS_REPLY_ARRAY;
    snprintf(ret, TEXT, "%s", is_done ? "" : replies->str);
    int differ = is_done ? recording_compare(recording, replies) : -1;
    freeReplyObject(replies);
    recording_free(recording);
    return differ;
}

char *redis_digest(struct scripts *scripts)
{
    redisReply *reply = redis_process_command(
        &scripts->redis, "EVAL %s 0",
        "local keys, all = redis.call('keys', '*'), {} table.sort(keys) "
        "for _, key in ipairs(keys) do all[#all + 1] = key .. redis.call('dump', key) end "
        "return redis.sha1hex(table.concat(all))");
    char *text = strdup(reply->str);
    freeReplyObject(reply);
    return text;
}

static bool is_unfinished(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           strcmp(reply->element[0]->str, "unfinished") == 0;
}

/* As batond does: what is not finished is run again. */
static redisReply *eval(struct scripts *scripts, const struct script *script, const char *key,
                        struct arguments *arguments)
{
    scripts->expired_count = scripts->damaged_count = 0;
    scripts->due_ms = -1;
    scripts->turns = 1;
    redisReply *reply = eval_once(scripts, script, key, arguments);
    for (; !scripts->is_impatient && is_unfinished(reply); scripts->turns++) {
        freeReplyObject(reply);
        reply = eval_once(scripts, script, key, arguments);
    }
    return reply;
}

/* What must be true of a name's keys at any time: each has an expiry, the main key outlives the
 * last number issued by the retention, or a later number could be lower, and those who wait, and
 * what it counts is what the other keys hold. */
static const char CHECK[] =
    "local key, all, count = KEYS[1], {}, {} "
    "for i, suffix in ipairs({'', ':holds', ':expiries', ':owners', ':released:0', ':released:1', "
    "':servers', ':waiters', ':ends', ':queue:absent', ':queue:missed', ':queue:one', "
    "':queue:two', ':queue:three', ':queue:four', ':entrants'}) do "
    "all[i + 1] = redis.call('pttl', key .. suffix) "
    "local kind = redis.call('type', key .. suffix).ok "
    "count[suffix] = kind == 'hash' and redis.call('hlen', key .. suffix) or "
    "kind == 'zset' and redis.call('zcard', key .. suffix) or 0 end "
    "local time = redis.call('time') all[1] = time[1] * 1000000 + time[2] "
    "local packed = redis.call('get', key) "
    "if not packed or ARGV[1] == '1' then return {all, ''} end "
    "if string.byte(packed, 2) ~= 0 then return {all, ''} end " /* a plain name */
    "local _, _, _, _, _, _, waiters, away, unclaimed, _, _, servers = "
    "struct.unpack('<BBdI4I4I4I4I4I4I4I4I4', packed) "
    "local held = select(27, struct.unpack('<BBdI4I4I4I4I4I4I4I4I4ddddsddddddsss', packed)) "
    "local rest = held <= #packed and select(16, struct.unpack('<BsssssddddddI4dI4', packed, "
    "held)) "
    "if rest and rest <= #packed then "
    "return {all, waiters + unclaimed ~= 1 and waiters .. ' waiters, ' .. unclaimed .. "
    "' unclaimed, and a front' or away > 0 and away .. ' away, and a front' or "
    "servers ~= 1 and servers .. ' servers of a front' or ''} end "
    "local absent = count[':queue:absent'] + count[':queue:missed'] "
    "local queued = absent + count[':queue:one'] + count[':queue:two'] + count[':queue:three'] + "
    "count[':queue:four'] "
    "return {all, waiters ~= queued and waiters .. ' waiters, queued ' .. queued or "
    "count[':entrants'] > queued and queued .. ' queued, entrants ' .. count[':entrants'] or "
    "away ~= absent and away .. ' away, absent or missed ' .. absent or "
    "away ~= count[':ends'] and away .. ' away, ends ' .. count[':ends'] or "
    "waiters + unclaimed ~= count[':waiters'] and "
    "waiters .. ' waiters, ' .. unclaimed .. ' unclaimed, records ' .. count[':waiters'] or "
    "servers ~= count[':servers'] and servers .. ' servers, entries ' .. count[':servers'] or ''}";

enum { FIRST_OF_QUEUE = 7 }; /* in what CHECK returns: those who wait */

static void check_keys(struct scripts *scripts, const char *key, int64_t version)
{
    redisReply *reply = redisCommand(scripts->link, "EVAL %s 1 %s %s", CHECK, key,
                                     scripts->keys_were_lost ? "1" : "0");
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    const redisReply *all = reply->element[0];
    for (size_t i = 1; i < all->elements; i++)
        if (all->element[i]->integer == -1)
            fail_msg("key %zu of %s has no expiry", i, key);
    int64_t now = all->element[0]->integer, pttl = all->element[1]->integer;
    if (version > 0 && pttl >= 0 && now + pttl * 1000 < version + scripts->retention_ms * 1000)
        fail_msg("the main key of %s ends %" PRId64 " us before its version is past", key,
                 version + scripts->retention_ms * 1000 - now - pttl * 1000);
    for (size_t i = FIRST_OF_QUEUE; !scripts->keys_were_lost && i < all->elements; i++)
        if (all->element[i]->integer > pttl)
            fail_msg("key %zu of %s outlives the main key", i, key);
    if (reply->element[1]->len > 0)
        fail_msg("%s: %s", key, reply->element[1]->str);
    freeReplyObject(reply);
}

static void look_at_keys(struct scripts *scripts, const char *key, int64_t version)
{
    if (!scripts->unwatched)
        check_keys(scripts, key, version);
}

/* Reading replies. */

static int64_t integer(const redisReply *reply, size_t i)
{
    assert_true(i < reply->elements);
    assert_int_equal(reply->element[i]->type, REDIS_REPLY_INTEGER);
    return reply->element[i]->integer;
}

static void text(const redisReply *reply, size_t i, char *ret, size_t size)
{
    assert_true(i < reply->elements);
    assert_int_equal(reply->element[i]->type, REDIS_REPLY_STRING);
    assert_true(reply->element[i]->len < (size_t)size);
    memcpy(ret, reply->element[i]->str, (size_t)reply->element[i]->len + 1);
}

static void read_line(const redisReply *line, struct seen *ret)
{
    assert_true(line->elements <= SHOWN);
    ret->line = line->elements;
    for (size_t i = 0; i < ret->line; i++) {
        const redisReply *from = line->element[i];
        text(from, 0, ret->in_line[i].owner, sizeof ret->in_line[i].owner);
        text(from, 1, ret->in_line[i].mode, sizeof ret->in_line[i].mode);
        ret->in_line[i].waited_ms = integer(from, 2);
        ret->in_line[i].since_us = integer(from, 3);
        text(from, 4, ret->in_line[i].client, sizeof ret->in_line[i].client);
    }
}

static void read_holds(struct slice rest, struct seen *ret)
{
    for (ret->shown = 0; rest.length > 0; ret->shown++) {
        assert_true(ret->shown < SHOWN);
        struct seen_hold *hold = &ret->shown_holds[ret->shown];
        hold->fence = take(&rest);
        hold->ttl_ms = take(&rest);
        hold->held_ms = take(&rest);
        hold->since_us = take(&rest);
        take_text(&rest, hold->owner, sizeof hold->owner);
        take_text(&rest, hold->mode, sizeof hold->mode);
        take_text(&rest, hold->meta, sizeof hold->meta);
        char *more = strchr(hold->mode, '+');
        if (!more)
            continue;
        *more = '\0';
        hold->permits = take(&rest);
        hold->released = take(&rest);
        hold->at_least_ms = take(&rest);
        hold->max_held_ms = take(&rest);
    }
}

static void read_name(const redisReply *reply, struct seen *ret)
{
    struct slice rest = packed_of(reply);
    *ret = (struct seen){.version = take(&rest)};
    ret->holds = take(&rest);
    ret->extra_permits = take(&rest);
    ret->limit = take(&rest);
    ret->waiters = take(&rest);
    int64_t standing = take(&rest);
    ret->mine = standing > 0;
    ret->position = standing < 0 ? -standing : 0;
    ret->last_fence = take(&rest);
    ret->last_ago_ms = take(&rest);
    take_text(&rest, ret->last_reason, sizeof ret->last_reason);
    take_text(&rest, ret->last_owner, sizeof ret->last_owner);
    read_holds(rest, ret);
}

static void read_seen(const redisReply *reply, struct seen *ret)
{
    read_name(reply->element[0], ret);
    if (reply->elements > 1)
        read_line(reply->element[1], ret);
}

static void read_terms(struct slice rest, struct answer *ret)
{
    if (rest.length == 0)
        return;
    ret->at_least_ms = take(&rest);
    ret->max_held_ms = take(&rest);
    if (rest.length > 0)
        ret->permits = take(&rest);
}

static void read_reported(struct slice rest, struct answer *ret)
{
    ret->fence = take(&rest);
    ret->ttl_ms = take(&rest);
    ret->holds = take(&rest);
    ret->version = take(&rest);
    ret->limit = take(&rest);
    take_text(&rest, ret->owner, sizeof ret->owner);
    take_text(&rest, ret->mode, sizeof ret->mode);
    read_terms(rest, ret);
}

static void read_other_limit(const redisReply *reply, size_t i, struct answer *ret)
{
    ret->other_limit = reply->elements > i ? integer(reply, i) + 1 : 0;
}

/* The reply reports of a new hold only what the request did not say. */
static void read_granted(const redisReply *reply, struct answer *ret)
{
    ret->fence = ret->version = integer(reply, 1);
    ret->holds = integer(reply, 2);
    read_other_limit(reply, 3, ret);
}

static void read_ended(struct slice rest, struct answer *ret)
{
    ret->fence = take(&rest);
    ret->held_ms = take(&rest);
    ret->holds = take(&rest);
    ret->version = take(&rest);
    take_text(&rest, ret->owner, sizeof ret->owner);
    if (rest.length == PACKED_NUMBER) {
        ret->free_in_ms = take(&rest);
    } else if (rest.length > 0) {
        take_text(&rest, ret->next_attempt, sizeof ret->next_attempt);
        take_text(&rest, ret->next_owner, sizeof ret->next_owner);
        ret->ttl_ms = take(&rest);
        read_terms(rest, ret);
    }
}

/* A packed reply begins with its word. */
static void read_packed(const redisReply *reply, struct answer *ret)
{
    struct slice rest = packed_of(reply);
    take_text(&rest, ret->status, sizeof ret->status);
    ret->repeated = strcmp(ret->status, "repeated") == 0;
    if (ret->repeated || strcmp(ret->status, "released") == 0)
        read_ended(rest, ret);
    else
        read_reported(rest, ret);
    if (ret->repeated)
        strcpy(ret->status, "released");
}

static void read_refusal(const redisReply *reply, struct answer *ret)
{
    read_name(reply->element[1], &ret->view);
    read_other_limit(reply, 2, ret);
    ret->version = ret->view.version;
}

static void read_waiting(const redisReply *reply, struct answer *ret)
{
    ret->next_ms = integer(reply, 1);
    read_other_limit(reply, 2, ret);
}

static void read_quarantined(const redisReply *reply, struct answer *ret)
{
    ret->next_ms = integer(reply, 1);
    text(reply, 2, ret->reason, sizeof ret->reason);
}

static void read_use(const redisReply *reply, struct answer *ret)
{
    text(reply, 1, ret->mode, sizeof ret->mode);
    ret->limit = integer(reply, 2);
    text(reply, 3, ret->owner, sizeof ret->owner);
    ret->count = integer(reply, 4);
    ret->permits = integer(reply, 5);
    ret->reentry = integer(reply, 6);
}

static void read_too_many(const redisReply *reply, struct answer *ret)
{
    ret->count = integer(reply, 1);
}

static void read_cancelled(const redisReply *reply, struct answer *ret)
{
    ret->version = integer(reply, 1);
}

static const struct {
    const char *status;
    void (*read)(const redisReply *reply, struct answer *ret);
} READERS[] = {
    {"granted", read_granted},         {"cancelled", read_cancelled},
    {"waiting", read_waiting},         {"locked", read_refusal},
    {"timeout", read_refusal},         {"too_many_waiters", read_too_many},
    {"quarantined", read_quarantined}, {"token_in_use", read_use},
};

/* `released` from an acquire says nothing else. */
static struct answer read_answer(redisReply *reply)
{
    struct answer answer = {.status = ""};
    if (reply->type == REDIS_REPLY_INTEGER) { /* granted, in the common case */
        answer = (struct answer){.status = "granted", .fence = reply->integer, .holds = 1};
        answer.version = answer.fence;
    } else if (reply->type == REDIS_REPLY_ERROR) {
        snprintf(answer.status, sizeof answer.status, "%s", reply->str);
    } else if (reply->type == REDIS_REPLY_STRING) {
        read_packed(reply, &answer);
    } else {
        text(reply, 0, answer.status, sizeof answer.status);
        for (size_t i = 0; i < sizeof READERS / sizeof READERS[0]; i++)
            if (reply->elements > 1 && !strcmp(answer.status, READERS[i].status))
                READERS[i].read(reply, &answer);
    }
    freeReplyObject(reply);
    return answer;
}

/* The operations. */

static struct answer operate(struct scripts *scripts, const struct script *script, const char *name,
                             struct arguments *arguments)
{
    struct name_key key = key_of(name, "");
    struct answer answer = read_answer(eval(scripts, script, key.text, arguments));
    look_at_keys(scripts, key.text, answer.version);
    return answer;
}

static const char *or_else(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

enum {
    TERMS_FOLLOW = 16,
    SET_FOLLOWS = 32,
    PERMITS_FOLLOW = 64
}; /* at_least and max_held; the number of a set of names */

/* What a request for a hold is. Returns its length. */
static size_t pack_request(struct scripts *scripts, const struct acquiring *acquiring,
                           int64_t ttl_ms, char *packed)
{
    char fresh[NUMBER];
    snprintf(fresh, sizeof fresh, "fresh%u", scripts->attempts++);
    const char *token = or_else(acquiring->token, "token");
    const char *texts[] = {token, or_else(acquiring->owner, token),
                           or_else(acquiring->mode, "exclusive"),
                           or_else(acquiring->attempt, fresh), or_else(acquiring->meta, "")};
    bool has_terms = acquiring->at_least_ms || acquiring->max_held_ms;
    int sent = acquiring->token_is_new ? 0 : acquiring->again ? 2 : 1;
    packed[0] =
        (char)(sent + (acquiring->reenters ? 4 : 0) + (has_terms ? TERMS_FOLLOW : 0) +
               (acquiring->set ? SET_FOLLOWS : 0) + (acquiring->permits ? PERMITS_FOLLOW : 0));
    packed_put(packed_put(packed + 1, (double)ttl_ms), (double)acquiring->limit);
    size_t length = 1 + 2 * PACKED_NUMBER;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        memcpy(packed + length, texts[i], strlen(texts[i]) + 1);
        length += strlen(texts[i]) + 1;
    }
    char *end = packed + length;
    if (has_terms)
        end = packed_put(packed_put(end, (double)acquiring->at_least_ms),
                         (double)acquiring->max_held_ms);
    if (acquiring->set)
        end = packed_put(end, (double)acquiring->set);
    if (acquiring->permits)
        end = packed_put(end, (double)acquiring->permits);
    return (size_t)(end - packed);
}

/* Of a hold that was just granted. */
static int64_t lease_of(const struct acquiring *acquiring, int64_t ttl_ms)
{
    int64_t least = acquiring->at_least_ms > ttl_ms ? acquiring->at_least_ms : ttl_ms;
    return acquiring->max_held_ms && acquiring->max_held_ms < least ? acquiring->max_held_ms
                                                                    : least;
}

struct answer acquire_with(struct scripts *scripts, const struct acquiring *acquiring)
{
    char packed[1 + 6 * PACKED_NUMBER + 5 * TEXT];
    struct arguments arguments = {0};
    int64_t ttl_ms = acquiring->ttl_ms ? acquiring->ttl_ms : TTL_MS;
    push_bytes(&arguments, packed, pack_request(scripts, acquiring, ttl_ms, packed));
    if (acquiring->server) {
        push(&arguments, acquiring->server);
        push_number(&arguments, acquiring->lease_ms ? acquiring->lease_ms : LEASE_MS);
        push_number(&arguments, acquiring->claim_ms ? acquiring->claim_ms : CLAIM_MS);
        push_number(&arguments, acquiring->keep_ms);
        push_number(&arguments, acquiring->bound ? acquiring->bound : BOUND);
    }
    struct answer answer =
        operate(scripts, &script_acquire, or_else(acquiring->name, "n"), &arguments);
    if (strcmp(answer.status, "granted") == 0) {
        const char *token = or_else(acquiring->token, "token");
        answer.ttl_ms = lease_of(acquiring, ttl_ms);
        answer.at_least_ms = acquiring->at_least_ms;
        answer.max_held_ms = acquiring->max_held_ms;
        answer.limit = acquiring->limit;
        answer.permits = acquiring->permits;
        snprintf(answer.owner, sizeof answer.owner, "%s", or_else(acquiring->owner, token));
        snprintf(answer.mode, sizeof answer.mode, "%s", or_else(acquiring->mode, "exclusive"));
    }
    return answer;
}

struct answer renew(struct scripts *scripts, const char *name, const char *token, int64_t ttl_ms)
{
    struct arguments arguments = {0};
    push(&arguments, token);
    if (ttl_ms)
        push_number(&arguments, ttl_ms);
    else
        push(&arguments, "");
    return operate(scripts, &script_renew, name, &arguments);
}

struct answer begin_terms(struct scripts *scripts, const char *name, const char *token,
                          int64_t at_least_ms, int64_t max_held_ms)
{
    struct arguments arguments = {0};
    push(&arguments, token);
    push_number(&arguments, TTL_MS);
    push(&arguments, "server");
    push_number(&arguments, at_least_ms);
    push_number(&arguments, max_held_ms);
    return operate(scripts, &script_renew, name, &arguments);
}

struct answer release_at(struct scripts *scripts, const char *name, const char *token,
                         const char *server)
{
    struct arguments arguments = {0};
    push(&arguments, token);
    if (server)
        push(&arguments, server);
    return operate(scripts, &script_release, name, &arguments);
}

struct answer release(struct scripts *scripts, const char *name, const char *token)
{
    return release_at(scripts, name, token, NULL);
}

struct answer release_connection(struct scripts *scripts, const char *name, const char *token,
                                 const char *attempt)
{
    struct arguments arguments = {0};
    push(&arguments, token);
    push(&arguments, "");
    push(&arguments, "");
    push(&arguments, attempt);
    return operate(scripts, &script_release, name, &arguments);
}

struct answer leave_with(struct scripts *scripts, const struct leaving *leaving)
{
    struct arguments arguments = {0};
    push(&arguments, leaving->token);
    push(&arguments, leaving->attempt);
    push_number(&arguments, leaving->keep_ms);
    push(&arguments, leaving->why);
    push_number(&arguments, leaving->lease_ms ? leaving->lease_ms : LEASE_MS);
    push_number(&arguments, leaving->claim_ms ? leaving->claim_ms : CLAIM_MS);
    return operate(scripts, &script_leave, or_else(leaving->name, "n"), &arguments);
}

static struct answer read_next(redisReply *reply)
{
    struct answer answer = {.status = "next"};
    if (reply->type == REDIS_REPLY_ERROR)
        snprintf(answer.status, sizeof answer.status, "%s", reply->str);
    else
        answer.next_ms = integer(reply, 0);
    return answer;
}

struct answer raise_to(struct scripts *scripts, const char *name, const char *token, int64_t number,
                       int64_t known, const char *step)
{
    struct name_key key = key_of(name, "");
    struct arguments arguments = {0};
    struct answer answer = {0};
    push(&arguments, token);
    push_number(&arguments, number);
    push_number(&arguments, known);
    if (step)
        push(&arguments, step);
    redisReply *reply = eval(scripts, &script_raise, key.text, &arguments);
    if (!scripts->was_cut) {
        text(reply, 0, answer.status, sizeof answer.status);
        answer.version = is_unfinished(reply) ? 0 : integer(reply, 1);
        answer.fence = reply->elements > 2 ? integer(reply, 2) : 0;
    }
    freeReplyObject(reply);
    look_at_keys(scripts, key.text, answer.version);
    return answer;
}

static int64_t number_in(const redisReply *reply, size_t i)
{
    char digits[NUMBER];
    text(reply, i, digits, sizeof digits);
    return strtoll(digits, NULL, 10);
}

struct epoch_seen change_epoch(struct scripts *scripts, const char *id, const char *const *words)
{
    struct arguments arguments = {0};
    struct epoch_seen seen;
    push(&arguments, id);
    for (; *words; words++)
        push(&arguments, *words);
    redisReply *reply = run(scripts, &script_epoch, "baton:epoch", &arguments);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("redis: %s", reply->str);
    text(reply, 1, seen.id, sizeof seen.id);
    seen.span = number_in(reply, 4);
    seen.before = number_in(reply, 5);
    seen.turns = number_in(reply, 6);
    seen.until = number_in(reply, 7);
    seen.since = number_in(reply, 9);
    freeReplyObject(reply);
    return seen;
}

struct answer tick(struct scripts *scripts, const char *name, const char *server)
{
    struct name_key key = key_of(name, "");
    struct arguments arguments = {0};
    push(&arguments, server);
    redisReply *reply = eval(scripts, &script_tick, key.text, &arguments);
    struct answer answer = read_next(reply);
    if (strcmp(answer.status, "next") == 0)
        answer.version = integer(reply, 1);
    freeReplyObject(reply);
    look_at_keys(scripts, key.text, answer.version);
    return answer;
}

struct answer watch(struct scripts *scripts, const char *name, const char *server, int64_t lease_ms)
{
    struct name_key key = key_of(name, "");
    struct arguments arguments = {0};
    push(&arguments, server);
    push_number(&arguments, lease_ms ? lease_ms : LEASE_MS);
    push(&arguments, "");
    redisReply *reply = eval(scripts, &script_watch, key.text, &arguments);
    struct answer answer = read_next(reply);
    if (strcmp(answer.status, "next") == 0)
        read_seen(reply->element[1], &answer.view);
    answer.version = answer.view.version;
    freeReplyObject(reply);
    look_at_keys(scripts, key.text, answer.version);
    return answer;
}

static void read_standing(const redisReply *numbers, size_t i, struct standing *ret)
{
    *ret = (struct standing){.waits = numbers->element[3 * i]->integer,
                             .version = numbers->element[3 * i + 1]->integer,
                             .next_ms = numbers->element[3 * i + 2]->integer};
}

void heartbeat(struct scripts *scripts, const char *server, int64_t lease_ms, size_t count,
               const char *const *names, struct standing *ret)
{
    struct arguments arguments = {0};
    struct name_key *keys = calloc(count, sizeof *keys);
    push(&arguments, server);
    push_number(&arguments, lease_ms ? lease_ms : LEASE_MS);
    for (size_t i = 0; i < count; i++) {
        keys[i] = key_of(names[i], "");
        push_bytes(&arguments, keys[i].text, keys[i].length);
    }
    redisReply *reply = eval(scripts, &script_heartbeat, keys[0].text, &arguments);
    if (reply->type != REDIS_REPLY_ARRAY && !scripts->was_cut)
        fail_msg("heartbeat: %s", reply->str);
    if (reply->type != REDIS_REPLY_ARRAY) {
        freeReplyObject(reply);
        free(keys);
        return;
    }
    const redisReply *numbers = reply->element[0], *grants = reply->element[1];
    assert_int_equal(numbers->elements, 3 * count);
    for (size_t i = 0; i < count; i++)
        read_standing(numbers, i, &ret[i]);
    for (size_t i = 0; i + 2 < grants->elements; i += 3) {
        size_t position = (size_t)grants->element[i]->integer;
        assert_in_range(position, 1, count);
        text(grants, i + 1, ret[position - 1].attempt, sizeof ret->attempt);
    }
    freeReplyObject(reply);
    free(keys);
}

static struct answer break_by(struct scripts *scripts, const char *name, const char *fence)
{
    struct name_key key = key_of(name, "");
    struct arguments arguments = {0};
    struct answer answer = {.status = "broken"};
    push(&arguments, fence);
    push(&arguments, BREAKER);
    redisReply *reply = eval(scripts, &script_break, key.text, &arguments);
    if (reply->type == REDIS_REPLY_ERROR) {
        snprintf(answer.status, sizeof answer.status, "%s", reply->str);
    } else if (is_unfinished(reply)) {
        strcpy(answer.status, "unfinished");
    } else {
        answer.count = integer(reply, 0);
        answer.version = integer(reply, 1);
        struct seen ended;
        read_holds(packed_of(reply->element[2]), &ended);
        strcpy(answer.owner, ended.shown > 0 ? ended.shown_holds[0].owner : "");
    }
    freeReplyObject(reply);
    look_at_keys(scripts, key.text, answer.version);
    return answer;
}

struct answer break_all(struct scripts *scripts, const char *name)
{
    return break_by(scripts, name, "");
}

struct answer break_hold(struct scripts *scripts, const char *name, int64_t fence)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)fence);
    return break_by(scripts, name, text);
}

struct answer try_inspect(struct scripts *scripts, const char *name, const char *token)
{
    struct name_key key = key_of(name, "");
    struct arguments arguments = {0};
    push(&arguments, token);
    struct answer answer = {.status = "seen"};
    redisReply *reply = eval(scripts, &script_inspect, key.text, &arguments);
    if (reply->type == REDIS_REPLY_ERROR)
        snprintf(answer.status, sizeof answer.status, "%s", reply->str);
    else if (is_unfinished(reply))
        strcpy(answer.status, "unfinished");
    else
        read_seen(reply, &answer.view);
    answer.version = answer.view.version;
    freeReplyObject(reply);
    look_at_keys(scripts, key.text, answer.version);
    return answer;
}

struct seen inspect(struct scripts *scripts, const char *name, const char *token)
{
    struct answer answer = try_inspect(scripts, name, token);
    assert_status(answer, "seen");
    return answer.view;
}

struct answer take_back(struct scripts *scripts, const char *name, const char *token,
                        const char *attempt)
{
    bool held = inspect(scripts, name, token).mine;
    struct answer answer =
        leave(scripts, .name = name, .token = token, .attempt = attempt, .why = "gone");
    assert_status(answer, "left");
    struct seen seen = inspect(scripts, name, token);
    strcpy(answer.status, held && !seen.mine ? "released" : "not_held");
    answer.version = seen.version;
    return answer;
}

static void read_page(const redisReply *reply, struct page *page)
{
    text(reply, 0, page->cursor, sizeof page->cursor);
    const redisReply *rest = reply->element[1], *found = reply->element[2];
    for (size_t i = 0; i < rest->elements; i++)
        text(rest, i, page->rest[page->rest_count++], sizeof page->rest[0]);
    for (size_t i = 0; i < found->elements; i++) {
        text(found->element[i], 0, page->keys[i], sizeof page->keys[0]);
        read_seen(found->element[i]->element[1], &page->views[i]);
        page->count++;
    }
}

struct page *list(struct scripts *scripts, const char *cursor, const char *pattern, int64_t limit,
                  int64_t budget, char (*rest)[64], size_t rest_count)
{
    struct page *page = calloc(1, sizeof *page);
    struct arguments arguments = {0};
    push(&arguments, cursor);
    push(&arguments, pattern);
    push_number(&arguments, limit);
    push_number(&arguments, budget);
    push(&arguments, scripts->list_owner ? scripts->list_owner : "");
    push_number(&arguments, scripts->list_held_ms);
    for (size_t i = 0; i < rest_count; i++)
        push(&arguments, rest[i]);
    redisReply *reply = eval(scripts, &script_list, "baton:", &arguments);
    if (reply->type == REDIS_REPLY_ERROR)
        snprintf(page->error, sizeof page->error, "%s", reply->str);
    else
        read_page(reply, page);
    freeReplyObject(reply);
    return page;
}

int64_t count_holds(struct scripts *scripts, int64_t budget, int *ret_parts)
{
    char cursor[32] = "0";
    int64_t holds = 0;
    int parts = 0;
    do {
        struct arguments arguments = {0};
        push(&arguments, cursor);
        push(&arguments, "baton:{*}");
        push_number(&arguments, budget);
        redisReply *reply = eval(scripts, &script_count, "baton:", &arguments);
        holds = reply->type == REDIS_REPLY_ERROR ? -1 : holds + reply->element[1]->integer;
        if (holds >= 0)
            text(reply, 0, cursor, sizeof cursor);
        freeReplyObject(reply);
        parts++;
    } while (holds >= 0 && strcmp(cursor, "0") != 0);
    if (ret_parts)
        *ret_parts = parts;
    return holds;
}

/* Redis's clock. */

int64_t redis_now(struct scripts *scripts)
{
    redisReply *reply = redis_process_command(&scripts->redis, "TIME");
    int64_t now = strtoll(reply->element[0]->str, NULL, 10) * 1000000 +
                  strtoll(reply->element[1]->str, NULL, 10);
    freeReplyObject(reply);
    return now;
}

void sleep_until(struct scripts *scripts, int64_t time_us)
{
    int64_t now;
    if (scripts->clock_us && scripts->clock_us < time_us)
        scripts->clock_us = time_us;
    while (!scripts->clock_us && (now = redis_now(scripts)) < time_us)
        clock_sleep_ms((time_us - now + 999) / 1000);
}

void sleep_past(struct scripts *scripts, int64_t ms)
{
    int64_t now = scripts->clock_us ? scripts->clock_us : redis_now(scripts);
    sleep_until(scripts, now + ms * 1000 + 1);
}

void miss_turns(struct scripts *scripts, int64_t claim_ms)
{
    for (int i = 0; i < 2; i++) {
        sleep_past(scripts, (claim_ms + 1) / 2);
        tick(scripts, "n", "nobody");
    }
}

/* Redis's statistics. */

void reset_stats(struct scripts *scripts)
{
    freeReplyObject(redis_process_command(&scripts->redis, "CONFIG RESETSTAT"));
}

int64_t calls_of(struct scripts *scripts, const char *command)
{
    return redis_process_calls(&scripts->redis, command);
}

double usec_per_call(struct scripts *scripts, const char *command)
{
    char pattern[80];
    snprintf(pattern, sizeof pattern, "cmdstat_%s:", command);
    redisReply *reply = redis_process_command(&scripts->redis, "INFO commandstats");
    const char *found = strstr(reply->str, pattern);
    found = found ? strstr(found, "usec_per_call=") : NULL;
    assert_non_null(found);
    double usec = strtod(found + strlen("usec_per_call="), NULL);
    freeReplyObject(reply);
    return usec;
}

void ready(struct scripts *scripts)
{
    struct arguments arguments = {0};
    struct name_key key = key_of("", "");
    redisReply *reply = run(scripts, &script_ready, key.text, &arguments);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    freeReplyObject(reply);
}
