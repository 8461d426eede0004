package baton.client;

/** All errors of this package. */
public class BatonException extends RuntimeException {
    private static final long serialVersionUID = 1;

    BatonException(String message) {
        super(message);
    }

    /** The lock may be another's from now on. Stop the work that it protects. */
    public static class LockLost extends BatonException {
        private static final long serialVersionUID = 1;

        LockLost(String message) {
            super(message);
        }
    }
}
