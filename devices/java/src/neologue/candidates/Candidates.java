package neologue.candidates;

/** The strings that a layer asks about. */
public interface Candidates {
    /** More candidates than any layer may have. */
    long TOO_MANY = Long.MAX_VALUE;

    /** How many there are; TOO_MANY if they are beyond all bounds. */
    long size();

    /** The characters of the longest prefix that strings go on from. */
    int longestPrefix();

    /** The candidate that a word belongs to, or -1. */
    int index(String word);
}
