/* Names of Redis that nobody resolves: with a name server that never answers, all else is answered
 * at once. */
#include "tests/support/faults/silent_names.h"
#include "tests/support/fixtures/service.h"

enum { WATCHED_MS = 2500, AT_ONCE_MS = 500, PAUSE_MS = 20 };

static void all_else_goes_on(const struct batond_process *batond)
{
    struct http_client *client = http_client_new(batond->url);
    int answered = 0, late = 0;
    for (int64_t begun = clock_ms(); clock_ms() < begun + WATCHED_MS; clock_sleep_ms(PAUSE_MS)) {
        int64_t sent = clock_ms();
        assert_int_equal(http_call(client, "GET", "/livez", NULL), 200);
        assert_int_equal(http_call(client, "POST", "/locks/a", NULL), 503);
        answered++;
        late += clock_ms() - sent > AT_ONCE_MS;
    }
    if (late > answered / 4) /* a busy machine is late now and then; a loop that waits is always */
        fail_msg("%d of %d answers took longer than %d ms", late, answered, AT_ONCE_MS);
    http_client_free(client);
}

TEST(a_silent_name_server_holds_up_nothing)
{
    struct silent_names names;
    if (!silent_names_open(&names))
        skip();
    for (int i = 0; i < SILENT_SITES; i++) {
        struct batond_process batond;
        batond_process_start(&batond, &(struct batond_options){.redis_url = silent_sites[i].url});
        silent_names_await(&names, silent_sites[i].label);
        all_else_goes_on(&batond);
        process_kill(&batond.process); /* who resolves cannot be interrupted */
        batond_process_stop(&batond);
    }
    silent_names_close(&names);
}
