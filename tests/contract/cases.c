#include "tests/contract/cases.h"

/* A request, and what may stand behind it. */
#define ONE         CASE_TOKEN
#define WITH_ONE    "\nLock-Token: " ONE
#define WITH_OTHER  "\nLock-Token: contract-test-token-other"
#define AS_TEXT     "\nAccept: text/plain"
#define AS_EVENTS   "\nAccept: text/event-stream"
#define BODY(json)  "\n\n" json
#define NAMES(list) BODY("{\"names\":[" list "]}")
#define ELSEWHERE   "\nHost: baton.example.com"
#define IN_VAIN     "?wait=1ms&keep=30s" /* stays in the queue */
#define NO_HOST     "\nHost: a b"
#define FORM        "\nContent-Type: application/x-www-form-urlencoded\n\na=b"

#define CASE(answer, asked)                                                                        \
    {                                                                                              \
        .reply = answer, .request = asked                                                          \
    }
#define AFTER(first, answer, asked)                                                                \
    {                                                                                              \
        .reply = answer, .request = asked, .before = { first }                                     \
    }
#define AFTER_2(first, then, answer, asked)                                                        \
    {                                                                                              \
        .reply = answer, .request = asked, .before = { first, then }                               \
    }
#define AFTER_3(first, then, last, answer, asked)                                                  \
    {                                                                                              \
        .reply = answer, .request = asked, .before = { first, then, last }                         \
    }
#define MEANWHILE(first, answer, asked, then)                                                      \
    {                                                                                              \
        .reply = answer, .request = asked, .before = {first}, .meanwhile = then                    \
    }
#define DRAINING(first, answer, asked)                                                             \
    {                                                                                              \
        .reply = answer, .request = asked, .before = {first}, .while_draining = true               \
    }
#define STUCK(answer, asked)                                                                       \
    {                                                                                              \
        .reply = answer, .request = asked, .while_stuck = true                                     \
    }
#define ALONE(first, answer, asked)                                                                \
    {                                                                                              \
        .reply = answer, .request = asked, .before = {first}, .while_alone = true                  \
    }
#define QUORUM(answer, asked)                                                                      \
    {                                                                                              \
        .reply = answer, .request = asked, .by_quorum = true                                       \
    }
#define QUARANTINED(answer, asked)                                                                 \
    {                                                                                              \
        .reply = answer, .request = asked, .while_quarantined = true                               \
    }
#define LARGE(answer, asked)                                                                       \
    {                                                                                              \
        .reply = answer, .request = asked, .too_large = true                                       \
    }
#define DOWN(answer, asked)                                                                        \
    {                                                                                              \
        .reply = answer, .request = asked, .without_redis = true                                   \
    }

