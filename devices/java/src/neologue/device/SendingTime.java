package neologue.device;

import java.security.SecureRandom;
import java.util.function.Supplier;
import neologue.LaterException;

/**
 * When a report leaves a device: at a moment that was drawn before its words were looked at.
 *
 * <p>Making a report takes the longer, the more words there are. A report that is not ready at its moment waits for another,
 * drawn from the one before, so that the time tells only how many moments had passed.
 */
public final class SendingTime {
    private static final double NANOS = 1e9;

    private final SecureRandom generator = new SecureRandom();
    private final double earliest;
    private final double latest;

    /** In a window of seconds, at least and at most; a server has no say in it. */
    public SendingTime(double earliest, double latest) {
        boolean usable = earliest >= 0 && earliest < latest && latest <= 3600;
        if (!usable) {
            throw new IllegalArgumentException("a sending window lasts from 0 seconds or more to a later moment "
                    + "within an hour, not from "
                    + earliest + " to " + latest);
        }
        this.earliest = earliest;
        this.latest = latest;
    }

    /** In the usual window. */
    public SendingTime() {
        this(5, 15);
    }

    /** What is made, at a moment that does not depend on how long that took. */
    <T> T hide(Supplier<T> making) {
        long moment = System.nanoTime() + draw();
        T made = making.get();
        long left = moment - System.nanoTime();
        while (left < 0) {
            left += draw();
        }
        try {
            Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new LaterException("the app was stopped before the report was sent", null);
        }
        return made;
    }

    private long draw() {
        return (long) (NANOS * (earliest + (latest - earliest) * generator.nextDouble()));
    }
}
