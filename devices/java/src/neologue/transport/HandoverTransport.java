package neologue.transport;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import neologue.LaterException;
import neologue.OversizeException;
import neologue.protocol.Bytes;
import neologue.protocol.Json;
import neologue.storage.StorageException;

/**
 * Requests and answers in files, for an app that may not use the network: someone else carries them, and is trusted no more
 * than a network is.
 *
 * <p>A step whose answer is not there writes its request and is taken again when the answer has come. The request has the
 * answers that the step has used already, which come back with the new one. docs/protocol.md has the form of the files.
 */
public final class HandoverTransport implements Transport {
    private static final double FORMAT = 1;
    /** Seconds: as soon as someone has carried the request. */
    private static final double SOON = 1;
    private static final long LARGEST_FILE = 1L << 26;

    private final Path requestFile;
    private final Map<String, Response> answers = new HashMap<>();
    /** What this step has used, but for documents: these are in the device's folder then. */
    private final List<Object> used = new ArrayList<>();

    /** Writes requests into a file, and takes answers from another, which need not be there. */
    public HandoverTransport(Path requestFile, Path answerFile) {
        this.requestFile = requestFile;
        try {
            if (Files.exists(answerFile)) {
                if (Files.size(answerFile) > LARGEST_FILE) {
                    throw new IllegalArgumentException("more than " + LARGEST_FILE + " bytes");
                }
                read(Json.read(new String(Files.readAllBytes(answerFile), StandardCharsets.UTF_8)));
            }
            Files.deleteIfExists(requestFile);
        } catch (IOException error) {
            throw new StorageException("can't use the files of the hand-over", error);
        } catch (IllegalArgumentException | ClassCastException | NullPointerException error) {
            throw new IllegalArgumentException(answerFile + " has no answers that were carried: have the request "
                    + "carried again");
        }
    }

    @Override
    public Response request(String method, String path, byte[] body, String type, int most) {
        byte[] sent = body == null ? new byte[0] : body;
        String name = name(method, path, sent);
        Response answer = answers.remove(name);
        if (answer == null) {
            write(method, path, sent, type);
            throw new LaterException("the request is in " + requestFile + ": have it carried to the service", SOON);
        }
        if (answer.body.length > most) {
            throw new OversizeException(most);
        }
        if (!path.startsWith("/v1/layers/") && !path.startsWith("/v1/known/")) {
            used.add(item(name, answer));
        }
        return answer;
    }

    /** By what an answer names its request. */
    private static String name(String method, String path, byte[] body) {
        return Bytes.hex(Bytes.sha256(Bytes.join((method + " " + path + "\n").getBytes(StandardCharsets.US_ASCII),
                body)));
    }

    private void read(Object value) {
        Map<?, ?> file = (Map<?, ?>) value;
        if (!file.get("handover").equals(FORMAT)) {
            throw new IllegalArgumentException("another format");
        }
        for (Object item : (List<?>) file.get("answers")) {
            Map<?, ?> answer = (Map<?, ?>) item;
            byte[] body = Base64.getDecoder().decode((String) answer.get("body"));
            int status = ((Double) answer.get("status")).intValue();
            answers.put((String) answer.get("request"), new Response(status, body, (String) answer.get("retry_after")));
        }
    }

    private static Map<String, Object> item(String name, Response answer) {
        Map<String, Object> item = new LinkedHashMap<>();
        item.put("request", name);
        item.put("status", answer.status);
        item.put("retry_after", answer.retryAfter);
        item.put("body", Base64.getEncoder().encodeToString(answer.body));
        return item;
    }

    private void write(String method, String path, byte[] body, String type) {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("handover", (int) FORMAT);
        request.put("method", method);
        request.put("path", path);
        request.put("type", type == null ? "application/json" : type);
        request.put("body", Base64.getEncoder().encodeToString(body));
        // A report ends the step: what comes back is for the next one, which begins with it.
        request.put("answers", method.equals("GET") ? used : new ArrayList<>());
        try {
            Files.write(requestFile, Json.write(request).getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new StorageException("can't write the request of the hand-over", error);
        }
    }
}
