#include "api/http/accept.h"
#include "tests/support/cmocka.h"

static const struct asked {
    const char *accept;
    bool text;
    bool events;
} ASKED[] = {
    {NULL, false, false},
    {"", false, false},
    {"*/*", false, false},
    {"application/json", false, false},
    {"text/html", false, false},
    {"text/plain", true, false},
    {"TEXT/Plain", true, false},
    {"text/plain;charset=utf-8", true, false},
    {"text/*", true, false},
    {"text/plainer", false, false},
    {"text/html , text/plain", true, false},
    /* Spring's RestTemplate for a String, now and in older releases; axios; a browser. */
    {"text/plain, application/json, application/*+json, */*", false, false},
    {"text/plain, */*", false, false},
    {"application/json, text/plain, */*", false, false},
    {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", false, false},
    /* qualities */
    {"text/plain, application/json;q=0.9", true, false},
    {"application/json;q=0.9, text/plain", true, false},
    {"text/plain;q=0.9, application/json", false, false},
    {"text/plain;q=0.5, application/json;q=0.5", false, false},
    {"text/plain;q=0.501, application/json;q=0.5", true, false},
    {"text/plain; q=0.9, */*;q=0.1", true, false},
    {"text/plain ; Q=1.0 , application/json ; q=0.999", true, false},
    {"text/plain, application/json;q=0", true, false},
    {"text/plain;q=0, */*", false, false},
    {"text/plain;q=0, application/json;q=0", false, false},
    {"text/plain;q=0", false, false},
    {"text/plain;format=flowed;q=0.2, application/json;q=0.3", false, false},
    {"text/plain;x=\"a,application/json;q=1\"", true, false},
    {"text/plain;x=\"\\\",application/json\"", true, false},
    {"*/*;q=0.1, application/*;q=0.5, text/plain;q=0.4", false, false},
    {"*/*;q=0.9, application/json;q=0.1, text/*;q=0.2", true, false},
    {"text/plain, application/problem+json", false, false},
    {"text/plain, application/problem+json;q=0.5", true, false},
    {"application/json;q=0, */*", true, false},
    {"application/json; Q=0.0,*/*;q=0.1", true, false},
    {"application/*;q=0, */*", true, false},
    {"*/*, application/json;q=0, application/problem+json;q=0", true, false},
    {"application/json;q=0", false, false},
    {"application/json;q=0, image/png", false, false},
    {"application/json;charset=utf-8, */*", false, false},
    {"application/json, */*;q=0.1", false, false},
    /* streams */
    {"text/event-stream", false, true},
    {"text/event-stream, */*", false, true},
    {"text/event-stream, application/json", false, true},
    {"application/json, text/event-stream", false, false},
    {"application/json;q=0.9, text/event-stream", false, true},
    {"text/event-stream;q=0.9, application/json", false, false},
    {"*/*, text/event-stream", false, false},
    {"text/event-stream;q=0", false, false},
    {"text/*", true, false},
    {",, ,", false, false},
    {"text/plain;", true, false},
    {"text/plain;q=x", true, false},
    {"text/plain;x=\"", true, false},
    {"text/plain;x=\"\\", true, false},
};

TEST(json_wins_a_tie)
{
    for (size_t i = 0; i < sizeof ASKED / sizeof *ASKED; i++) {
        if (accept_prefers_text(ASKED[i].accept) != ASKED[i].text)
            fail_msg("text for %s", ASKED[i].accept);
        if (accept_prefers_events(ASKED[i].accept) != ASKED[i].events)
            fail_msg("events for %s", ASKED[i].accept);
    }
}

TEST(page_is_for_clients_that_name_it)
{
    static const struct {
        const char *accept;
        bool page;
    } ROWS[] = {
        {NULL, false},
        {"*/*", false},
        {"text/*", false},
        {"text/plain", false},
        {"text/html", true},
        {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", true},
        {"text/html;q=0.5, text/plain;q=0.8", false},
        {"text/html;q=0, */*;q=0", false},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (accept_prefers_page(ROWS[i].accept) != ROWS[i].page)
            fail_msg("a page for %s", ROWS[i].accept);
}
