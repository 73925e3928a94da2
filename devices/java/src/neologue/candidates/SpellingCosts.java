package neologue.candidates;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import neologue.RefusalException;
import neologue.text.Alphabet;
import neologue.text.CodePoints;

/** A character model in whole numbers: what each symbol costs after each context, and how many strings that permits. */
public final class SpellingCosts {
    /** No symbol and no back-off costs more. */
    public static final int DEAREST = 1 << 10;
    /** What a closed symbol costs: more than any limit. */
    public static final int NEVER = DEAREST << 4;
    /** The context at the beginning of a word. */
    static final int START = 1;

    private static final String BOUNDARY = "\0";
    private static final int LONGEST_CONTEXT = 3;
    private static final int MOST_CONTEXTS = 1 << 16;
    private static final int MOST_ENTRIES = 1 << 22;
    private static final int MOST_SIZES = 1 << 23;
    private static final int MOST_STEPS = 1 << 27;
    private static final long MOST_STRINGS = 1L << 32;
    private static final long UNSIGNED = 0xffffffffL;

    final Alphabet alphabet;
    final int symbols;
    /** `[s * symbols + x]`: what symbol x costs after context s, and the context behind both. */
    final short[] cost;

    final char[] after;
    private final int contexts;
    private final int[] backoffs;
    /** The context without its first symbol. */
    private final int[] shorter;
    /** The first listed symbol of each context; then of each listed symbol its code and its cost. */
    private final int[] starts;

    private final int[] listed;
    private final int[] listedCosts;

    /** From the parts of a document. */
    public SpellingCosts(Alphabet alphabet, String[] contexts, int[] backoffs, String[] lists, int[] costs) {
        this.alphabet = alphabet;
        this.contexts = contexts.length;
        this.backoffs = backoffs;
        symbols = alphabet.symbols();
        int most = Math.min(MOST_CONTEXTS, MOST_ENTRIES / symbols);
        require(contexts.length >= 2 && contexts.length <= most, "contexts");
        require(backoffs.length == contexts.length && lists.length == contexts.length, "contexts");
        require(contexts[0].isEmpty() && contexts[1].equals(BOUNDARY), "contexts");
        require(lists[0].equals(BOUNDARY + alphabet.text()), "symbols");
        require(backoffs[0] == 0, "back-offs");
        for (int each : backoffs) {
            require(each <= DEAREST, "back-offs");
        }
        for (int each : costs) {
            require(each >= 1 && each <= DEAREST, "costs");
        }
        starts = new int[contexts.length + 1];
        listed = new int[costs.length];
        listedCosts = costs;
        shorter = new int[contexts.length];
        readLists(lists);
        cost = new short[contexts.length * symbols];
        after = new char[contexts.length * symbols];
        fill(contexts);
    }

    /** The largest limit on costs for which tables are made. */
    int largestLimit() {
        return Math.min(NEVER, Math.min(MOST_SIZES / contexts, MOST_STEPS / listed.length)) - 1;
    }

    /** The symbol of a character, or of the boundary. */
    private int code(int point) {
        return point == 0 ? 0 : alphabet.symbol(point);
    }

    private void readLists(String[] lists) {
        int entry = 0;
        for (int context = 0; context < contexts; context++) {
            int[] points = CodePoints.of(lists[context]);
            require(entry + points.length <= listed.length, "symbols");
            for (int i = 0; i < points.length; i++) {
                listed[entry] = code(points[i]);
                require(listed[entry] >= 0 && (i == 0 || points[i - 1] < points[i]), "symbols");
                entry++;
            }
            starts[context + 1] = entry;
        }
        require(entry == listed.length, "symbols");
    }

