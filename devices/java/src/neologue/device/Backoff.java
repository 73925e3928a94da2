package neologue.device;

import java.security.SecureRandom;
import neologue.LaterException;

/** How long a device waits after answers that it can't use: longer each time, and each device in its own time. */
final class Backoff {
    private static final double FIRST = 60;
    private static final double LONGEST = 21_600;

    private final SecureRandom generator = new SecureRandom();
    private int failures;

    /** Begin anew after a success. */
    void reset() {
        failures = 0;
    }

    /** Seconds until the next try after one more failure: what the server says, or exponential with jitter. */
    double delay(LaterException error) {
        double longest = Math.min(LONGEST, FIRST * Math.pow(2, Math.min(failures++, 16)));
        return error.retryAfter() != null ? error.retryAfter() : longest * (0.5 + generator.nextDouble() / 2);
    }
}
