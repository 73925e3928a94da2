package neologue.masking;

import java.util.Arrays;
import java.util.function.Supplier;
import neologue.RefusalException;

/** The randomized votes of a device in a layer, which are made when they are masked and not before. */
public final class Ballot {
    private final byte[] layer;
    private final int entries;
    private final int most;
    private final Supplier<int[]> votes;

    /** For so many entries of a layer, with at most so many votes each. */
    public Ballot(byte[] layer, int entries, int most, Supplier<int[]> votes) {
        this.layer = layer;
        this.entries = entries;
        this.most = most;
        this.votes = votes;
    }

    /** Refuse terms that are for other votes than these. */
    void check(Terms terms) {
        boolean same = Arrays.equals(terms.layer, layer) && terms.entries == entries && terms.votes == most;
        if (!same) {
            throw new RefusalException("the group answers another layer than these votes");
        }
    }

    int[] votes() {
        return votes.get();
    }
}
