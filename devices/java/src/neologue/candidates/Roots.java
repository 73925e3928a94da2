package neologue.candidates;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import neologue.RefusalException;
import neologue.text.CodePoints;

/** The prefixes that a round goes on from, in order, and what their next symbols cost. */
final class Roots {
    /** What words could cost that were asked about, where none was. */
    static final int UNASKED = -1;

    final SpellingCosts spelling;
    final int count;
    final int[] lengths;
    /** The context behind each root. */
    final int[] contexts;

    private int longest;
    private final Map<String, Integer> rankOf = new HashMap<>();
    private final int[] costs;
    private final int[] evenCosts;
    /**
     * `[r * symbols + x]`: what a word could cost behind root r and symbol x if it was asked about before; `NEVER` where x
     * is closed, because that prefix was asked about, too.
     */
    private final int[] asked;

    Roots(SpellingCosts spelling, String[] prefixes, int[] costs, int[] evenCosts) {
        if (prefixes.length != costs.length || prefixes.length != evenCosts.length || !CodePoints.ascend(prefixes)) {
            throw new RefusalException("the document describes no layer: its roots must be in order, with two costs "
                    + "each");
        }
        this.spelling = spelling;
        this.costs = costs;
        this.evenCosts = evenCosts;
        count = prefixes.length;
        lengths = new int[count];
        contexts = new int[count];
        asked = new int[count * spelling.symbols];
        Arrays.fill(asked, UNASKED);
        for (int root = 0; root < count; root++) {
            boolean usable = spelling.alphabet.expresses(prefixes[root]) && evenCosts[root] > 0;
            if (!usable) {
                throw new RefusalException("the document describes no layer: its roots must be of its alphabet, and "
                        + "cost something");
            }
            int context = SpellingCosts.START;
            for (int point : CodePoints.of(prefixes[root])) {
                context = spelling.after[context * spelling.symbols + spelling.alphabet.symbol(point)];
            }
            contexts[root] = context;
            lengths[root] = CodePoints.length(prefixes[root]);
            longest = Math.max(longest, lengths[root]);
            rankOf.put(prefixes[root], root);
        }
    }

    /** The characters of the longest root. */
    int longest() {
        return longest;
    }

    /** The longest root that a word begins with, or -1. */
    int of(int[] word) {
        for (int length = Math.min(word.length, longest); length >= 0; length--) {
            Integer root = rankOf.get(CodePoints.text(word, 0, length));
            if (root != null) {
                return root;
            }
        }
        return -1;
    }

    /** What a word could cost behind a root and a symbol if it was asked about before. */
    int asked(int root, int symbol) {
        return asked[root * spelling.symbols + symbol];
    }

    boolean isClosed(int root, int symbol) {
        return asked(root, symbol) == SpellingCosts.NEVER;
    }

    /** No string goes on from a root with a symbol, because that prefix was asked about before. */
    void close(int root, int symbol) {
        asked[root * spelling.symbols + symbol] = SpellingCosts.NEVER;
    }

    /** The cost of a root and a symbol after it. */
    int nextCost(int root, int symbol) {
        if (isClosed(root, symbol)) {
            return SpellingCosts.NEVER;
        }
        return Math.min(costs[root] + spelling.cost[contexts[root] * spelling.symbols + symbol], evenCosts[root]);
    }

    /** The most that is left of a limit behind the first character of a string. */
    int budget(int limit) {
        int most = 0;
        for (int root = 0; root < count; root++) {
            for (int symbol = 1; symbol < spelling.symbols; symbol++) {
                most = Math.max(most, limit - nextCost(root, symbol));
            }
        }
        return most;
    }

    /**
     * Tell the roots of the next round, all of which this one must have asked about within its limit of prefixes, what
     * was asked about behind them.
     */
    void tell(Roots next, String[] prefixes, int limit, int prefixLimit) {
        int symbols = spelling.symbols;
        int gap = limit - prefixLimit;
        for (int rank = 0; rank < next.count; rank++) {
            int[] word = CodePoints.of(prefixes[rank]);
            int root = of(word);
            int left = limit;
            int before = UNASKED;
            int context = 0;
            boolean same = root >= 0 && lengths[root] == word.length;
            if (root >= 0 && !same) {
                int first = spelling.alphabet.symbol(word[lengths[root]]);
                left -= nextCost(root, first);
                before = asked(root, first);
                context = spelling.after[contexts[root] * symbols + first];
                for (int i = lengths[root] + 1; i < word.length; i++) {
                    int at = context * symbols + spelling.alphabet.symbol(word[i]);
                    left -= spelling.cost[at];
                    before -= spelling.cost[at];
                    context = spelling.after[at];
                }
            }
            if (root < 0 || left < gap || prefixLimit == LikelyStrings.NO_PREFIXES) {
                throw new RefusalException(
                        "the document describes no layer: every root must be a prefix that the round before asked "
                                + "about");
            }
            for (int symbol = 0; symbol < symbols; symbol++) {
                int cost = spelling.cost[context * symbols + symbol];
                int now = same ? limit - nextCost(root, symbol) : left - cost;
                int earlier = same ? asked(root, symbol) : before - cost;
                boolean closes = earlier == SpellingCosts.NEVER || symbol > 0 && now >= gap;
                next.asked[rank * symbols + symbol] =
                        closes ? SpellingCosts.NEVER : Math.max(UNASKED, Math.max(now, earlier));
            }
        }
    }
}
