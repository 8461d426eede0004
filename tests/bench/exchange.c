#include "tests/bench/exchange.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 1024, PARTS = 16, HEADERS_MOST = 512 };

struct step {
    char *parts[PARTS]; /* of a command; or the head and, where there is one, the body */
    size_t part_count;
    char *expect;
    char *contains;
    char *after; /* what stands before what is taken */
    size_t taken;
};

static const char *const VALUES[] = {"<name>", "<token>", "<1>", "<2>", "<3>"};

enum { VALUE_COUNT = sizeof VALUES / sizeof *VALUES };

static char *copy(const char *text)
{
    char *result = strdup(text);
    if (!result)
        err(2, "exchange");
    return result;
}

static void add_part(struct step *step, const char *text)
{
    if (step->part_count == PARTS)
        errx(2, "too long: %s", text);
    step->parts[step->part_count++] = copy(text);
}

static void read_command(struct step *step, char *text)
{
    char *rest;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        add_part(step, word);
}

static void read_request(struct exchange *exchange, char *text, bool once)
{
    if (exchange->count == EXCHANGE_STEPS || (once && exchange->once < exchange->count))
        errx(2, "one too many: %s", text);
    struct step *step = &exchange->steps[exchange->count++];
    exchange->once += once;
    char head[LINE_MOST + 64];
    snprintf(head, sizeof head, "%s HTTP/1.1\r\nHost: bench\r\n", text);
    if (exchange->redis)
        read_command(step, text);
    else
        add_part(step, head);
}

static void read_header(struct step *step, const char *text)
{
    char head[2 * LINE_MOST];
    snprintf(head, sizeof head, "%s%s\r\n", step->parts[0], text);
    free(step->parts[0]);
    step->parts[0] = copy(head);
}

static void read_take(struct step *step, const char *text)
{
    step->taken = VALUE_TAKEN + (size_t)(text[0] - '1');
    if (step->taken >= VALUE_COUNT || text[1] != ' ')
        errx(2, "take %s: expected a number from 1 to %d and a text", text, EXCHANGE_TAKEN);
    step->after = copy(text + 2);
}

static void read_line(struct exchange *exchange, const char *word, char *text)
{
    bool once = strcmp(word, "once") == 0;
    if (once || strcmp(word, "each") == 0) {
        read_request(exchange, text, once);
        return;
    }
    struct step *step = exchange->count ? &exchange->steps[exchange->count - 1] : NULL;
    if (!step)
        errx(2, "%s: there is no request before it", word);
    if (strcmp(word, "header") == 0)
        read_header(step, text);
    else if (strcmp(word, "body") == 0)
        add_part(step, text);
    else if (strcmp(word, "expect") == 0)
        step->expect = copy(text);
    else if (strcmp(word, "contains") == 0)
        step->contains = copy(text);
    else if (strcmp(word, "take") == 0)
        read_take(step, text);
    else
        errx(2, "%s: no such word", word);
}

/* Returns whether the server speaks Redis' protocol, else it is HTTP. */
static bool read_url(const char *url, struct sockaddr_in *ret_server)
{
    static const char redis[] = "redis";
    if (strncmp(url, redis, strlen(redis)) != 0) {
        *ret_server = caller_address(url);
        return false;
    }
    char http[64];
    snprintf(http, sizeof http, "http%s", url + strlen(redis));
    *ret_server = caller_address(http);
    return true;
}

void exchange_read(struct exchange *exchange, const char *path, const char *url,
                   struct sockaddr_in *ret_server)
{
    *exchange = (struct exchange){.redis = read_url(url, ret_server),
                                  .steps = calloc(EXCHANGE_STEPS, sizeof *exchange->steps)};
    FILE *file = fopen(path, "re");
    if (!file || !exchange->steps)
        err(2, "%s", path);
    char line[LINE_MOST], word[16];
    while (fgets(line, sizeof line, file)) {
        int start = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%15s %n", word, &start) == 1 && start)
            read_line(exchange, word, line + start);
    }
    fclose(file);
    if (exchange->count == exchange->once)
        errx(2, "%s: nothing to ask", path);
    for (size_t i = 0; i < exchange->count; i++)
        if (!exchange->steps[i].expect)
            errx(2, "%s: nothing is expected of a request", path);
}