    /** Check the contexts and fill both tables, those of shorter contexts first. */
    private void fill(String[] texts) {
        Map<String, Integer> contextOf = new HashMap<>();
        int[] lengths = new int[contexts];
        for (int context = 0; context < contexts; context++) {
            contextOf.put(texts[context], context);
            lengths[context] = CodePoints.length(texts[context]);
            int order = context == 0 ? 1 : lengths[context] - lengths[context - 1];
            require(order > 0 || order == 0 && CodePoints.ORDER.compare(texts[context - 1], texts[context]) < 0,
                    "contexts");
        }
        int[] heads = new int[contexts];
        int[] lasts = new int[contexts];
        for (int context = START + 1; context < contexts; context++) {
            int[] points = CodePoints.of(texts[context]);
            require(points.length <= LONGEST_CONTEXT, "contexts");
            for (int i = 0; i < points.length; i++) {
                require(points[i] == 0 ? i == 0 : code(points[i]) > 0, "contexts");
            }
            Integer tail = contextOf.get(CodePoints.text(points, 1, points.length));
            Integer head = contextOf.get(CodePoints.text(points, 0, points.length - 1));
            require(tail != null && head != null, "contexts");
            shorter[context] = tail;
            heads[context] = head;
            lasts[context] = code(points[points.length - 1]);
            require(lasts[context] > 0 && lists(head, lasts[context]), "contexts");
        }
        int longer = START + 1;
        for (int context = 0; context < contexts; context++) {
            inherit(context);
            // What is one symbol longer is entered before any context that shares what is behind this one.
            if (context + 1 < contexts && lengths[context + 1] == lengths[context]) {
                continue;
            }
            for (; longer < contexts && lengths[longer] == lengths[context] + 1; longer++) {
                after[heads[longer] * symbols + lasts[longer]] = (char) longer;
            }
        }
    }

    private void inherit(int context) {
        int row = context * symbols;
        int below = shorter[context] * symbols;
        for (int symbol = 0; symbol < symbols; symbol++) {
            cost[row + symbol] = (short) (cost[below + symbol] + backoffs[context]);
            after[row + symbol] = after[below + symbol];
        }
        for (int entry = starts[context]; entry < starts[context + 1]; entry++) {
            cost[row + listed[entry]] = (short) listedCosts[entry];
        }
    }

    private boolean lists(int context, int symbol) {
        return Arrays.binarySearch(listed, starts[context], starts[context + 1], symbol) >= 0;
    }

    /**
     * `[b * contexts + s]`: how many words, or prefixes, go on from context s that cost at most b more; null if they are
     * beyond all bounds. Numbers are unsigned.
     *
     * <p>A context shares what it does not list with the next shorter one, so that only lists are gone through.
     */
    int[] sizes(int budget, boolean prefixes) {
        int itself = prefixes ? 1 : 0;
        int[] sizes = new int[(budget + 1) * contexts];
        for (int b = 0; b <= budget; b++) {
            for (int context = 0; context < contexts; context++) {
                int next = shorter[context];
                long total = itself;
                for (int entry = starts[context]; entry < starts[context + 1]; entry++) {
                    total += behind(sizes, b - listedCosts[entry], context, listed[entry], 1 - itself);
                    if (context > 0) {
                        int inherited = cost[next * symbols + listed[entry]] + backoffs[context];
                        total -= behind(sizes, b - inherited, next, listed[entry], 1 - itself);
                    }
                }
                if (context > 0 && backoffs[context] <= b) {
                    total += (sizes[(b - backoffs[context]) * contexts + next] & UNSIGNED) - itself;
                }
                if (total >= MOST_STRINGS) {
                    return null;
                }
                sizes[b * contexts + context] = (int) total;
            }
        }
        return sizes;
    }

    /** How many strings go on with a symbol from a context, if so much is left behind it; `ended` if it is the end. */
    long behind(int[] sizes, int left, int context, int symbol, int ended) {
        if (left < 0) {
            return 0;
        }
        return symbol == 0 ? ended : sizes[left * contexts + after[context * symbols + symbol]] & UNSIGNED;
    }

    private static void require(boolean usable, String what) {
        if (!usable) {
            throw new RefusalException("the document describes no layer: its model's " + what + " can't be used");
        }
    }
}
