package neologue.candidates;

import java.util.Arrays;
import neologue.RefusalException;
import neologue.text.Alphabet;
import neologue.text.CodePoints;

/** Prefixes of equal length, each extended by a number of symbols, or by fewer that end in ⊥. */
public final class ExtendedPrefixes implements Candidates {
    private static final long MOST = 1 << 27;

    private final Alphabet alphabet;
    private final String[] prefixes;
    private final int length;
    /** T(0), T(1), …, T(m): how many extensions there are of so many symbols; null if they are beyond all bounds. */
    private final long[] extensions;

    /** Of the prefixes of a frontier, by so many symbols. */
    public ExtendedPrefixes(Alphabet alphabet, String[] frontier, int symbols) {
        this.alphabet = alphabet;
        prefixes = frontier;
        length = frontier.length == 0 ? 0 : CodePoints.length(frontier[0]);
        boolean alike = true;
        for (String each : frontier) {
            alike &= CodePoints.length(each) == length && alphabet.expresses(each);
        }
        if (length == 0 || !CodePoints.ascend(frontier) || !alike) {
            throw new RefusalException(
                    "the document describes no layer: its prefixes must be of one length and of its alphabet, each "
                            + "once and in order");
        }
        extensions = extensions(symbols);
    }

    private long[] extensions(int symbols) {
        long[] numbers = {1};
        for (int m = 1; m <= symbols; m++) {
            long number = 1 + alphabet.characters() * numbers[m - 1];
            if (number * prefixes.length > MOST) {
                return null;
            }
            numbers = Arrays.copyOf(numbers, m + 1);
            numbers[m] = number;
        }
        return numbers;
    }

    @Override
    public long size() {
        return extensions == null ? TOO_MANY : prefixes.length * extensions[extensions.length - 1];
    }

    @Override
    public int longestPrefix() {
        return length;
    }

    @Override
    public int index(String word) {
        int[] points = CodePoints.of(word);
        if (points.length < length) {
            return -1;
        }
        int prefix = Arrays.binarySearch(prefixes, CodePoints.text(points, 0, length), CodePoints.ORDER);
        if (prefix < 0) {
            return -1;
        }
        int symbols = extensions.length - 1;
        long extension = 0;
        for (int m = symbols, i = length; m > 0 && i < points.length; m--, i++) {
            int symbol = alphabet.symbol(points[i]);
            if (symbol < 0) {
                return -1;
            }
            extension += 1 + (symbol - 1) * extensions[m - 1];
        }
        return (int) (prefix * extensions[symbols] + extension);
    }
}
