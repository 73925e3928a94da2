package neologue.device;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import neologue.LaterException;
import neologue.protocol.Bytes;
import neologue.protocol.Json;
import neologue.transport.Response;

/** The JSON object in an answer of a service, which may be hostile: fields of a known shape, and bounded delays. */
final class Reply {
    static final double SOONEST = 1;
    static final double LATEST = 86_400;
    static final double REFUSED_DELAY = 3600;

    private final Map<?, ?> fields;

    private Reply(Map<?, ?> fields) {
        this.fields = fields;
    }

    static Reply of(Response response) {
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(response.body)).toString();
            Object value = Json.read(text);
            if (value instanceof Map) {
                return new Reply((Map<?, ?>) value);
            }
        } catch (CharacterCodingException | IllegalArgumentException error) {
            // Quoted nowhere: it could be anything.
        }
        throw unusable();
    }

    /** The state that an answer names, or an empty string. */
    String state() {
        Object state = fields.get("state");
        return state instanceof String ? (String) state : "";
    }

    /** Bytes in lower-case hexadecimal; of any length if it is -1. */
    byte[] bytes(String name, int length) {
        byte[] bytes = Bytes.unhex(fields.get(name), length);
        if (bytes == null) {
            throw unusable();
        }
        return bytes;
    }

    boolean has(String name) {
        return fields.get(name) != null;
    }

    /** The delay that a server asks for, within the bounds. */
    double delay() {
        Object seconds = fields.get("retry_after");
        if (!(seconds instanceof Double)) {
            throw unusable();
        }
        return Math.min(Math.max((Double) seconds, SOONEST), LATEST);
    }

    /** The delay in a Retry-After header; null if there is none, or a date. */
    static Double retryAfter(Response response) {
        boolean usable = response.retryAfter != null && response.retryAfter.matches("[0-9]{1,9}");
        return usable ? Math.min(Math.max(Double.parseDouble(response.retryAfter), SOONEST), LATEST) : null;
    }

    /** The step after an answer that is no success: a LaterException if another try soon may help. */
    static Tick refusal(Response response, String what) {
        int status = response.status;
        if (status >= 500 || status == 408 || status == 429 || status >= 300 && status < 400) {
            throw new LaterException("the service answers " + status + " to a " + what + ": try again later",
                    retryAfter(response));
        }
        return new Tick(Tick.State.REFUSED, REFUSED_DELAY, "the service refuses a " + what + " of this device with "
                + status);
    }

    static LaterException unusable() {
        return new LaterException("the service's answer can't be understood: try again later", null);
    }
}
