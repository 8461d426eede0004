package baton.client;

import java.util.List;
import java.util.Map;

/**
 * An answer; its status is 0 if there was none. `sent` is when the request was sent, by System.nanoTime(). It is repeated
 * if an earlier request may have done the same.
 */
record Reply(int status, Map<String, Object> document, long sent, boolean isRepeated) {
    private static final Map<String, Class<?>> KINDS = Map.of("released", Boolean.class, "changed", Boolean.class, "locks",
            List.class); // of the proofs; the others are numbers

    boolean isDone() {
        return status >= 200 && status < 300;
    }

    Problem problem() {
        return Problem.of(status, document);
    }

    static Reply none(String detail, long sent) {
        return new Reply(0, Map.of("detail", detail), sent, false);
    }

    @Override
    public String toString() {
        return "Reply " + status; // the document may have the token
    }

    Reply repeated() {
        return new Reply(status, document, sent, true);
    }

    /** The document, or its locks, of which each has the proof. */
    List<?> locks(String proof) {
        return document.get("locks") instanceof List<?> locks && !document.containsKey(proof) ? locks : List.of(document);
    }

    /** A server of another kind may answer anything. The proof is a field that the answer of a batond has. */
    @SuppressWarnings("unchecked")
    static Reply of(int status, String body, String proof, long sent) {
        try {
            if (Json.read(body) instanceof Map<?, ?> map) {
                Reply reply = new Reply(status, (Map<String, Object>) map, sent, false);
                if (reply.isDone() ? reply.isProven(proof) : map.get("code") instanceof String) {
                    return reply;
                }
            }
        } catch (IllegalArgumentException | StackOverflowError error) {
            // As for a document that is none of batond's.
        }
        return ofAnother(status, sent);
    }

    /** The document, or each of its locks, has a field of this name and its kind. */
    private boolean isProven(String proof) {
        Class<?> kind = KINDS.getOrDefault(proof, Long.class);
        List<?> locks = locks(proof);
        return !locks.isEmpty()
                && locks.stream().allMatch(lock -> lock instanceof Map<?, ?> map && kind.isInstance(map.get(proof)));
    }

    private static Reply ofAnother(int status, long sent) {
        int away = status >= 502 && status <= 504 ? status : 0;
        return new Reply(away, Map.of("detail", "the answer (" + status + ") is not one of batond"), sent, false);
    }
}
