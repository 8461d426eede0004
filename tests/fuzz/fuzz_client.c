/* fuzz_client.c: what a hostile server answers to baton. The input is a status, a space and a body.
 */
#include "cli/client.h"
#include "cli/commands/print.h"
#include "cli/problem.h"
#include "cli/run/lease.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_LONGEST = 1 << 22 };

/* What reaches the terminal of a user: no control characters but the ends of lines. */
static void claim_harmless(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        CLAIM(text[i] == '\n' || (unsigned char)text[i] >= ' ');
}

/* Prints to a stream, in place of standard output and error. */
static void print_all(struct reply *reply)
{
    static print_function *const PRINTS[] = {print_lock, print_keep, print_caller, print_broken};
    const struct options options = {.for_command = FOR_ALL};
    struct context context = {.options = &options, .subject = "name"};
    char *text = NULL;
    size_t length = 0;
    FILE *out = stdout, *err = stderr, *all = open_memstream(&text, &length);
    stdout = stderr = all;
    problem_report(reply, &options, "name");
    for (size_t i = 0; i < sizeof PRINTS / sizeof PRINTS[0]; i++)
        print_reply(&context, reply, PRINTS[i]);
    print_list(&context);
    if (context.table.rows)
        table_print(&context.table);
    stdout = out;
    stderr = err;
    fclose(all);
    json_decref(context.table.rows);
    json_decref(context.locks);
    CLAIM(length < OUTPUT_LONGEST);
    claim_harmless(text, length);
    free(text);
}

/* A hold never lasts for longer than the reply says, and only if it is a reply to a renewal. */
static void claim_lease(const struct reply *reply)
{
    struct lease lease = {.held_until_ns = INT64_MAX};
    if (lease_take(&lease, reply, 1))
        CLAIM(reply->status < 300 && lease.ttl_ms > 0);
    CLAIM(lease.expires_ns >= 0 && lease.expires_ns / 1000000 <= lease.ttl_ms);
    CLAIM(lease.held_until_ns > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice rest = {(const char *)bytes, size};
    struct slice status = fuzz_cut(&rest, ' ');
    char *number = fuzz_text(status);
    struct reply reply = {.status = strtol(number, NULL, 10), .connected = true};
    free(number);
    reply_read(&reply, rest.bytes, rest.length);
    claim_lease(&reply);
    print_all(&reply);
    reply_free(&reply);
    return 0;
}
