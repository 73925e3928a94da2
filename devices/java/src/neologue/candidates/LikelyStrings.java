package neologue.candidates;

/** The words below some roots that cost at most a limit, and the prefixes that cost at most another, if there are any. */
final class LikelyStrings {
    /** The limit of prefixes where none is asked about, not even a root. */
    static final int NO_PREFIXES = 0;

    private final Roots roots;
    private final int limit;
    /** How many strings a root is itself. */
    private final int rooted;
    /** What must be left of the limit for a prefix to be asked about. */
    private final int gap;

    private final int[] words;
    private final int[] prefixes;
    /** The first string of each root, and the end of the last one's. */
    private final long[] starts;

    /** From how many words and prefixes go on from each context; the latter may be null if there are none. */
    LikelyStrings(Roots roots, int limit, int prefixLimit, int[] words, int[] prefixes) {
        this.roots = roots;
        this.limit = limit;
        this.words = words;
        this.prefixes = prefixes;
        rooted = prefixLimit == NO_PREFIXES ? 0 : 1;
        gap = prefixLimit == NO_PREFIXES ? SpellingCosts.NEVER : limit - prefixLimit;
        starts = new long[roots.count + 1];
        for (int root = 0; root < roots.count; root++) {
            starts[root + 1] = starts[root] + rooted + before(root, roots.spelling.symbols);
        }
    }

    long size() {
        return starts[roots.count];
    }

    /** The string that a word belongs to, or -1; `codes` are the symbols of its characters. */
    long index(int[] word, int[] codes) {
        SpellingCosts spelling = roots.spelling;
        int root = roots.of(word);
        if (root < 0) {
            return -1;
        }
        int position = roots.lengths[root];
        int code = position < codes.length ? codes[position] : 0;
        if (roots.isClosed(root, code)) {
            return -1;
        }
        long found = rooted == 1 ? starts[root] : -1;
        int left = limit - roots.nextCost(root, code);
        int asked = roots.asked(root, code);
        long here = starts[root] + rooted + before(root, code);
        int context = spelling.after[roots.contexts[root] * spelling.symbols + code];
        while (code > 0) {
            if (left < 0 && asked < 0) {
                return found;
            }
            if (left >= gap) {
                found = here++;
            }
            position++;
            code = position < codes.length ? codes[position] : 0;
            for (int earlier = 0; earlier < code; earlier++) {
                int cost = spelling.cost[context * spelling.symbols + earlier];
                here += behind(left - cost, asked - cost, context, earlier);
            }
            int cost = spelling.cost[context * spelling.symbols + code];
            left -= cost;
            asked -= cost;
            context = spelling.after[context * spelling.symbols + code];
        }
        if (asked >= 0) {
            // A word that was asked about before belongs to nothing here, whatever its prefixes are.
            return -1;
        }
        return left >= 0 ? here : found;
    }

    /** How many strings begin with a root and an earlier symbol than this. */
    private long before(int root, int symbol) {
        long sum = 0;
        for (int earlier = 0; earlier < symbol; earlier++) {
            int left = limit - roots.nextCost(root, earlier);
            sum += behind(left, roots.asked(root, earlier), roots.contexts[root], earlier);
        }
        return sum;
    }

    /** How many strings go on with a symbol, if so much is left behind it, now and of what was asked about before. */
    private long behind(int left, int asked, int context, int symbol) {
        SpellingCosts spelling = roots.spelling;
        long count = spelling.behind(words, left, context, symbol, 1)
                - spelling.behind(words, Math.min(left, asked), context, symbol, 1);
        return left < gap ? count : count + spelling.behind(prefixes, left - gap, context, symbol, 0);
    }
}
