#include "locks/calls/operation.h"

#include "base/memory.h"
#include "locks/quarantine/guard.h"

#include <assert.h>

enum {
    ARGUMENTS_MOST = 16,
    SCAN_ARGUMENTS = 3, /* before those of the call */
};

/* An operation that waits for its reply. */
struct operation {
    struct locks *locks;
    operation_reader *read;
    locks_done *done;
    void *context;
};

struct slice operation_key(const struct locks *locks, struct slice name, char key[KEY_LENGTH])
{
    struct slice prefix = locks->options.key_prefix;
    return (struct slice){key, name_to_key(prefix, name, key)};
}

struct slice operation_name(const struct locks *locks, struct slice key, char name[NAME_LENGTH])
{
    struct slice prefix = locks->options.key_prefix;
    return (struct slice){name, name_from_key(prefix, key, name)};
}

const char *operation_unavailable_because(const struct store_result *result)
{
    if (result->damaged)
        return result->error;
    switch (result->outcome) {
    case STORE_UNSENT:
        return "there is no connection to Redis now, so nothing was done (the log of batond says "
               "why)";
    case STORE_IN_DOUBT:
        return "Redis gave no proper answer, so the outcome is unknown (the log of batond says "
               "why)";
    case STORE_REFUSED:
        return result->error ? result->error : "Redis refused, so nothing was done";
    case STORE_LATE:
        return "Redis was too slow, so nothing was done";
    case STORE_REPLIED:
        break;
    }
    return "Redis gave a reply that the functions of this version never give";
}

/* Scripts do not check each text and number of a record. So a reply that cannot be read shows a
 * record that Baton does not write. */
struct locks_reply operation_unanswered(const struct store_result *result)
{
    bool is_unread = result->outcome == STORE_REPLIED;
    return (struct locks_reply){
        .result = result->damaged || is_unread ? LOCKS_DAMAGED : LOCKS_UNAVAILABLE,
        .error = is_unread ? REPLY_UNREADABLE : operation_unavailable_because(result)};
}

void operation_read(const struct store_result *result, operation_reader *read,
                    struct locks_reply *ret)
{
    if (result->outcome == STORE_REPLIED && read(result->reply, ret))
        return;
    *ret = operation_unanswered(result);
}

void operation_note(const struct locks *locks, const struct locks_reply *reply)
{
    const int64_t numbers[] = {reply->view.version, reply->release.version, reply->broken.version};
    int64_t greatest = reply->hold.version;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        greatest = numbers[i] > greatest ? numbers[i] : greatest;
    guard_observe_number(locks->guard, greatest);
    if (reply->result == LOCKS_QUARANTINED)
        guard_refused(locks->guard);
}

static void operation_done(void *context, const struct store_result *result)
{
    struct operation *operation = context;
    struct locks_reply reply = {.result = LOCKS_DONE};
    operation_read(result, operation->read, &reply);
    operation_note(operation->locks, &reply);
    operation->done(operation->context, &reply);
    free(operation);
}

void operation_run(struct locks *locks, const struct script *script, struct slice name,
                   const struct slice *arguments, size_t argument_count, operation_reader *read,
                   locks_done *done, void *context)
{
    struct operation *operation = memory_checked(malloc(sizeof *operation));
    *operation = (struct operation){locks, read, done, context};

    assert(argument_count < ARGUMENTS_MOST);
    struct slice all[ARGUMENTS_MOST] = {stamp_placeholder()};
    if (argument_count > 0)
        memcpy(all + 1, arguments, argument_count * sizeof *arguments);
    char key[KEY_LENGTH];
    const struct script_call call = {
        .script = script,
        .key = operation_key(locks, name, key),
        .arguments = all,
        .argument_count = argument_count + 1,
        .done = operation_done,
        .context = operation,
    };
    store_eval(locks->store, &call);
}

void operation_scan(struct locks *locks, unsigned *position, struct slice cursor,
                    struct slice prefix, const struct script_call *call)
{
    unsigned before = *position, shard = 0;
    if (store_seek_shard(locks->store, position, &shard) && *position != before)
        cursor = slice_of("0");
    char pattern[KEY_PATTERN_LENGTH];
    struct slice all[SCAN_ARGUMENTS + OPERATION_SCAN_ARGUMENTS] = {
        stamp_placeholder(),
        cursor,
        {pattern, name_to_pattern(locks->options.key_prefix, prefix, pattern)},
    };
    assert(call->argument_count <= OPERATION_SCAN_ARGUMENTS);
    memcpy(all + SCAN_ARGUMENTS, call->arguments, call->argument_count * sizeof *all);
    struct script_call portion = *call;
    portion.key = locks->options.key_prefix;
    portion.arguments = all;
    portion.argument_count += SCAN_ARGUMENTS;
    store_eval_at(locks->store, shard, &portion);
}
