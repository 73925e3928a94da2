package neologue.device;

/** The result of one step of a device. */
public final class Tick {
    /** The state of a device after a step. */
    public enum State {
        /** The owner has not opted in. */
        OUT,
        /** No campaign is joined. */
        ALONE,
        /** The service asks nothing yet. */
        WAIT,
        /** The service gave no usable answer. */
        LATER,
        /** The device's own policy refuses, or the service does. */
        REFUSED,
        /** The report has arrived and is not final yet. */
        RECEIVED,
        /** The report was counted. */
        FINAL,
        /** The report came too late and was not counted. */
        CLOSED,
        /** Nothing more will be asked. */
        OVER
    }

    /** The state. */
    public final State state;
    /** Seconds until the next step; null if only the owner or another campaign changes anything. */
    public final Double again;
    /** The same as a sentence. */
    public final String message;

    Tick(State state, Double again, String message) {
        this.state = state;
        this.again = again;
        this.message = message;
    }
}
