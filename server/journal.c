#include "server/journal.h"

#include "api/routes.h"
#include "base/digest.h"

#include <stdio.h>

enum { MARK_DIGITS = 12 };

static void mark_of(struct slice token, char mark[MARK_DIGITS + 1])
{
    char hex[DIGEST_HEX_LENGTH + 1];
    struct digest digest = digest_of(token);
    digest_format(&digest, hex);
    snprintf(mark, MARK_DIGITS + 1, "%.*s", MARK_DIGITS, hex);
}

void journal_answered(const struct log *log, const struct exchange *exchange)
{
    if (!log || log->level > LOG_DEBUG)
        return;
    struct slice token = exchange->parameters.texts[FIELD_LOCK_TOKEN];
    struct slice name = exchange->principal ? exchange->principal->name : slice_of("");
    char status[12], principal[PRINCIPAL_NAME_LENGTH + 1], mark[MARK_DIGITS + 1] = "";
    snprintf(status, sizeof status, "%u", exchange->reply.status);
    snprintf(principal, sizeof principal, "%.*s", (int)name.length, name.bytes);
    if (token.length > 0)
        mark_of(token, mark);
    log_line(log, LOG_DEBUG, "answered", "operation",
             exchange->route ? exchange->route->operation_id : "none", "status", status,
             "request_id", exchange->request_id, "principal", principal, "token_sha256", mark,
             NULL);
}
