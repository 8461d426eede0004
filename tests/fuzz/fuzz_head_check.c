/* fuzz_head_check.c: a request's line (METHOD TARGET VERSION) and header fields, as libmicrohttpd
 * hands them over. */
#include "server/http/head_check.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <strings.h>

/* What must be true of every request that passes, counted in another way than the check does. */
struct tally {
    size_t hosts, lengths, codings;
    bool is_clean;
};

static bool is_alike(struct slice name, const char *known)
{
    return name.length == strlen(known) && strncasecmp(name.bytes, known, name.length) == 0;
}

static bool has_controls(struct slice text)
{
    for (size_t i = 0; i < text.length; i++)
        if ((text.bytes[i] >= 0 && text.bytes[i] < ' ' && text.bytes[i] != '\t') ||
            text.bytes[i] == 0x7F)
            return true;
    return false;
}

static void count(struct tally *tally, struct slice name, struct slice value)
{
    tally->hosts += is_alike(name, "Host");
    tally->lengths += is_alike(name, "Content-Length");
    tally->codings += is_alike(name, "Transfer-Encoding");
    tally->is_clean &= name.length > 0 && !has_controls(name) && !has_controls(value);
    tally->is_clean &=
        !memchr(name.bytes, ' ', name.length) && !memchr(name.bytes, ':', name.length);
    if (is_alike(name, "Transfer-Encoding"))
        tally->is_clean &= is_alike(value, "chunked");
    for (size_t i = 0; is_alike(name, "Content-Length") && i < value.length; i++)
        tally->is_clean &= value.bytes[i] >= '0' && value.bytes[i] <= '9';
}

static void send_field(struct head_check *check, struct tally *tally, struct slice line)
{
    struct slice name = fuzz_cut(&line, ':');
    while (line.length > 0 && line.bytes[0] == ' ')
        line = (struct slice){line.bytes + 1, line.length - 1};
    head_check_field(check, name, line);
    count(tally, name, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *copy = malloc(size + 1); /* so that a read behind its end is found */
    struct slice rest = {copy, size};
    struct tally tally = {.is_clean = true};
    struct head_check check;
    if (!copy)
        abort();
    if (size > 0)
        memcpy(copy, bytes, size);
    struct slice line = fuzz_cut(&rest, '\n');
    struct slice method = fuzz_cut(&line, ' '), target = fuzz_cut(&line, ' ');
    head_check_begin(&check, method, target, line);
    while (rest.length > 0)
        send_field(&check, &tally, fuzz_cut(&rest, '\n'));
    bool passes = head_check_passes(&check);
    CLAIM(passes == !check.refusal);
    if (passes) {
        CLAIM(tally.is_clean && !has_controls(method) && !has_controls(target));
        CLAIM(slice_equals(line, "HTTP/1.1") || slice_equals(line, "HTTP/1.0"));
        CLAIM(tally.hosts == 1 || (tally.hosts == 0 && slice_equals(line, "HTTP/1.0")));
        CLAIM(tally.lengths + tally.codings <= 1);
        CLAIM(tally.codings == 0 || slice_equals(line, "HTTP/1.1"));
    }
    free(copy);
    return 0;
}
