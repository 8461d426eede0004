#include "tests/contract/promises.h"

#include "tests/contract/judge.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set(json_t *promises, const char *operation, const char *status, const char *type,
                const char *code, bool seen)
{
    char key[256];
    int length = snprintf(key, sizeof key, "%s %s%s%s%s%s", operation, status, *type ? " " : "",
                          type, *code ? " " : "", code);
    assert_in_range(length, 1, sizeof key - 1);
    json_object_set_new(promises, key, json_boolean(seen));
}

/* What one response promises: each media type, and with a problem each of its codes. */
static void add_response(const struct spec *spec, const char *operation, const char *status,
                         const json_t *content, json_t *promises)
{
    const char *type, *code;
    json_t *carrier, *code_status;
    if (!content)
        set(promises, operation, status, "", "", false);
    json_object_foreach ((json_t *)content, type, carrier) {
        json_t *codes = spec_codes(spec, json_object_get(carrier, "schema"));
        if (!json_object_size(codes))
            set(promises, operation, status, type, "", false);
        json_object_foreach (codes, code, code_status)
            set(promises, operation, status, type, code, false);
        json_decref(codes);
    }
}

/* What a request has to ask for: a media type by its statuses, and for all that are refusals. */
static void add_on_request(const struct spec_operation *operation, json_t *promises)
{
    const char *type, *status, *answered;
    json_t *statuses, *carrier, *response;
    json_object_foreach (json_object_get(operation->node, "x-content-on-request"), type, statuses) {
        json_object_foreach (statuses, status, carrier)
            if (strcmp(status, "refusal") != 0)
                set(promises, operation->id, status, type, "", false);
        if (json_object_get(statuses, "refusal"))
            json_object_foreach (json_object_get(operation->node, "responses"), answered, response)
                if (answered[0] >= '4')
                    set(promises, operation->id, answered, type, "", false);
    }
}

json_t *promises_of(const struct spec *spec)
{
    json_t *promises = json_object();
    for (size_t i = 0; i < spec->operation_count; i++) {
        const struct spec_operation *operation = &spec->operations[i];
        const char *status;
        json_t *response;
        json_object_foreach (json_object_get(operation->node, "responses"), status, response) {
            const json_t *resolved = spec_response(spec, operation, strtol(status, NULL, 10));
            add_response(spec, operation->id, status, json_object_get(resolved, "content"),
                         promises);
        }
        add_on_request(operation, promises);
    }
    return promises;
}

void promises_note(json_t *promises, const char *operation, struct http_client *client)
{
    char type[64], status[24];
    const char *code = http_text(client, "code");
    judge_media_type(client, type);
    snprintf(status, sizeof status, "%ld", client->reply.status);
    set(promises, operation, status, type, code ? code : "", true);
}

void promises_excuse(json_t *promises, const char *code)
{
    const char *key;
    json_t *seen;
    json_object_foreach (promises, key, seen)
        if (strcmp(strrchr(key, ' ') + 1, code) == 0)
            json_object_set_new(promises, key, json_true());
}

size_t promises_print_unseen(const json_t *promises)
{
    size_t count = 0;
    const char *key;
    json_t *seen;
    json_object_foreach ((json_t *)promises, key, seen)
        if (!json_is_true(seen)) {
            print_error("promised, but no case provoked it: %s\n", key);
            count++;
        }
    return count;
}
