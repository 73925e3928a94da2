package neologue.randomizers;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import neologue.random.Entropy;

/** What a device does to its sample in one layer. */
public abstract class Randomizer {
    /** The randomizers by the names that documents have for them. */
    public static final Map<String, Factory> NAMED;

    static {
        Map<String, Factory> named = new TreeMap<>();
        named.put("unary", Unary::new);
        named.put("subset-selection", SubsetSelection::new);
        NAMED = Collections.unmodifiableMap(named);
    }

    /** The number of candidates. */
    public final int candidates;
    /** The most candidates that one report speaks of, B. */
    public final int bound;

    Randomizer(int candidates, int bound) {
        this.candidates = candidates;
        this.bound = bound;
    }

    /** The chances of votes. */
    public abstract Channel channel();

    /** The length of a payload, but for one in 2^40. */
    public abstract long payloadBytes();

    /** The votes of a report on average, or always; rounded up. */
    public abstract long votes();

    /** A payload on the candidates held, which are distinct unless a closed layer holds one several times. */
    public abstract byte[] randomize(int[] held, Entropy entropy);

    /** The votes for each candidate in a payload that this device has made. */
    public abstract int[] count(byte[] payload);

    /** What makes a randomizer for a number of candidates, an ε and a bound. */
    public interface Factory {
        /** The randomizer. */
        Randomizer of(int candidates, double epsilon, int bound);
    }
}
