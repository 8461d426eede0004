package baton.client;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sends requests to one URL after another until a batond can serve. */
final class Transport {
    private static final Pattern URL = Pattern
            .compile("https?://(?:\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?(/[!-\"$->@-~]*)?");

    private final List<String> urls;
    private final String bearer;
    private final HttpClient http;
    private final AtomicInteger current = new AtomicInteger(); // the URL that answered last

    Transport(List<String> urls, String bearer, HttpClient http) {
        if (urls.isEmpty()) {
            throw new IllegalArgumentException("There is no URL of batond. Write http://HOST:PORT or https://HOST:PORT.");
        }
        this.urls = urls.stream().map(String::valueOf).map(Transport::baseOf).toList();
        this.bearer = bearer == null || bearer.isEmpty() ? null : ofHeader(bearer, "API key");
        this.http = http;
    }

    /** What stands before each path. A URL with /locks, as for curl, would make another lock of each name. */
    private static String baseOf(String url) {
        if (url.contains("@")) {
            throw new IllegalArgumentException(
                    "A URL of batond has no user and no password. Give the client the API key as bearer.");
        }
        String base = url.replaceAll("/+\\z", "");
        Matcher parts = URL.matcher(base);
        if (!parts.matches() || !isPort(parts.group(1)) || !isUri(base)) {
            throw new IllegalArgumentException(
                    Json.write(url) + " is not a URL of batond. Write http://HOST:PORT or https://HOST:PORT.");
        }
        if (parts.group(2) != null && base.endsWith("/locks")) {
            String instead = base.replaceAll("/locks$", "");
            throw new IllegalArgumentException(
                    Json.write(url) + " ends in /locks, which the client adds. Write \"" + instead + "\".");
        }
        return base;
    }

    private static boolean isPort(String port) {
        return port == null || (Integer.parseInt(port) > 0 && Integer.parseInt(port) < 65_536);
    }

    private static boolean isUri(String url) {
        try {
            return URI.create(url).isAbsolute();
        } catch (IllegalArgumentException error) {
            return false;
        }
    }

    /** A secret, without the line break at the end of a file. */
    static String ofHeader(String secret, String what) {
        if (!secret.strip().matches("[!-~]+")) {
            throw new IllegalArgumentException(
                    "The " + what + " has a character that no header can carry. Is it the " + what + ", and nothing else?");
        }
        return secret.strip();
    }

    /** The proof is a field that the answer of a batond has. `token` and `body` may be null. */
    Reply ask(String method, String path, String proof, String token, Map<String, Object> body, long timeout)
            throws InterruptedException {
        return ask(method, path, proof, token, body, timeout, Long.MAX_VALUE);
    }

    /** The timeout is for each URL, the limit for all together. */
    Reply ask(String method, String path, String proof, String token, Map<String, Object> body, long timeout, long limit)
            throws InterruptedException {
        long begun = System.nanoTime();
        Reply reply = null;
        for (int i = 0; i < urls.size(); i++) {
            int at = current.get();
            long left = limit - (System.nanoTime() - begun);
            reply = send(urls.get(at % urls.size()), method, path, proof, token, body, Math.min(timeout, left));
            reply = i > 0 ? reply.repeated() : reply;
            if (reply.isDone() || !(reply.problem() instanceof Problem.Unavailable)) {
                break;
            }
            current.compareAndSet(at, (at + 1) % urls.size());
            if (token == null && !method.equals("GET")) {
                break; // a break that is repeated could end another's hold
            }
        }
        return reply;
    }

    private static Reply noAnswer(String url, Object why, long sent) {
        return Reply.none("No batond answers at " + url + " (" + why + "). Check the URL, and that batond runs there.", sent);
    }

    private Reply send(String url, String method, String path, String proof, String token, Map<String, Object> body,
            long timeout) throws InterruptedException {
        long sent = System.nanoTime();
        CompletableFuture<HttpResponse<String>> answer = new CompletableFuture<>();
        try {
            answer = http.sendAsync(request(url, method, path, token, body), head -> new Text());
            HttpResponse<String> response = answer.get(timeout, TimeUnit.NANOSECONDS);
            return Reply.of(response.statusCode(), response.body(), proof, sent);
        } catch (TimeoutException error) {
            return noAnswer(url, "no answer in time", sent);
        } catch (ExecutionException error) {
            return noAnswer(url, error.getCause(), sent);
        } catch (IllegalArgumentException error) { // a host name with an underscore, which the HttpClient does not take
            return noAnswer(url, error.getMessage(), sent);
        } catch (RejectedExecutionException error) {
            return Reply.none(url + ": the executor of the HttpClient takes no more work", sent);
        } finally {
            answer.cancel(true);
        }
    }

    private HttpRequest request(String url, String method, String path, String token, Map<String, Object> body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).header("Accept", "application/json")
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(Json.write(body)));
        if (body != null) {
            request.header("Content-Type", "application/json");
        }
        if (token != null) {
            request.header("Lock-Token", token);
        }
        if (bearer != null) {
            request.header("Authorization", "Bearer " + bearer);
        }
        return request.build();
    }

    /** The body of an answer. A batond sends no more than 16 MiB. */
    private static final class Text implements BodySubscriber<String> {
        private static final long LONGEST = 16 << 20;

        private final BodySubscriber<String> text = BodySubscribers.ofString(StandardCharsets.UTF_8);
        private Flow.Subscription subscription;
        private long length;

        @Override
        public CompletionStage<String> getBody() {
            return text.getBody();
        }

        @Override
        public void onSubscribe(Flow.Subscription begun) {
            subscription = begun;
            text.onSubscribe(begun);
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            length += buffers.stream().mapToLong(ByteBuffer::remaining).sum();
            if (length <= LONGEST) {
                text.onNext(buffers);
            } else {
                subscription.cancel();
                text.onError(new IOException("the answer is longer than 16 MiB"));
            }
        }

        @Override
        public void onError(Throwable error) {
            text.onError(error);
        }

        @Override
        public void onComplete() {
            text.onComplete();
        }
    }
}
