package neologue.protocol;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import neologue.random.Entropy;
import neologue.text.CodePoints;

/** A layer by which devices that took no part in a discovery count the words that it found. */
final class ClosedLayer extends Layer {
    private final String[] words;
    private final BigInteger chance;
    private final boolean thermometer;
    private int longest;

    ClosedLayer(LayerDocument document) {
        super(document);
        words = document.prefixes("words");
        double rate = document.decimal("rate");
        boolean spelled = true;
        for (String word : words) {
            spelled &= alphabet.spells(word, depth);
            longest = Math.max(longest, CodePoints.length(word));
        }
        LayerDocument.require(words.length > 0 && CodePoints.ascend(words) && spelled, "words");
        LayerDocument.require(rate > 0 && rate <= 1, "rate");
        chance = new BigDecimal(rate).multiply(new BigDecimal(Entropy.ONE)).toBigInteger();
        thermometer = mechanism.equals("unary");
    }

    @Override
    public boolean isClosed() {
        return true;
    }

    @Override
    public long size() {
        return words.length + (thermometer ? bound : 1L);
    }

    @Override
    public int longestPrefix() {
        return longest;
    }

    @Override
    public long asked() {
        return words.length;
    }

    @Override
    boolean isFound(String word) {
        return false;
    }

    @Override
    int[] held(TreeMap<String, Long> counting, Entropy entropy) {
        List<String> kept = new ArrayList<>();
        for (String word : counting.keySet()) {
            if (entropy.happens(chance)) {
                kept.add(word);
            }
        }
        int[] order = entropy.order(kept.size());
        int[] held = new int[Math.min(bound, order.length)];
        int listed = 0;
        for (int i = 0; i < held.length; i++) {
            int index = Arrays.binarySearch(words, kept.get(order[i]), CodePoints.ORDER);
            if (index >= 0) {
                held[listed++] = index;
            }
        }
        for (int i = listed; i < held.length; i++) {
            held[i] = words.length + (thermometer ? i - listed : 0);
        }
        return held;
    }
}
