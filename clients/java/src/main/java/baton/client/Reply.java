package baton.client;

import java.util.Map;

/** An answer; its status is 0 if there was none. `sent` is when the request was sent, by System.nanoTime(). */
record Reply(int status, Map<String, Object> document, long sent) {
    boolean isDone() {
        return status >= 200 && status < 300;
    }

    Problem problem() {
        return Problem.of(status, document);
    }

    static Reply none(String detail, long sent) {
        return new Reply(0, Map.of("detail", detail), sent);
    }

    /** A server of another kind may answer anything. */
    @SuppressWarnings("unchecked")
    static Reply of(int status, String body, long sent) {
        try {
            if (Json.read(body) instanceof Map<?, ?> map && (status < 300 || map.get("code") instanceof String)) {
                return new Reply(status, (Map<String, Object>) map, sent);
            }
        } catch (IllegalArgumentException error) {
            // As for a document that is none of batond's.
        }
        return ofAnother(status, sent);
    }

    static Reply ofAnother(int status, long sent) {
        int away = status >= 502 && status <= 504 ? status : 0;
        return new Reply(away, Map.of("detail", "the answer (" + status + ") is not one of batond"), sent);
    }
}
