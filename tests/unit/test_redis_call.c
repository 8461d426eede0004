/* The bytes of a call: FCALL, its stamp, and the same call where Redis is full. */
#include "redis/wire/call.h"
#include "tests/support/cmocka.h"

#include <string.h>

static const struct library LIBRARY = {"baton_0123456789abcdef",
                                       "#!lua name=baton_0123456789abcdef\n", 34, NULL};
static const struct script SCRIPT = {"acquire", "baton_0123456789abcdef_acquire",
                                     "baton_0123456789abcdef_acquire_full", true, &LIBRARY};
static const char STAMP[] = "0123456789012345678901234567890123456789";

#define HEAD(length, function) "$5\r\nFCALL\r\n$" length "\r\n" function "\r\n"
#define TAIL                                                                                       \
    "$1\r\n1\r\n$9\r\nbaton:{a}\r\n$40\r\n0123456789012345678901234567890123456789\r\n$0\r\n\r\n"

static void assert_bytes(const struct call *call, const char *bytes)
{
    assert_int_equal(call->length, strlen(bytes));
    assert_memory_equal(call->bytes, bytes, call->length);
    assert_memory_equal(call->bytes + call->stamp, STAMP, sizeof STAMP - 1);
}

static void count(void *context, const struct store_result *result)
{
    assert_int_equal(result->outcome, STORE_IN_DOUBT);
    assert_true(result->damaged && slice_equals(*result->damaged, "baton:{a}"));
    ++*(int *)context;
}

TEST(a_full_redis_gets_the_same_call_by_another_name)
{
    int ended = 0;
    unsigned open = 1;
    const struct slice arguments[] = {slice_of(STAMP), slice_of("")};
    const struct script_call asked = {&SCRIPT, slice_of("baton:{a}"), arguments,
                                      2,       .done = count,         .context = &ended};
    struct call *call = call_new_script(&asked, 1);
    assert_bytes(call, "*6\r\n" HEAD("30", "baton_0123456789abcdef_acquire") TAIL);
    call->routing = (struct routing){.open = &open, .serial = 7, .is_on = true};
    call->tries = 3;
    call->asking = true;

    call = call_when_full(call);
    assert_bytes(call, "*6\r\n" HEAD("35", "baton_0123456789abcdef_acquire_full") TAIL);
    assert_true(call->is_full && call->asking && call->routing.is_on);
    assert_int_equal(call->routing.serial, 7);
    assert_int_equal(call->tries, 3);
    assert_ptr_equal(call->script, &SCRIPT);
    assert_int_equal(open, 1); /* it is under way all the time */
    struct slice key = call_key(call);
    call_end(call, &(struct store_result){STORE_IN_DOUBT, .error = "damaged", .damaged = &key});
    assert_int_equal(open, 0);
    assert_int_equal(ended, 1);
}

TEST(a_key_may_be_given_twice_or_not_at_all)
{
    const struct script_call asked = {.script = &SCRIPT, .key = slice_of("k")};
    struct call *call = call_new_script(&asked, 2);
    static const char TWICE[] =
        "*5\r\n" HEAD("30", "baton_0123456789abcdef_acquire") "$1\r\n2\r\n$1\r\nk\r\n$1\r\nk\r\n";
    assert_int_equal(call->length, sizeof TWICE - 1);
    assert_memory_equal(call->bytes, TWICE, call->length);
    call_forget(call);
    call = call_new_script(&asked, 0);
    static const char NEVER[] = "*3\r\n" HEAD("30", "baton_0123456789abcdef_acquire") "$1\r\n0\r\n";
    assert_int_equal(call->length, sizeof NEVER - 1);
    assert_memory_equal(call->bytes, NEVER, call->length);
    call_forget(call);
}

TEST(a_library_is_loaded_by_its_text)
{
    static const char LOAD[] = "*3\r\n$8\r\nFUNCTION\r\n$4\r\nLOAD\r\n$34\r\n"
                               "#!lua name=baton_0123456789abcdef\n\r\n";
    const struct slice words[] = {
        slice_of("FUNCTION"), slice_of("LOAD"), {LIBRARY.text, LIBRARY.length}};
    struct call *call = call_new(words, 3);
    assert_int_equal(call->length, sizeof LOAD - 1);
    assert_memory_equal(call->bytes, LOAD, call->length);
    call_forget(call);
}