/* Where a case needs a lock, it has a name of its own: none depends on another. */
const struct contract_case CASES[] = {
    CASE("acquireLock 201", "POST /locks/new"),
    CASE("acquireLock 201", "POST /locks/new-text" AS_TEXT),
    CASE("acquireLock 201", "POST /locks/a%2Fb%20%C3%A4?ttl=2m&wait=0&owner=me&mode=exclusive"),
    CASE("acquireLock 201",
         "POST /locks/new-shared" BODY(
             "{\"ttl_ms\":5000,\"wait_ms\":0,\"owner\":\"me\",\"mode\":\"shared\",\"limit\":3,"
             "\"token\":\"" ONE "\",\"meta\":{\"a\":[1,null,{\"b\":2.5}]}}")),
    AFTER("POST /locks/again" WITH_ONE, "acquireLock 200", "POST /locks/again" WITH_ONE),
    AFTER("POST /locks/text" WITH_ONE, "acquireLock 200", "POST /locks/text" WITH_ONE AS_TEXT),
    CASE("acquireLock 400 invalid_request", "POST /locks/odd" AS_TEXT NO_HOST),
    CASE("acquireLock 400 invalid_name", "POST /locks/%00"),
    CASE("acquireLock 400 invalid_name", "POST /locks/%FF" AS_TEXT),
    CASE("acquireLock 400 invalid_parameter", "POST /locks/bad?ttl=1ms"),
    CASE("acquireLock 201", "POST /locks/new-patient?wait=10s&keep=10s"),
    CASE("acquireLock 400 invalid_parameter", "POST /locks/bad?wait=61s"),
    CASE("acquireLock 400 invalid_parameter", "POST /locks/bad?keep=1s"),
    CASE("acquireLock 400 invalid_parameter", "POST /locks/bad" BODY("{\"ttl_ms\":99}")),
    CASE("acquireLock 400 invalid_parameter", "POST /locks/bad" BODY("{\"surprise\":1}")),
    CASE("acquireLock 400 invalid_parameter", "POST /locks/bad" AS_TEXT BODY("{\"a\\nb\":1}")),
    CASE("acquireLock 400 invalid_json", "POST /locks/bad" BODY("{\"ttl_ms\":")),
    CASE("acquireLock 400 invalid_parameter", "POST /locks/bad" BODY("[]")),
    CASE("acquireLock 404 not_found", "POST /locks/a/b"),
    CASE("acquireLock 405 method_not_allowed", "PATCH /locks/bad"),
    AFTER("POST /locks/taken" BODY("{\"meta\":{\"host\":\"build-3\"}}"), "acquireLock 409 locked",
          "POST /locks/taken"),
    AFTER("POST /locks/full?mode=shared&limit=1", "acquireLock 409 locked",
          "POST /locks/full?mode=shared&limit=1"),
    AFTER("POST /locks/taken-text", "acquireLock 409 locked", "POST /locks/taken-text" AS_TEXT),
    AFTER("POST /locks/limited?mode=shared&limit=3", "acquireLock 409 limit_mismatch",
          "POST /locks/limited?mode=shared&limit=2"),
    AFTER_2("POST /locks/spent" WITH_ONE, "DELETE /locks/spent" WITH_ONE,
            "acquireLock 409 not_held", "POST /locks/spent" WITH_ONE),
    AFTER("POST /locks/awaited" BODY("{\"meta\":{\"host\":\"build-3\"}}"),
          "acquireLock 409 wait_timeout", "POST /locks/awaited" BODY("{\"wait_ms\":1}")),
    AFTER("POST /locks/awaited-2", "acquireLock 409 wait_timeout", "POST /locks/awaited-2" IN_VAIN),
    AFTER("POST /locks/awaited-text", "acquireLock 409 wait_timeout",
          "POST /locks/awaited-text?wait=1ms" AS_TEXT),
    MEANWHILE("POST /locks/token-again", "acquireLock 409 superseded",
              "POST /locks/token-again?wait=50s" WITH_ONE, "POST /locks/token-again?wait=50s"),
    AFTER_3("POST /locks/page?mode=shared&owner=a", "POST /locks/page?mode=shared&owner=b",
            "POST /locks/page" IN_VAIN "&owner=a", "acquireLock 409 upgrade_conflict",
            "POST /locks/page?owner=b"),
    AFTER_2("POST /locks/crowded", "POST /locks/crowded" IN_VAIN,
            "acquireLock 429 too_many_waiters", "POST /locks/crowded?wait=1s"),
    AFTER_2("POST /locks/crowded-text", "POST /locks/crowded-text" IN_VAIN,
            "acquireLock 429 too_many_waiters", "POST /locks/crowded-text?wait=1s" AS_TEXT),
    DRAINING("GET /livez", "acquireLock 503 draining", "POST /locks/drained?wait=1s"),
    DRAINING("GET /livez", "acquireLock 503 draining", "POST /locks/drained?wait=1s" AS_TEXT),
    DRAINING("GET /livez", "acquireLock 201", "POST /locks/by-connection?hold=connection"),
    DRAINING("POST /locks/by-connection-2" WITH_ONE, "acquireLock 200",
             "POST /locks/by-connection-2?hold=connection" WITH_ONE),
    LARGE("acquireLock 413 too_large", "POST /locks/bad" BODY("{}")),
    LARGE("acquireLock 413 too_large", "POST /locks/bad" AS_TEXT BODY("{}")),
    CASE("acquireLock 415 unsupported_media_type", "POST /locks/bad" FORM),
    CASE("acquireLock 415 unsupported_media_type", "POST /locks/bad" AS_TEXT FORM),
    ALONE(NULL, "acquireLock 503 unconfirmed", "POST /locks/alone"),
    ALONE(NULL, "acquireLock 503 unconfirmed", "POST /locks/alone" AS_TEXT),
    QUORUM("acquireLock 400 invalid_parameter", "POST /locks/x?mode=shared&limit=3"),
    QUORUM("acquireLock 400 invalid_parameter", "POST /locks/x?confirm=replicas:1"),
    QUORUM("acquireLock 503 store_unavailable", "POST /locks/x?wait=1ms"),
    QUARANTINED("acquireLock 503 quarantined", "POST /locks/lost"),
    QUARANTINED("acquireLock 503 quarantined", "POST /locks/lost?wait=1ms"),
    QUARANTINED("acquireLock 503 quarantined", "POST /locks/lost" AS_TEXT),
    CASE("acquireLock 500 damaged", "POST /locks/damaged"),
    CASE("acquireLock 500 damaged", "POST /locks/damaged" AS_TEXT),
    DOWN("acquireLock 503 store_unavailable", "POST /locks/x"),
    DOWN("acquireLock 503 store_unavailable", "POST /locks/x" WITH_ONE),
    DOWN("acquireLock 503 store_unavailable", "POST /locks/x" AS_TEXT),

    AFTER("POST /locks/renewed?mode=shared&limit=5" WITH_ONE, "renewLock 200",
          "PUT /locks/renewed?ttl=1h" WITH_ONE),
    AFTER("POST /locks/renewed-body" WITH_ONE, "renewLock 200",
          "PUT /locks/renewed-body" BODY("{\"token\":\"" ONE "\",\"ttl_ms\":100}")),
    CASE("renewLock 400 invalid_request", "PUT /locks/odd" WITH_ONE NO_HOST),
    CASE("renewLock 400 invalid_name", "PUT /locks/" WITH_ONE),
    CASE("renewLock 400 invalid_parameter", "PUT /locks/bad?ttl=1s"),
    CASE("renewLock 400 invalid_parameter", "PUT /locks/bad?owner=me" WITH_ONE),
    CASE("renewLock 400 invalid_json", "PUT /locks/bad" BODY("{\"ttl_ms\":1000,\"ttl_ms\":1000}")),
    CASE("renewLock 404 not_found", "PUT /locks/a/b" WITH_ONE),
    CASE("renewLock 405 method_not_allowed", "PATCH /locks/bad"),
    AFTER("POST /locks/others" WITH_ONE, "renewLock 409 not_held", "PUT /locks/others" WITH_OTHER),
    LARGE("renewLock 413 too_large", "PUT /locks/bad" BODY("{}")),
    CASE("renewLock 415 unsupported_media_type", "PUT /locks/bad" FORM),
    ALONE("POST /locks/alone-held" WITH_ONE, "renewLock 503 unconfirmed",
          "PUT /locks/alone-held" WITH_ONE),
    QUORUM("renewLock 503 store_unavailable", "PUT /locks/x" WITH_ONE),
    CASE("renewLock 500 damaged", "PUT /locks/damaged" WITH_ONE),
    DOWN("renewLock 503 store_unavailable", "PUT /locks/x" WITH_ONE),

    AFTER("POST /locks/released" WITH_ONE, "releaseLock 200",
          "DELETE /locks/released" BODY("{\"token\":\"" ONE "\"}")),
    AFTER_2("POST /locks/released-2" WITH_ONE, "DELETE /locks/released-2" WITH_ONE,
            "releaseLock 200", "DELETE /locks/released-2" WITH_ONE),
    AFTER("POST /locks/broken", "releaseLock 200", "DELETE /locks/broken?force=true"),
    CASE("releaseLock 200", "DELETE /locks/broken-free?force=true"),
    AFTER_2("POST /locks/cancelled", "POST /locks/cancelled" IN_VAIN WITH_ONE, "releaseLock 200",
            "DELETE /locks/cancelled" WITH_ONE),
    CASE("releaseLock 400 invalid_request", "DELETE /locks/odd" WITH_ONE NO_HOST),
    CASE("releaseLock 400 invalid_name", "DELETE /locks/%0A" WITH_ONE),
    CASE("releaseLock 400 invalid_parameter", "DELETE /locks/bad"),
    CASE("releaseLock 400 invalid_parameter", "DELETE /locks/bad?force=true" WITH_ONE),
    CASE("releaseLock 400 invalid_json", "DELETE /locks/bad" BODY("token")),
    CASE("releaseLock 404 not_found", "DELETE /locks/a/b" WITH_ONE),
    CASE("releaseLock 405 method_not_allowed", "PATCH /locks/bad"),
    CASE("releaseLock 409 not_held", "DELETE /locks/nobodys" WITH_ONE),
    LARGE("releaseLock 413 too_large", "DELETE /locks/bad" BODY("{}")),
    CASE("releaseLock 415 unsupported_media_type", "DELETE /locks/bad" FORM),
    QUORUM("releaseLock 503 store_unavailable", "DELETE /locks/x" WITH_ONE),
    CASE("releaseLock 500 damaged", "DELETE /locks/damaged" WITH_ONE),
    DOWN("releaseLock 503 store_unavailable", "DELETE /locks/x" WITH_ONE),

    CASE("inspectLock 403 untrusted_origin", "GET /locks/never-used" ELSEWHERE),
    CASE("watchLock 403 untrusted_origin", "GET /locks/never-used/events" ELSEWHERE),
    CASE("listLocks 403 untrusted_origin", "GET /locks" ELSEWHERE),
    CASE("watchLocks 403 untrusted_origin", "GET /events" ELSEWHERE),
    CASE("getMetrics 403 untrusted_origin", "GET /metrics" ELSEWHERE),
    CASE("inspectLock 200", "GET /locks/never-used"),
    AFTER_2("POST /locks/seen-waiting?owner=me", "POST /locks/seen-waiting" IN_VAIN "&owner=you",
            "inspectLock 200", "GET /locks/seen-waiting"),
    AFTER_2("POST /locks/seen?mode=shared&limit=3" WITH_ONE,
            "POST /locks/seen?mode=shared&limit=3" BODY("{\"meta\":{\"a\":{}}}"), "inspectLock 200",
            "GET /locks/seen" WITH_ONE),
    AFTER_2("POST /locks/seen-free" WITH_ONE, "DELETE /locks/seen-free" WITH_ONE, "inspectLock 200",
            "GET /locks/seen-free\nIf-None-Match: \"1\""),
    AFTER("POST /locks/unchanged", "inspectLock 304", "GET /locks/unchanged\nIf-None-Match: *"),
    CASE("inspectLock 400 invalid_request", "GET /locks/odd" NO_HOST),
    CASE("inspectLock 400 invalid_name", "GET /locks/%C2%85"),
    CASE("inspectLock 400 invalid_parameter", "GET /locks/bad?token=" ONE),
    CASE("inspectLock 404 not_found", "GET /locks/a/b"),
    CASE("inspectLock 405 method_not_allowed", "PATCH /locks/bad"),
    CASE("inspectLock 500 damaged", "GET /locks/damaged"),
    DOWN("inspectLock 503 store_unavailable", "GET /locks/x"),

    AFTER_2("POST /locks/listed-a" BODY("{\"meta\":{\"a\":1}}"), "POST /locks/listed-b",
            "listLocks 200", "GET /locks?prefix=listed&limit=1000"),
    CASE("listLocks 200", "GET /locks?prefix=nothing-like-that"),
    CASE("listLocks 400 invalid_request", "GET /locks" NO_HOST),
    CASE("listLocks 400 invalid_parameter", "GET /locks?limit=1001"),
    CASE("listLocks 405 method_not_allowed", "PATCH /locks"),
    QUORUM("listLocks 501 unsupported", "GET /locks?prefix=a"),
    DOWN("listLocks 503 store_unavailable", "GET /locks"),

    CASE("watchLock 200", "GET /locks/never-used/events"),
    AFTER("POST /locks/watched" WITH_ONE BODY("{\"meta\":{\"a\":{}}}"), "watchLock 200",
          "GET /locks/watched/events?after=1763715600000000" WITH_ONE),
    CASE("watchLock 200", "GET /locks/never-used/events?after=9007199254740991&wait=1ms"),
    CASE("watchLock 200", "GET /locks/watched/events?wait=1ms" WITH_ONE AS_EVENTS),
    CASE("watchLock 200", "GET /locks/never-used/events?after=9007199254740991&wait=1ms" AS_EVENTS),
    CASE("watchLock 200",
         "GET /locks/never-used/events?wait=0\nLast-Event-ID: 9007199254740991" AS_EVENTS),
    CASE("watchLock 400 invalid_request", "GET /locks/odd/events" NO_HOST),
    CASE("watchLock 400 invalid_name", "GET /locks/%00/events"),
    CASE("watchLock 400 invalid_parameter", "GET /locks/bad/events?after=now"),
    CASE("watchLock 400 invalid_parameter", "GET /locks/bad/events\nLast-Event-ID: a" AS_EVENTS),
    CASE("watchLock 404 not_found", "GET /locks/a/b/events"),
    CASE("watchLock 405 method_not_allowed", "POST /locks/bad/events"),
    CASE("watchLock 500 damaged", "GET /locks/damaged/events"),
    DOWN("watchLock 503 store_unavailable", "GET /locks/x/events"),
    DOWN("watchLock 503 store_unavailable", "GET /locks/x/events" AS_EVENTS),

    CASE("acquireLocks 201", "POST /locks" NAMES("\"set-b\",\"set/a\",\"set \\u00e4\"")),
    CASE("acquireLocks 201",
         "POST /locks?ttl=1m&wait=1s&owner=me&mode=shared&limit=3" NAMES("\"set-shared\"")),
    AFTER("POST /locks" WITH_ONE NAMES("\"set-1\",\"set-2\""), "acquireLocks 200",
          "POST /locks" WITH_ONE NAMES("\"set-2\",\"set-1\"")),
    CASE("acquireLocks 400 invalid_request", "POST /locks" NO_HOST),
    CASE("acquireLocks 400 invalid_parameter", "POST /locks"),
    CASE("acquireLocks 400 invalid_parameter", "POST /locks" NAMES("\"a\",\"a\"")),
    CASE("acquireLocks 400 invalid_json", "POST /locks" NAMES("\"a\",")),
    CASE("acquireLocks 405 method_not_allowed", "PATCH /locks"),
    AFTER("POST /locks/set-taken", "acquireLocks 409 locked",
          "POST /locks" NAMES("\"set-free\",\"set-taken\"")),
    AFTER("POST /locks/set-taken-2", "acquireLocks 409 wait_timeout",
          "POST /locks?wait=1ms" NAMES("\"set-taken-2\",\"set-free-2\"")),
    AFTER("POST /locks/set-limited?mode=shared&limit=3", "acquireLocks 409 limit_mismatch",
          "POST /locks?mode=shared&limit=2" NAMES("\"set-limited\"")),
    MEANWHILE("POST /locks/set-again", "acquireLocks 409 superseded",
              "POST /locks?wait=50s" WITH_ONE NAMES("\"set-again\""),
              "POST /locks/set-again?wait=50s"),
    AFTER_3("POST /locks/set-page?mode=shared&owner=a", "POST /locks/set-page?mode=shared&owner=b",
            "POST /locks/set-page" IN_VAIN "&owner=a", "acquireLocks 409 upgrade_conflict",
            "POST /locks?owner=b" NAMES("\"set-page\"")),
    AFTER_2("POST /locks/set-spent" WITH_ONE, "DELETE /locks/set-spent" WITH_ONE,
            "acquireLocks 409 not_held", "POST /locks" WITH_ONE NAMES("\"set-spent\"")),
    LARGE("acquireLocks 413 too_large", "POST /locks" BODY("{}")),
    CASE("acquireLocks 415 unsupported_media_type", "POST /locks" FORM),
    AFTER_2("POST /locks/set-crowded", "POST /locks/set-crowded" IN_VAIN,
            "acquireLocks 429 too_many_waiters", "POST /locks?wait=1s" NAMES("\"set-crowded\"")),
    DRAINING("GET /livez", "acquireLocks 503 draining",
             "POST /locks?wait=1s" NAMES("\"set-drained\"")),
    ALONE(NULL, "acquireLocks 503 unconfirmed", "POST /locks" NAMES("\"alone-a\",\"alone-b\"")),
    QUARANTINED("acquireLocks 503 quarantined", "POST /locks" NAMES("\"lost-a\",\"lost-b\"")),
    CASE("acquireLocks 500 damaged", "POST /locks" NAMES("\"damaged\",\"x-whole\"")),
    DOWN("acquireLocks 503 store_unavailable", "POST /locks" NAMES("\"a\",\"b\"")),

    AFTER("POST /locks" WITH_ONE NAMES("\"kept-1\",\"kept-2\""), "renewLocks 200",
          "PUT /locks?ttl=1m" WITH_ONE NAMES("\"kept-2\",\"kept-1\"")),
    CASE("renewLocks 400 invalid_request", "PUT /locks" NO_HOST),
    CASE("renewLocks 400 invalid_parameter", "PUT /locks" NAMES("\"a\"")),
    CASE("renewLocks 400 invalid_parameter", "PUT /locks" WITH_ONE),
    CASE("renewLocks 400 invalid_json", "PUT /locks" WITH_ONE BODY("{7")),
    CASE("renewLocks 405 method_not_allowed", "PATCH /locks"),
    AFTER("POST /locks" WITH_ONE NAMES("\"kept-3\""), "renewLocks 409 not_held",
          "PUT /locks" WITH_ONE NAMES("\"kept-3\",\"kept-not\"")),
    LARGE("renewLocks 413 too_large", "PUT /locks" BODY("{}")),
    CASE("renewLocks 415 unsupported_media_type", "PUT /locks" FORM),
    ALONE("POST /locks/alone-c" WITH_ONE, "renewLocks 503 unconfirmed",
          "PUT /locks" WITH_ONE NAMES("\"alone-c\"")),
    CASE("renewLocks 500 damaged", "PUT /locks" WITH_ONE NAMES("\"damaged\"")),
    DOWN("renewLocks 503 store_unavailable", "PUT /locks" WITH_ONE NAMES("\"a\"")),

    AFTER("POST /locks" WITH_ONE NAMES("\"given-1\",\"given-2\""), "releaseLocks 200",
          "DELETE /locks" WITH_ONE NAMES("\"given-2\",\"given-1\"")),
    AFTER_2("POST /locks/given-3", "POST /locks/given-3" IN_VAIN WITH_ONE, "releaseLocks 200",
            "DELETE /locks" WITH_ONE NAMES("\"given-3\"")),
    AFTER("POST /locks/under-1", "releaseLocks 200",
          "DELETE /locks?force=true&prefix=under-&reason=over"),
    CASE("releaseLocks 200",
         "DELETE /locks?force=true&prefix=under-" BODY("{\"reason\":\"over\"}")),
    CASE("releaseLocks 400 invalid_parameter", "DELETE /locks?force=true&prefix=under-"),
    QUORUM("releaseLocks 501 unsupported", "DELETE /locks?force=true&prefix=a&reason=over"),
    CASE("releaseLocks 400 invalid_request", "DELETE /locks" NO_HOST),
    CASE("releaseLocks 400 invalid_parameter", "DELETE /locks" NAMES("\"a\"")),
    CASE("releaseLocks 400 invalid_parameter", "DELETE /locks" WITH_ONE),
    CASE("releaseLocks 400 invalid_json", "DELETE /locks" WITH_ONE BODY("{7")),
    CASE("releaseLocks 405 method_not_allowed", "PATCH /locks"),
    AFTER("POST /locks" WITH_ONE NAMES("\"given-4\""), "releaseLocks 409 not_held",
          "DELETE /locks" WITH_ONE NAMES("\"given-4\",\"given-not\"")),
    LARGE("releaseLocks 413 too_large", "DELETE /locks" BODY("{}")),
    CASE("releaseLocks 415 unsupported_media_type", "DELETE /locks" FORM),
    CASE("releaseLocks 500 damaged", "DELETE /locks" WITH_ONE NAMES("\"damaged\"")),
    DOWN("releaseLocks 503 store_unavailable", "DELETE /locks" WITH_ONE NAMES("\"a\"")),

    AFTER_2("POST /locks/event-a" BODY("{\"meta\":{\"a\":1}}"), "POST /locks/event-b",
            "watchLocks 200", "GET /events?prefix=event&limit=1"),
    CASE("watchLocks 200", "GET /events?prefix=event&after=1763715600000000"),
    CASE("watchLocks 200", "GET /events?prefix=nothing&after=9007199254740991&wait=1ms"),
    CASE("watchLocks 200", "GET /events?prefix=event&wait=1ms" AS_EVENTS),
    CASE("watchLocks 200", "GET /events?prefix=event&after=1763715600000000&wait=0" AS_EVENTS),
    CASE("watchLocks 400 invalid_request", "GET /events" NO_HOST),
    CASE("watchLocks 400 invalid_parameter", "GET /events?prefix=%FF"),
    CASE("watchLocks 405 method_not_allowed", "POST /events"),
    QUORUM("watchLocks 501 unsupported", "GET /events"),
    DOWN("watchLocks 503 store_unavailable", "GET /events"),

    CASE("getLiveness 200", "GET /livez"),
    DOWN("getLiveness 200", "GET /livez"),
    CASE("getLiveness 400 invalid_request", "GET /livez" NO_HOST),
    CASE("getLiveness 400 invalid_parameter", "GET /livez?verbose=1"),
    CASE("getLiveness 405 method_not_allowed", "POST /livez"),
    CASE("getReadiness 200", "GET /readyz"),
    CASE("getReadiness 200", "GET /readyz?verbose"),
    CASE("getReadiness 200", "GET /readyz?verbose=true"),
    CASE("getReadiness 400 invalid_request", "GET /readyz" NO_HOST),
    CASE("getReadiness 400 invalid_parameter", "GET /readyz?verbose=1"),
    CASE("getReadiness 405 method_not_allowed", "POST /readyz"),
    ALONE(NULL, "getReadiness 503 unconfirmed", "GET /readyz"),
    ALONE(NULL, "getReadiness 503 unconfirmed", "GET /readyz?verbose"),
    DOWN("getReadiness 503 store_unavailable", "GET /readyz"),
    DOWN("getReadiness 503 store_unavailable", "GET /readyz?verbose"),
    DRAINING("GET /livez", "getReadiness 503 draining", "GET /readyz"),
    DRAINING("GET /livez", "getReadiness 503 draining", "GET /readyz?verbose"),
    STUCK("getReadiness 503 stuck", "GET /readyz"),
    STUCK("getReadiness 503 stuck", "GET /readyz?verbose"),
    STUCK("getLiveness 503 stuck", "GET /livez"),
    CASE("getMetrics 200", "GET /metrics"),
    DOWN("getMetrics 200", "GET /metrics"),
    CASE("getMetrics 400 invalid_request", "GET /metrics" NO_HOST),
    CASE("getMetrics 400 invalid_parameter", "GET /metrics?name=a"),
    CASE("getMetrics 405 method_not_allowed", "POST /metrics"),
    CASE("getStats 403 untrusted_origin", "GET /stats" ELSEWHERE),
    AFTER_2("POST /locks/contended?ttl=100ms&owner=me", "POST /locks/contended" IN_VAIN,
            "getStats 200", "GET /stats?limit=1000"),
    DOWN("getStats 200", "GET /stats"),
    CASE("getStats 400 invalid_request", "GET /stats" NO_HOST),
    CASE("getStats 400 invalid_parameter", "GET /stats?limit=0"),
    CASE("getStats 405 method_not_allowed", "DELETE /stats"),
    CASE("getQuarantine 200", "GET /quarantine"),
    QUARANTINED("getQuarantine 200", "GET /quarantine"),
    QUARANTINED("getReadiness 200", "GET /readyz?verbose"),
    CASE("getQuarantine 403 untrusted_origin", "GET /quarantine" ELSEWHERE),
    CASE("getQuarantine 400 invalid_request", "GET /quarantine" NO_HOST),
    CASE("getQuarantine 400 invalid_parameter", "GET /quarantine?name=a"),
    CASE("getQuarantine 405 method_not_allowed", "POST /quarantine"),
    CASE("endQuarantine 200", "DELETE /quarantine?reason=none"),
    CASE("endQuarantine 200", "DELETE /quarantine" BODY("{\"reason\":\"none\"}")),
    CASE("endQuarantine 400 invalid_request", "DELETE /quarantine?reason=none" NO_HOST),
    CASE("endQuarantine 400 invalid_parameter", "DELETE /quarantine"),
    CASE("endQuarantine 400 invalid_json", "DELETE /quarantine" BODY("{")),
    CASE("endQuarantine 405 method_not_allowed", "PUT /quarantine"),
    LARGE("endQuarantine 413 too_large", "DELETE /quarantine" BODY("{}")),
    CASE("endQuarantine 415 unsupported_media_type", "DELETE /quarantine" FORM),
    DOWN("endQuarantine 503 store_unavailable", "DELETE /quarantine?reason=none"),
    CASE("getOpenapi 200", "GET /openapi.yaml"),
    CASE("getOpenapi 400 invalid_request", "GET /openapi.yaml" NO_HOST),
    CASE("getOpenapi 400 invalid_parameter", "GET /openapi.yaml?format=json"),
    CASE("getOpenapi 405 method_not_allowed", "POST /openapi.yaml"),
    CASE("getUi 200", "GET /ui"),
    CASE("getUi 200", "GET /ui\nIf-None-Match: \"another\""),
    CASE("getUi 200", "GET /ui" ELSEWHERE),
    CASE("getUi 304", "GET /ui\nIf-None-Match: *"),
    CASE("getUi 400 invalid_request", "GET /ui" NO_HOST),
    CASE("getUi 400 invalid_parameter", "GET /ui?token=none"),
    CASE("getUi 405 method_not_allowed", "POST /ui"),
};

const size_t CASE_COUNT = sizeof CASES / sizeof CASES[0];
