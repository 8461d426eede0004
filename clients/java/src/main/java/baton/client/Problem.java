package baton.client;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.regex.Pattern;

/** A refusal by batond, or by the proxy in front of it; a class below it for each kind. */
@SuppressWarnings("serial") // nobody stores them
public class Problem extends BatonException {
    private static final Map<String, BiFunction<Integer, Map<String, Object>, Problem>> OF_CODE = Map.of(
            "locked", Locked::new, "wait_timeout", WaitTimeout::new, "not_held", NotHeld::new, "max_held", MaxHeld::new,
            "token_in_use", TokenInUse::new, "upgrade_conflict", UpgradeConflict::new,
            "superseded", Superseded::new, "damaged", Damaged::new, "quarantined", Quarantined::new);
    private static final Map<Integer, BiFunction<Integer, Map<String, Object>, Problem>> OF_STATUS = Map.of(
            0, Unreachable::new, 401, Unauthorized::new, 403, Forbidden::new, 408, Unavailable::new, 409, Problem::new,
            429, TooMany::new, 500, Problem::new, 502, Unavailable::new, 503, Unavailable::new, 504, Unavailable::new);

    // What a refused acquire says of its token, and what is so when its error is thrown.
    private static final Pattern OF_TOKEN = Pattern
            .compile("(^|(?<=\\. ))(Your place in the queue|[^.]*\\bthis token\\b).*", Pattern.DOTALL);
    private static final String GIVEN_UP = "The client has given up its place in the queue.";

    private final int status;
    private final transient Map<String, Object> document;

    Problem(int status, Map<String, Object> document) {
        super((document.containsKey("code") ? document.get("code") + ": " : "") + document.getOrDefault("detail", ""));
        this.status = status;
        this.document = document;
    }

    /** The error that a reply stands for; its status is 0 if nobody has answered. */
    static Problem of(int status, Map<String, Object> document) {
        if (document.containsKey("token")) {
            document = new LinkedHashMap<>(document);
            document.remove("token");
            document.computeIfPresent("detail", (name, text) -> OF_TOKEN.matcher(text.toString()).replaceFirst(GIVEN_UP));
        }
        var kind = OF_CODE.get(String.valueOf(document.get("code")));
        return (kind != null ? kind : OF_STATUS.getOrDefault(status, Invalid::new)).apply(status, document);
    }

    /** The status of HTTP; 0 if nobody has answered. */
    public int status() {
        return status;
    }

    public String code() {
        return (String) document.getOrDefault("code", "");
    }

    public String detail() {
        return (String) document.getOrDefault("detail", "");
    }

    /** The whole problem document. */
    public Map<String, Object> document() {
        return document;
    }

    /** After which time it makes sense to ask again; zero if unknown. */
    public Duration retryAfter() {
        return Duration.ofMillis(((Number) document.getOrDefault("retry_after_ms", 0)).longValue());
    }

    /** Others hold the lock, or wait for it. */
    public static class Locked extends Problem {
        Locked(int status, Map<String, Object> document) {
            super(status, document);
        }

        @SuppressWarnings("unchecked")
        public List<Map<String, Object>> holders() {
            return (List<Map<String, Object>>) document().getOrDefault("holders", List.of());
        }
    }

    /** The wait has ended before the lock was granted. */
    public static final class WaitTimeout extends Locked {
        WaitTimeout(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** The token has no live hold. */
    public static final class NotHeld extends Problem {
        NotHeld(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** The hold has reached its max_held, and cannot get longer. */
    public static final class MaxHeld extends Problem {
        MaxHeld(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** The token was used for another request. */
    public static final class TokenInUse extends Problem {
        TokenInUse(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** Another owner of a shared hold waits to make it exclusive. */
    public static final class UpgradeConflict extends Problem {
        UpgradeConflict(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** A later request with this token waits in place of this one. */
    public static final class Superseded extends Problem {
        Superseded(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** The request itself is wrong; repeating it does not help. */
    public static final class Invalid extends Problem {
        Invalid(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** The API key is missing or unknown. */
    public static final class Unauthorized extends Problem {
        Unauthorized(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** The API key does not have the right to do this. */
    public static final class Forbidden extends Problem {
        Forbidden(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** Too many requests wait, or were sent in a second. */
    public static final class TooMany extends Problem {
        TooMany(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** The record of the lock in Redis cannot be read. */
    public static final class Damaged extends Problem {
        Damaged(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** No batond can serve now, or the outcome is unknown. Repeating the request is safe. */
    public static class Unavailable extends Problem {
        Unavailable(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** New locks are paused, because Redis may have lost some. */
    public static final class Quarantined extends Unavailable {
        Quarantined(int status, Map<String, Object> document) {
            super(status, document);
        }
    }

    /** No batond has answered. */
    public static final class Unreachable extends Unavailable {
        Unreachable(int status, Map<String, Object> document) {
            super(status, document);
        }
    }
}
