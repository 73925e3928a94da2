package neologue.candidates;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import neologue.RefusalException;
import neologue.text.CodePoints;

/** The strings of the last round, then the words of earlier rounds that are asked about again. */
public final class LikelyCandidates implements Candidates {
    private static final int MOST_OPENINGS = 1 << 23;
    private static final int MOST_ROUNDS = 32;

    private final SpellingCosts spelling;
    private final List<Roots> rounds = new ArrayList<>();
    private final int[] limits;
    private final int[] prefixLimits;
    private final int[] again;
    private int longest;
    /** The new strings, then the words of each earlier round; counted when they are asked for. */
    private List<LikelyStrings> parts;

    /** From the parts of a document: roots with two costs each, two limits and what is asked again, for each round. */
    public LikelyCandidates(
            SpellingCosts spelling, String[][] roots, int[][] costs, int[][] evenCosts, int[] limits,
                    int[] prefixLimits, int[] again) {
        this.spelling = spelling;
        this.limits = limits;
        this.prefixLimits = prefixLimits;
        this.again = again;
        int last = roots.length - 1;
        int[] columns = {costs.length, evenCosts.length, limits.length, prefixLimits.length, again.length};
        boolean alike = true;
        for (int length : columns) {
            alike &= length == roots.length;
        }
        boolean begins = alike && roots.length >= 1 && Arrays.equals(roots[0], new String[] {""});
        long total = 0;
        for (String[] each : roots) {
            total += each.length;
        }
        if (!begins || roots.length > MOST_ROUNDS || total > MOST_OPENINGS / spelling.symbols) {
            throw new RefusalException("the document describes no layer: its rounds of roots can't be used");
        }
        for (int round = 0; round <= last; round++) {
            if (limits[round] > spelling.largestLimit()
                    || prefixLimits[round] > limits[round]
                    || again[round] > (round == last ? 0 : limits[round])) {
                throw new RefusalException("the document describes no layer: its limits on costs can't be used");
            }
            rounds.add(new Roots(spelling, roots[round], costs[round], evenCosts[round]));
            longest = Math.max(longest, rounds.get(round).longest());
        }
        rounds.get(0).close(0, 0);
        for (int round = 1; round <= last; round++) {
            rounds.get(round - 1).tell(rounds.get(round), roots[round], limits[round - 1], prefixLimits[round - 1]);
        }
    }

    @Override
    public long size() {
        List<LikelyStrings> all = parts();
        long size = all.isEmpty() ? TOO_MANY : 0;
        for (LikelyStrings part : all) {
            size += part.size();
        }
        return size;
    }

    @Override
    public int longestPrefix() {
        return longest;
    }

    @Override
    public int index(String word) {
        int[] points = CodePoints.of(word);
        int[] codes = new int[points.length];
        for (int i = 0; i < points.length; i++) {
            codes[i] = spelling.alphabet.symbol(points[i]);
            if (codes[i] < 0) {
                return -1;
            }
        }
        long found = -1;
        long start = 0;
        for (LikelyStrings part : parts()) {
            long index = part.index(points, codes);
            found = index < 0 ? found : start + index;
            start += part.size();
        }
        return (int) found;
    }

    /** None if they are beyond all bounds. */
    private List<LikelyStrings> parts() {
        if (parts == null) {
            parts = count();
        }
        return parts;
    }

    private List<LikelyStrings> count() {
        int last = rounds.size() - 1;
        int left = rounds.get(last).budget(limits[last]);
        int budget = left;
        for (int round = 0; round < last; round++) {
            budget = Math.max(budget, rounds.get(round).budget(again[round]));
        }
        int[] words = spelling.sizes(budget, false);
        int[] prefixes = words;
        if (words != null && prefixLimits[last] != LikelyStrings.NO_PREFIXES) {
            prefixes = spelling.sizes(Math.max(0, left - (limits[last] - prefixLimits[last])), true);
        }
        List<LikelyStrings> counted = new ArrayList<>();
        if (prefixes != null) {
            counted.add(new LikelyStrings(rounds.get(last), limits[last], prefixLimits[last], words, prefixes));
            for (int round = 0; round < last; round++) {
                counted.add(
                        new LikelyStrings(rounds.get(round), again[round], LikelyStrings.NO_PREFIXES, words, words));
            }
        }
        return counted;
    }
}
