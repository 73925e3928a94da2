package neologue.storage;

/** One campaign that this device took part in. */
public final class Answer {
    public final String campaign;
    /** The digest of the layer. */
    public final String layer;
    /** The local ε that it cost. */
    public final double epsilon;
    /** When, in days since 1970-01-01. */
    public final long day;
    /** Who asked. */
    public final String operator;
    /** The most words that the report speaks of. */
    public final int bound;

    /** What was promised of groups, in hexadecimal; null if the report leaves without masks. */
    public final String masked;

    public Answer(String campaign, String layer, double epsilon, long day, String operator, int bound, String masked) {
        this.campaign = campaign;
        this.layer = layer;
        this.epsilon = epsilon;
        this.day = day;
        this.operator = operator;
        this.bound = bound;
        this.masked = masked;
    }
}
