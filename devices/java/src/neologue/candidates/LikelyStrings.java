package neologue.candidates;

/** The strings below some roots that cost at most a limit: words, and all their prefixes too if there are escapes. */
final class LikelyStrings {
    private final Roots roots;
    private final int limit;
    private final int escape;
    private final int[] sizes;
    /** The first string of each root, and the end of the last one's. */
    private final long[] starts;

    LikelyStrings(Roots roots, int limit, boolean escapes, int[] sizes) {
        this.roots = roots;
        this.limit = limit;
        this.sizes = sizes;
        escape = escapes ? 1 : 0;
        starts = new long[roots.count + 1];
        for (int root = 0; root < roots.count; root++) {
            starts[root + 1] = starts[root] + escape + before(root, roots.spelling.symbols);
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
        long found = escape == 1 ? starts[root] : -1;
        int left = limit - roots.nextCost(root, code);
        if (left < 0) {
            return found;
        }
        long here = starts[root] + escape + before(root, code);
        int context = spelling.after[roots.contexts[root] * spelling.symbols + code];
        while (code > 0) {
            if (escape == 1) {
                found = here;
            }
            position++;
            code = position < codes.length ? codes[position] : 0;
            int cost = spelling.cost[context * spelling.symbols + code];
            if (cost > left) {
                return found;
            }
            here += escape;
            for (int earlier = 0; earlier < code; earlier++) {
                here += spelling.behind(sizes, left - spelling.cost[context * spelling.symbols + earlier], context,
                        earlier);
            }
            left -= cost;
            context = spelling.after[context * spelling.symbols + code];
        }
        return here;
    }

    /** How many strings begin with a root and an earlier symbol than this. */
    private long before(int root, int symbol) {
        long sum = 0;
        for (int earlier = 0; earlier < symbol; earlier++) {
            sum += roots.spelling.behind(sizes, limit - roots.nextCost(root, earlier), roots.contexts[root], earlier);
        }
        return sum;
    }
}
