package baton.client;

import java.util.List;
import java.util.Map;

/** All errors of this package. */
public class BatonException extends RuntimeException {
    private static final long serialVersionUID = 1;

    BatonException(String message) {
        super(message);
    }

    /** The lock may be another's from now on. Stop the work that it protects. */
    public static class LockLost extends BatonException {
        private static final long serialVersionUID = 1;

        private final transient Map<String, Object> document;

        LockLost(List<String> names, Lease.Reason why) {
            super(String.join(", ", names) + ": " + why.text());
            document = why.document();
        }

        /** "not_held" or "max_held", if batond has said so; else empty. */
        public String code() {
            return (String) document.getOrDefault("code", "");
        }

        /** How the hold ended: its `reason`, and by whom it was `broken`. Null if that is unknown. */
        @SuppressWarnings("unchecked")
        public Map<String, Object> ended() {
            return document.get("ended") instanceof Map<?, ?> ended ? (Map<String, Object>) ended : null;
        }
    }
}
