#include "tests/edge/rows.h"

/* Whom a request is for. */
static const struct row TABLE[] = {
    ROW("a host with a port", GET "Host: h.example:7420\r\n\r\n", SERVED, SERVED, SERVED, SERVED),
    ROW("an address of IPv6", GET "Host: [::1]:7420\r\n\r\n", SERVED, SERVED, SERVED, SERVED),
    ROW("spaces around the host", GET "Host:   h  \r\n\r\n", SERVED, SERVED, SERVED, SERVED),
    ROW("no Host on 1.1", GET CRLF, GATE, REFUSED, "400:invalid_request open|400 open", REFUSED),
    ROW("an empty Host", GET "Host: \r\n\r\n", GATE, GATE, PASSED_ON, REFUSED),
    ROW("two hosts", GET HOST "Host: g\r\n\r\n", GATE, GATE, REFUSED, REFUSED),
    ROW("two hosts in one field", GET "Host: h, g\r\n\r\n", GATE, GATE,
        "400:invalid_request open|400 end", REFUSED),
    ROW("two hosts on 1.0", "GET /livez HTTP/1.0\r\n" HOST "Host: g\r\n\r\n", GATE, GATE, REFUSED,
        REFUSED),
    ROW("a second Host with a space before the colon", GET HOST "Host : g\r\n\r\n", GATE, REFUSED,
        REFUSED, REFUSED),
    ROW("a path in Host", GET "Host: h/livez\r\n\r\n", GATE, GATE,
        "400:invalid_request open|400 end", REFUSED),
    ROW("a port that is no number", GET "Host: h:80x\r\n\r\n", GATE, GATE, PASSED_ON, PASSED_ON),
    /* targets in absolute form */
    ROW("the same host", "GET http://h/livez HTTP/1.1\r\n" HOST CRLF, SERVED, SERVED, SERVED,
        SERVED),
    ROW("the same host with the usual port", "GET http://h:80/livez HTTP/1.1\r\n" HOST CRLF, SERVED,
        SERVED, SERVED, SERVED),
    ROW("the host alone", "GET http://h HTTP/1.1\r\n" HOST CRLF, SERVED, SERVED, SERVED, SERVED),
    ROW("the host on 1.0", "GET http://h/livez HTTP/1.0\r\n\r\n", "200 end", "200 end", "200 end",
        "400:invalid_request end|400 end"),
    ROW("another host", "GET http://g/livez HTTP/1.1\r\n" HOST CRLF, GATE, GATE, REFUSED, SERVED),
    ROW("a user", "GET http://u@h/livez HTTP/1.1\r\n" HOST CRLF, GATE, GATE, PASSED_ON, REFUSED),
    ROW("another scheme", "GET ftp://h/livez HTTP/1.1\r\n" HOST CRLF, GATE, GATE, PASSED_ON,
        SERVED),
    ROW("no Host beside it", "GET http://h/livez HTTP/1.1\r\n\r\n", GATE, REFUSED,
        "400:invalid_request open|400 open", REFUSED),
};

const struct rows HOST_ROWS = ROWS(TABLE);
