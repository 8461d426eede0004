package baton.client;

import baton.client.testing.Server;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What only the client for Java has; all else is in clients/cases.yaml. clients/conformance/run.py runs it. */
public final class Tests {
    private static final long SECOND = 1_000_000_000;

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

    private static void answerOfMoreThan16MiBIsGivenUp() throws IOException {
        HttpServer another = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        another.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, 0);
            try (OutputStream body = exchange.getResponseBody()) {
                body.write(new byte[17 << 20]);
            }
        });
        another.start();
        Client client = Client.builder("http://127.0.0.1:" + another.getAddress().getPort()).patience(Duration.ZERO).build();
        equal(true, fails(Problem.Unreachable.class, () -> client.inspect("job")).detail().contains("longer than 16 MiB"));
        another.stop(0);
    }

    private static void whatIsRefusedInsideIsNotSkipped(Client client) throws InterruptedException {
        LockOptions skip = new LockOptions().skip();
        fails(Problem.Locked.class, () -> client.run(skip, lock -> client.lock(lock.names().get(0)).close(), "job"));
        try (Lock lock = client.lock("job")) {
            equal(false, client.run(skip, held -> equal(1, 2), "job"));
            lock.check();
        }
    }

    private static void taskOfTheLeaderMayThrowItsException(Client client) {
        fails(IOException.class, () -> {
            client.lead(new LockOptions(), lock -> {
                throw new IOException();
            }, "job");
            return null;
        });
    }

    private static void whatIsListedOnSeveralPagesIsWhole(Client client) throws InterruptedException {
        String[] names = IntStream.range(0, 150).mapToObj(i -> "page/" + i).toArray(String[]::new);
        for (int i = 0; i < names.length; i += 50) {
            client.lock(Arrays.copyOfRange(names, i, i + 50));
        }
        equal(Set.of(names), client.list("page/").stream().map(lock -> lock.get("name")).collect(Collectors.toSet()));
    }

    private static void extendWithoutAnAnswerCountsAsTheShorterTtl() {
        Lease lease = new Lease("job");
        lease.count(Reply.of(200, "{\"ttl_ms\":60000}", "ttl_ms", System.nanoTime()));
        Transport nobody = new Transport(List.of("http://127.0.0.1:1"), null, HttpClient.newHttpClient());
        Protocol protocol = new Protocol(nobody, SECOND, SECOND, 0);
        fails(Problem.Unreachable.class, () -> {
            protocol.extend(lease, Duration.ofSeconds(3));
            return null;
        });
        equal(true, lease.left() < 3 * SECOND && lease.untilRenewal() <= 0);
    }

    public static void main(String[] arguments) throws Exception {
        nothingNestedIsReadWithoutABound();
        noTextShowsAKeyOrAToken();
        urlThatHttpClientDoesNotTakeIsPassed();
        answerOfMoreThan16MiBIsGivenUp();
        try (Server server = new Server()) {
            Client client = server.client();
            whatIsNoNameIsAnErrorAtOnce(client);
            reentrantNeedsAnOwner(client);
            whatIsRefusedInsideIsNotSkipped(client);
            taskOfTheLeaderMayThrowItsException(client);
            whatIsListedOnSeveralPagesIsWhole(client);
        }
        extendWithoutAnAnswerCountsAsTheShorterTtl();
    }
}
