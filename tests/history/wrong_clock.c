#include "tests/history/wrong_clock.h"

#include "tests/history/asking.h"
#include "tests/support/cmocka.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DATE_SECONDS = 30 };

void wrong_clock_start(struct batond_process *batond, const char *redis_url,
                       const struct jumping_clock *clock)
{
    char address[400];
    const char *options = getenv("ASAN_OPTIONS");
    /* AddressSanitizer wants to be first of all libraries, unless it is told not to mind. */
    snprintf(address, sizeof address, "ASAN_OPTIONS=%s%sverify_asan_link_order=0",
             options ? options : "", options ? ":" : "");
    batond_process_start(
        batond, &(struct batond_options){
                    .redis_url = redis_url,
                    .arguments = LIST("--workers=2"),
                    .environment = LIST(clock->environment[0], clock->environment[1], address)});
}

void wrong_clock_assert(struct http_client *http, long seconds)
{
    assert_int_equal(ask(http, "GET", "/livez"), 200);
    const char *date = http_header(http, "Date");
    assert_non_null(date);
    long off = (long)(curl_getdate(date, NULL) - time(NULL)) - seconds;
    assert_true(-DATE_SECONDS < off && off < DATE_SECONDS);
}
