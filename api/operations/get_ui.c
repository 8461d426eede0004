#include "api/http/etag.h"
#include "api/http/exchange.h"
#include "api/operations/operations.h"
#include "api/ui/ui.h"

/* The page contains no data, so everybody may have it. It asks for its data with the credentials of
 * its user. */
enum handling get_ui(struct exchange *exchange)
{
    reply_header(exchange, "Content-Security-Policy", "%s", ui_policy);
    reply_header(exchange, "X-Content-Type-Options", "nosniff");
    reply_header(exchange, "Referrer-Policy", "same-origin");
    reply_header(exchange, "Cross-Origin-Opener-Policy", "same-origin");
    reply_header(exchange, "Cache-Control", "no-cache");
    reply_header(exchange, "ETag", "%s", ui_etag);
    if (etag_is_among(exchange->head.if_none_match, ui_etag))
        reply_nothing(exchange, 304);
    else
        reply_constant(exchange, 200, "text/html; charset=utf-8", ui_page, ui_page_length);
    return ANSWERED;
}
