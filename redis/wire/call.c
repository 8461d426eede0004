#include "redis/wire/call.h"

#include "base/decimal.h"
#include "base/memory.h"
#include "redis/types/events.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
    WORD_OVERHEAD = DECIMAL_LONGEST + 5, /* $, the length, and two line ends */
    SCRIPT_WORDS = 3,                    /* FCALL, the function, the number of keys */
    KEYS_MOST = 2,
};

static char *call_put_number(char *at, char prefix, size_t number)
{
    *at++ = prefix;
    at = decimal_put(at, (int64_t)number);
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

static char *call_put_words(char *at, const struct slice *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        at = call_put_number(at, '$', words[i].length);
        if (words[i].length > 0)
            memcpy(at, words[i].bytes, words[i].length);
        at += words[i].length;
        *at++ = '\r';
        *at++ = '\n';
    }
    return at;
}

static size_t call_room_for(const struct slice *words, size_t count)
{
    size_t room = 0;
    for (size_t i = 0; i < count; i++)
        room += words[i].length + WORD_OVERHEAD;
    return room;
}

/* Allocates the call and its command as one block. Ends the process if memory runs out: Redis keeps
 * all that matters, and a supervisor starts the process again. */
static struct call *call_make(const struct slice *head, size_t head_count, const struct slice *tail,
                              size_t tail_count)
{
    size_t room = WORD_OVERHEAD + call_room_for(head, head_count) + call_room_for(tail, tail_count);
    struct call *call = memory_checked(malloc(sizeof *call + room));
    *call = (struct call){.next = NULL};
    char *at = call_put_number(call->bytes, '*', head_count + tail_count);
    at = call_put_words(at, head, head_count);
    call->stamp = (size_t)(at - call->bytes) + sizeof "$64\r\n" - 1; /* STORE_STAMP_LENGTH */
    at = call_put_words(at, tail, tail_count);
    call->length = (size_t)(at - call->bytes);
    return call;
}

struct call *call_new(const struct slice *words, size_t count)
{
    return call_make(words, count, NULL, 0);
}

struct call *call_new_script(const struct script_call *script_call, size_t key_count)
{
    const struct script *script = script_call->script;
    const struct slice key = script_call->key;
    const struct slice words[SCRIPT_WORDS + KEYS_MOST] = {
        {"FCALL", 5}, slice_of(script->function), {&"012"[key_count], 1}, key, key};
    struct call *call = call_make(words, SCRIPT_WORDS + key_count, script_call->arguments,
                                  script_call->argument_count);
    call->script = script;
    call->key_count = key_count;
    call->key_length = key.length;
    call->arguments = script_call->argument_count - 1;
    call->done = script_call->done;
    call->is_wanted = script_call->is_wanted;
    call->is_once = script_call->is_once;
    call->context = script_call->context;
    return call;
}

void call_allow(struct call *call, unsigned answer_ms)
{
    call->answer_ms = answer_ms;
    call->deadline = uv_hrtime() / 1000000 + answer_ms;
}

/* The last word before the stamp. */
struct slice call_key(const struct call *call)
{
    size_t behind = call->stamp - (sizeof "\r\n$64\r\n" - 1);
    if (call->key_count == 0)
        return slice_of(NULL);
    return (struct slice){call->bytes + behind - call->key_length, call->key_length};
}

/* What follows the stamp: the arguments, as they are sent. */
static struct slice call_arguments(const struct call *call)
{
    size_t behind = call->stamp + STORE_STAMP_LENGTH + sizeof "\r\n" - 1;
    return (struct slice){call->bytes + behind, call->length - behind};
}

/* A command that makes several script calls: its words, and their room; see locks/scripts/many.lua.
 */

enum { PART_WORDS = 3 }; /* its key, its function, and how many arguments it has */

static size_t call_part_room(const struct call *part)
{
    return PART_WORDS * WORD_OVERHEAD + part->key_length + strlen(part->script->name) +
           call_arguments(part).length;
}

static char *call_put_count(char *at, size_t count)
{
    char digits[DECIMAL_LONGEST];
    const struct slice word = {digits, (size_t)(decimal_put(digits, (int64_t)count) - digits)};
    return call_put_words(at, &word, 1);
}

