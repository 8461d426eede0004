package baton.client.testing;

import baton.client.Client;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A batond with a Redis of its own that knows no lock, for tests. It needs the package baton. */
public final class Server implements AutoCloseable {
    private static final Pattern URL = Pattern.compile("\"url\":\"([^\"]+)\".*\n");

    private final Path folder;
    private final Process process;
    private final String url;

    /** The settings are those of batond, such as "--max-wait=1m". */
    public Server(String... settings) throws IOException, InterruptedException {
        folder = Files.createTempDirectory("baton-");
        File log = folder.resolve("batond.log").toFile();
        try {
            process = start(log, settings);
        } catch (IOException error) {
            removeFolder();
            throw error;
        }
        try {
            url = await(log);
        } catch (IOException | InterruptedException | RuntimeException error) {
            close();
            throw error;
        }
    }

    private Process start(File log, String... settings) throws IOException {
        String program = System.getenv().getOrDefault("BATON_BATOND", "batond");
        List<String> command = new ArrayList<>(List.of(program, "--listen=127.0.0.1:0", "--workers=1", "--log-format=json",
                "--state-dir=" + folder));
        command.addAll(List.of(settings));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log);
        builder.environment().keySet().removeIf(name -> name.startsWith("BATON_"));
        try {
            return builder.start();
        } catch (IOException error) {
            throw new IOException(
                    "There is no batond. Install the package baton, or name the program in BATON_BATOND.", error);
        }
    }

    private String await(File log) throws IOException, InterruptedException {
        while (true) {
            boolean hasEnded = !process.isAlive();
            String said = Files.readString(log.toPath());
            Matcher line = URL.matcher(said);
            if (line.find()) {
                return line.group(1);
            }
            if (hasEnded) {
                throw new IOException("batond ended with " + process.exitValue() + ": " + said);
            }
            Thread.sleep(10);
        }
    }

    public String url() {
        return url;
    }

    public Client client() {
        return new Client(url);
    }

    /** Ends batond, even in a thread that is interrupted. */
    @Override
    public void close() throws IOException {
        process.destroy();
        process.onExit().join();
        removeFolder();
    }

    private void removeFolder() throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }
}
