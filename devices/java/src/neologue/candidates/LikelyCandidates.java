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
    private final int[] again;
    private final boolean escapes;
    private int longest;
    /** The new strings, then the words of each earlier round; counted when they are asked for. */
    private List<LikelyStrings> parts;

    /** From the parts of a document: roots with two costs each, a limit and what is asked again, for each round. */
    public LikelyCandidates(
            SpellingCosts spelling, String[][] roots, int[][] costs, int[][] evenCosts, int[] limits, int[] again,
                    boolean escapes) {
        this.spelling = spelling;
        this.limits = limits;
        this.again = again;
        this.escapes = escapes;
        int last = roots.length - 1;
        boolean alike = Arrays.stream(new int[] {costs.length, evenCosts.length, limits.length, again.length})
                .allMatch(length -> length == roots.length);
        boolean begins = alike && roots.length >= 1 && Arrays.equals(roots[0], new String[] {""});
        long total = Arrays.stream(roots).mapToLong(each -> each.length).sum();
        if (!begins || roots.length > MOST_ROUNDS || total > MOST_OPENINGS / spelling.symbols) {
            throw new RefusalException("the document describes no layer: its rounds of roots can't be used");
        }
        for (int round = 0; round <= last; round++) {
            if (limits[round] > spelling.largestLimit() || again[round] > (round == last ? 0 : limits[round])) {
                throw new RefusalException("the document describes no layer: its limits on costs can't be used");
            }
            rounds.add(new Roots(spelling, roots[round], costs[round], evenCosts[round]));
            longest = Math.max(longest, rounds.get(round).longest());
        }
        rounds.get(0).close(0, 0);
        for (int round = 1; round <= last; round++) {
            rounds.get(round - 1).closeNext(rounds.get(round), roots[round], limits[round - 1]);
        }
    }

    @Override
    public long size() {
        List<LikelyStrings> all = parts();
        return all.isEmpty() ? TOO_MANY : all.stream().mapToLong(LikelyStrings::size).sum();
    }

    @Override
    public int longestPrefix() {
        return longest;
    }

    @Override
    public int index(String word) {
        int[] points = CodePoints.of(word);
        int[] codes = Arrays.stream(points).map(spelling.alphabet::symbol).toArray();
        if (Arrays.stream(codes).anyMatch(code -> code < 0)) {
            return -1;
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
        int budget = 0;
        for (int round = 0; round < last; round++) {
            budget = Math.max(budget, rounds.get(round).budget(again[round]));
        }
        int[] fresh = spelling.sizes(rounds.get(last).budget(limits[last]), escapes);
        int[] words = last == 0 || fresh == null ? fresh : spelling.sizes(budget, false);
        List<LikelyStrings> counted = new ArrayList<>();
        if (fresh != null && words != null) {
            counted.add(new LikelyStrings(rounds.get(last), limits[last], escapes, fresh));
            for (int round = 0; round < last; round++) {
                counted.add(new LikelyStrings(rounds.get(round), again[round], false, words));
            }
        }
        return counted;
    }
}