static char *call_put_part(char *at, const struct call *part)
{
    const struct slice function = slice_of(part->script->name), arguments = call_arguments(part);
    at = call_put_words(at, &function, 1);
    at = call_put_count(at, part->arguments);
    memcpy(at, arguments.bytes, arguments.length);
    return at + arguments.length;
}

static char *call_put_many(char *at, size_t words, size_t count, const struct call *first)
{
    const struct slice head[] = {{"FCALL", 5}, slice_of(first->script->library->many)};
    const struct slice stamp = {first->bytes + first->stamp, STORE_STAMP_LENGTH};
    at = call_put_number(at, '*', words);
    at = call_put_words(at, head, sizeof head / sizeof head[0]);
    at = call_put_count(at, count);
    for (const struct call *part = first; part; part = part->next) {
        const struct slice key = call_key(part);
        at = call_put_words(at, &key, 1);
    }
    at = call_put_words(at, &stamp, 1);
    for (const struct call *part = first; part; part = part->next)
        at = call_put_part(at, part);
    return at;
}

struct call *call_new_many(struct call_queue *calls)
{
    const struct call *first = calls->head;
    size_t count = 0, words = SCRIPT_WORDS + 1;
    size_t room = (SCRIPT_WORDS + 2) * WORD_OVERHEAD + strlen(first->script->library->many) +
                  STORE_STAMP_LENGTH;
    for (struct call *part = calls->head; part; part = part->next) {
        part->is_part = true;
        count++;
        words += PART_WORDS + part->arguments;
        room += call_part_room(part);
    }
    struct call *many = memory_checked(malloc(sizeof *many + room));
    *many = (struct call){.deadline = first->deadline, .answer_ms = first->answer_ms};
    many->length = (size_t)(call_put_many(many->bytes, words, count, first) - many->bytes);
    many->parts = call_queue_take(calls);
    return many;
}

/* The byte behind the words FCALL and the function. */
static const char *call_behind_function(const struct call *call)
{
    const char *at = call->bytes;
    for (int line_end = 0; line_end < 5; line_end++)
        at = strchr(at, '\n') + 1;
    return at;
}

struct call *call_when_full(struct call *call)
{
    struct slice function = slice_of(call->script->when_full);
    const char *rest = call_behind_function(call), *behind = call->bytes + call->length;
    const char *count_end = strchr(call->bytes, '\n') + 1;
    struct call *full =
        memory_checked(malloc(sizeof *call + call->length + WORD_OVERHEAD + function.length));
    *full = *call;
    full->is_full = true;
    memcpy(full->bytes, call->bytes, (size_t)(count_end - call->bytes));
    char *at = full->bytes + (count_end - call->bytes);
    const struct slice words[] = {{"FCALL", 5}, function};
    at = call_put_words(at, words, 2);
    memcpy(at, rest, (size_t)(behind - rest));
    full->length = (size_t)(at - full->bytes) + (size_t)(behind - rest);
    full->stamp = call->stamp + full->length - call->length;
    free(call);
    return full;
}

static void call_leave_slot(const struct call *call)
{
    if (call->routing.open)
        --*call->routing.open;
}

void call_end(struct call *call, const struct store_result *result)
{
    call_leave_slot(call);
    if (call->done)
        call->done(call->context, result);
    free(call);
}

void call_finish(struct call *call, enum store_outcome outcome, const struct value *reply,
                 const char *error)
{
    call_end(call, &(struct store_result){outcome, .reply = reply, .error = error});
}

void call_forget(struct call *call)
{
    call_leave_slot(call);
    free(call);
}

void call_queue_push(struct call_queue *queue, struct call *call)
{
    call->next = NULL;
    if (queue->tail)
        queue->tail->next = call;
    else
        queue->head = call;
    queue->tail = call;
}

struct call *call_queue_pop(struct call_queue *queue)
{
    struct call *call = queue->head;
    if (call) {
        queue->head = call->next;
        if (!queue->head)
            queue->tail = NULL;
    }
    return call;
}

struct call_queue call_queue_take(struct call_queue *queue)
{
    struct call_queue taken = *queue;
    *queue = (struct call_queue){NULL, NULL};
    return taken;
}