void exchange_clear(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->count; i++) {
        struct step *step = &exchange->steps[i];
        for (size_t part = 0; part < step->part_count; part++)
            free(step->parts[part]);
        free(step->expect);
        free(step->contains);
        free(step->after);
    }
    free(exchange->steps);
}

/* Writes one character, or what a word in angles or an escape stands for. Returns behind it. */
static const char *write_one(const char *from, const struct values *values, char **to,
                             const char *end)
{
    unsigned code;
    size_t i = *from == '<' ? 0 : VALUE_COUNT;
    while (i < VALUE_COUNT && strncmp(from, VALUES[i], strlen(VALUES[i])) != 0)
        i++;
    const char *value = i < VALUE_COUNT ? values->of[i] : from;
    size_t length = i < VALUE_COUNT ? strlen(value) : 1;
    if (*to + length >= end)
        errx(2, "too long a request");
    memcpy(*to, value, length);
    if (*from == '\\' && sscanf(from, "\\x%2x", &code) == 1) {
        **to = (char)code;
        from += 3;
    }
    *to += length;
    return from + (i < VALUE_COUNT ? strlen(VALUES[i]) : 1);
}

static size_t fill_in(const char *text, const struct values *values, char *to, size_t room)
{
    char *at = to;
    while (*text)
        text = write_one(text, values, &at, to + room);
    return (size_t)(at - to);
}

static size_t ask_redis(const struct step *step, const struct values *values,
                        char request[EXCHANGE_MOST])
{
    char part[EXCHANGE_MOST];
    size_t at = (size_t)sprintf(request, "*%zu\r\n", step->part_count);
    for (size_t i = 0; i < step->part_count; i++) {
        size_t length = fill_in(step->parts[i], values, part, sizeof part);
        if (at + length + 32 > EXCHANGE_MOST)
            errx(2, "too long a command");
        at += (size_t)sprintf(request + at, "$%zu\r\n", length);
        memcpy(request + at, part, length);
        memcpy(request + at + length, "\r\n", 2);
        at += length + 2;
    }
    return at;
}

static size_t ask_http(const struct step *step, const struct values *values,
                       char request[EXCHANGE_MOST])
{
    size_t at = fill_in(step->parts[0], values, request, EXCHANGE_MOST / 2);
    if (step->part_count > 1) {
        char body[EXCHANGE_MOST / 2 - 64];
        size_t length = fill_in(step->parts[1], values, body, sizeof body);
        at += (size_t)sprintf(request + at, "Content-Length: %zu\r\n\r\n", length);
        memcpy(request + at, body, length);
        return at + length;
    }
    memcpy(request + at, "\r\n", 2);
    return at + 2;
}

size_t exchange_ask(const struct exchange *exchange, size_t step, const struct values *values,
                    char request[EXCHANGE_MOST])
{
    return (exchange->redis ? ask_redis : ask_http)(&exchange->steps[step], values, request);
}

static bool take(const struct step *step, const char *answer, struct values *values)
{
    const char *found = strstr(answer, step->after);
    if (!found)
        return false;
    found += strlen(step->after);
    size_t length = strcspn(found, "\"");
    if (length >= EXCHANGE_VALUE)
        errx(2, "too long a value: %s", found);
    memcpy(values->of[step->taken], found, length);
    values->of[step->taken][length] = '\0';
    return true;
}

bool exchange_check(const struct exchange *exchange, size_t step, const struct caller *caller,
                    struct values *values)
{
    static const char version[] = "HTTP/1.1 ";
    const struct step *asked = &exchange->steps[step];
    const char *start = caller->reply + (exchange->redis ? 0 : strlen(version));
    return strncmp(start, asked->expect, strlen(asked->expect)) == 0 &&
           (!asked->contains || strstr(caller->body, asked->contains)) &&
           (!asked->after || take(asked, caller->body, values));
}
