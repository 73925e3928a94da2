package neologue.protocol;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import neologue.random.Entropy;
import neologue.randomizers.Randomizer;
import neologue.text.Alphabet;
import neologue.text.CodePoints;
import neologue.text.Vocabulary;
import neologue.text.WordForm;

/** One round of votes: what is asked about, and how a device answers. */
public abstract class Layer {
    private static final long MOST_TIMES = Integer.MAX_VALUE;
    private static final int TAG_BYTES = 8;
    /** The bytes of a report before its payload. */
    public static final int HEADER_BYTES = 1 + TAG_BYTES;

    /** SHA-256 of the document. */
    public final byte[] digest;
    /** How many users are asked, as the operator says. */
    public final int layerSize;
    /** The most characters of a word that counts. */
    public final int depth;
    /** The most words that a report speaks of, B. */
    public final int bound;
    /** The local ε of one word. */
    public final double epsilon;
    /** The name of the randomizer. */
    public final String mechanism;
    /** The digest of the known words. */
    public final String known;
    /** What counts as one word. */
    public final WordForm form;
    /** The only words that count, or null. */
    public final String[] targets;

    final Alphabet alphabet;
    private Randomizer randomizer;

    Layer(LayerDocument document) {
        digest = document.digest;
        alphabet = document.alphabet();
        layerSize = document.whole("cohort");
        depth = document.whole("depth");
        bound = document.whole("bound");
        epsilon = document.decimal("epsilon");
        mechanism = document.name("randomizer");
        known = document.digest("known");
        form = new WordForm(document.text("replaced"), document.text("stripped"));
        LayerDocument.require(form.fits(alphabet), "list of what it replaces");
        targets = document.isNull("targets") ? null : document.set("targets");
    }

    /** Whether whole words are listed, of which others have found that they are new. */
    public abstract boolean isClosed();

    /** The number of candidates. */
    public abstract long size();

    /** The characters of the longest prefix, or word, that is asked about. */
    public abstract int longestPrefix();

    /** The candidates that hide each other: those of a randomizer, or only the words of a list. */
    public abstract long asked();

    /** The candidates that a device with these words holds, at most B. */
    abstract int[] held(TreeMap<String, Long> counting, Entropy entropy);

    /** Whether a word was released in an earlier pass. */
    abstract boolean isFound(String word);

    /**
     * The randomizer for just these candidates; to be asked for only after their number has been found to be small
     * enough.
     */
    public final Randomizer randomizer() {
        if (randomizer == null) {
            randomizer = Randomizer.NAMED.get(mechanism).of((int) size(), epsilon, bound);
        }
        return randomizer;
    }

    /** The report of a device that typed these words so many times each. */
    public final byte[] report(Map<String, Long> typed, Vocabulary knownWords, Entropy entropy) {
        byte[] payload = randomizer().randomize(held(counting(typed, knownWords), entropy), entropy);
        return Bytes.join(new byte[] {LayerDocument.VERSION}, Arrays.copyOf(digest, TAG_BYTES), payload);
    }

    /** The votes for each candidate in a report that this device has made. */
    public final int[] count(byte[] report) {
        return randomizer().count(Arrays.copyOfRange(report, HEADER_BYTES, report.length));
    }

    /** The words that count, in their form and in order, and how often each was typed. */
    final TreeMap<String, Long> counting(Map<String, Long> typed, Vocabulary knownWords) {
        TreeMap<String, Long> counting = new TreeMap<>(CodePoints.ORDER);
        typed.forEach((word, times) -> {
            String formed = form.of(word);
            if (counts(formed, knownWords)) {
                // A count out of range must not make a device silent.
                counting.merge(formed, Math.min(Math.max(1, times), MOST_TIMES), Long::sum);
            }
        });
        return counting;
    }

    private boolean counts(String word, Vocabulary knownWords) {
        if (!alphabet.spells(word, depth) || !form.of(word).equals(word) || isFound(word)) {
            return false;
        }
        return targets == null ? !knownWords.knows(word) : Arrays.binarySearch(targets, word, CodePoints.ORDER) >= 0;
    }
}
