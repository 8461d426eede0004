/* Names of Redis that nobody resolves: with a name server that never answers, requests are answered
 * all the same; tests/timing/test_resolving.c has how soon. */
#include "tests/support/faults/silent_names.h"
#include "tests/support/fixtures/service.h"

static void all_else_goes_on(const struct batond_process *batond)
{
    struct http_client *client = http_client_new(batond->url);
    assert_int_equal(http_call(client, "GET", "/livez", NULL), 200);
    assert_int_equal(http_call(client, "POST", "/locks/a", NULL), 503);
    http_client_free(client);
}

TEST(a_silent_name_server_holds_up_nothing)
{
    struct batond_process batond[SILENT_SITES];
    struct silent_names names;
    if (!silent_names_open(&names))
        skip();
    for (int i = 0; i < SILENT_SITES; i++)
        batond_process_launch(&batond[i],
                              &(struct batond_options){.redis_url = silent_sites[i].url});
    for (int i = 0; i < SILENT_SITES; i++)
        assert_true(batond_process_listening(&batond[i], CLOCK_HANG_MS));
    for (int i = 0; i < SILENT_SITES; i++) {
        silent_names_await(&names, silent_sites[i].label);
        all_else_goes_on(&batond[i]);
    }
    for (int i = 0; i < SILENT_SITES; i++) {
        process_kill(&batond[i].process); /* who resolves cannot be interrupted */
        batond_process_stop(&batond[i]);
    }
    silent_names_close(&names);
}
