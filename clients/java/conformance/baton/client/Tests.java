package baton.client;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;

/** What only the client for Java has; all else is in clients/cases.yaml. clients/conformance/run.py runs it. */
public final class Tests {
    private interface Attempt {
        Object make() throws Exception;
    }

    private static void equal(Object expected, Object got) {
        if (!Objects.equals(expected, got)) {
            throw new AssertionError("It is " + got + ", not " + expected + ".");
        }
    }

    private static <E extends Throwable> E fails(Class<E> kind, Attempt attempt) {
        try {
            attempt.make();
        } catch (Throwable error) {
            if (kind.isInstance(error)) {
                return kind.cast(error);
            }
            throw new AssertionError("It fails with " + error + ", not with " + kind + ".", error);
        }
        throw new AssertionError("It does not fail with " + kind + ".");
    }

    private static void whatIsNoNameIsAnErrorAtOnce(Client client) {
        for (String[] names : new String[][] {{}, {""}, {null}, {"a", ""}, {"a", null}}) {
            fails(IllegalArgumentException.class, () -> client.lock(names));
        }
        for (String name : new String[] {"", null}) {
            fails(IllegalArgumentException.class, () -> client.inspect(name));
            fails(IllegalArgumentException.class, () -> client.events(name));
            fails(IllegalArgumentException.class, () -> client.breakLock(name));
        }
    }

    private static void reentrantNeedsAnOwner(Client client) {
        fails(IllegalArgumentException.class, () -> client.lock(new LockOptions().reentrant(), "job"));
    }

    private static void nothingNestedIsReadWithoutABound() {
        equal(0, Reply.of(200, "[".repeat(1 << 20), "released", 0).status());
    }

    private static void noTextShowsAKeyOrAToken() {
        Problem problem = Problem.of(408, Map.of("code", "wait_timeout", "token", "SECRET", "detail",
                "Held by alice. Your place in the queue is kept for 10s. Repeat the request with this token."));
        equal("wait_timeout: Held by alice. The client has given up its place in the queue.", problem.getMessage());
        equal(false, problem.document().toString().contains("SECRET"));
        equal(false, Reply.of(200, "{\"ttl_ms\":1,\"token\":\"SECRET\"}", "ttl_ms", 0).toString().contains("SECRET"));
    }

    private static void urlThatHttpClientDoesNotTakeIsPassed() {
        Client client = Client.builder("http://no_host").patience(Duration.ZERO).build();
        equal(true, fails(Problem.Unreachable.class, () -> client.inspect("job")).detail().contains("no_host"));
    }

    public static void main(String[] arguments) throws Exception {
        Client client = new Client();
        whatIsNoNameIsAnErrorAtOnce(client);
        reentrantNeedsAnOwner(client);
        nothingNestedIsReadWithoutABound();
        noTextShowsAKeyOrAToken();
        urlThatHttpClientDoesNotTakeIsPassed();
    }
}
