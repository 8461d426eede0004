#include "tests/history/wrong_clock.h"

#include "tests/history/site.h"
#include "tests/support/cmocka.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUILD_MS = 60000, DATE_SECONDS = 30 };

/* Where preload/ is: beside this file, seen from the folder that Baton was built in. */
static void build(const char *library, const char *dir)
{
    struct process compiler;
    char source[200], log[200];
    const char *cc = getenv("CC");
    const char *slash = strrchr(__FILE__, '/');
    snprintf(source, sizeof source, "%.*s/preload/shifted_clock.c", (int)(slash - __FILE__),
             __FILE__);
    snprintf(log, sizeof log, "%s/log", dir);
    const char *const arguments[] = {cc ? cc : "cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o",
                                     library,        source,          "-ldl",    NULL};
    process_start(&compiler, arguments, NULL, log);
    if (!process_wait(&compiler, BUILD_MS) || process_exit_code(&compiler) != 0) {
        char *output = process_output(&compiler);
        print_error("%s", output);
        free(output);
        fail_msg("cannot build %s", source);
    }
}

void wrong_clock_start(struct batond_process *batond, const char *redis_url, long seconds,
                       const char *dir)
{
    char library[200], preload[220], shift[60], address[400];
    const char *options = getenv("ASAN_OPTIONS");
    snprintf(library, sizeof library, "%s/shifted_clock.so", dir);
    if (access(library, R_OK) != 0)
        build(library, dir);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    snprintf(shift, sizeof shift, "SHIFTED_CLOCK_SECONDS=%ld", seconds);
    /* AddressSanitizer wants to be first of all libraries, unless it is told not to mind. */
    snprintf(address, sizeof address, "ASAN_OPTIONS=%s%sverify_asan_link_order=0",
             options ? options : "", options ? ":" : "");
    batond_process_start(batond,
                         &(struct batond_options){
                             .redis_url = redis_url,
                             .arguments = (const char *const[]){"--workers=2", NULL},
                             .environment = (const char *const[]){preload, shift, address, NULL}});
}

void wrong_clock_assert(struct http_client *http, long seconds)
{
    assert_int_equal(ask(http, "GET", "/livez"), 200);
    const char *date = http_header(http, "Date");
    assert_non_null(date);
    long off = (long)(curl_getdate(date, NULL) - time(NULL)) - seconds;
    assert_true(-DATE_SECONDS < off && off < DATE_SECONDS);
}
