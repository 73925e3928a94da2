package neologue.protocol;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import neologue.random.Entropy;
import neologue.text.CodePoints;

/** A layer by which devices that took no part in a discovery count the words that it found. */
final class ClosedLayer extends Layer {
    private final String[] words;
    private final BigInteger chance;
    private final boolean thermometer;

    ClosedLayer(LayerDocument document) {
        super(document);
        words = document.prefixes("words");
        double rate = document.decimal("rate");
        boolean spelled = Arrays.stream(words).allMatch(word -> alphabet.spells(word, depth));
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
        return Arrays.stream(words).mapToInt(CodePoints::length).max().orElse(0);
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
        List<String> kept = counting.keySet().stream().filter(word -> entropy.happens(chance)).collect(Collectors.toList());
        List<Integer> listed = new ArrayList<>();
        int others = 0;
        int[] order = entropy.order(kept.size());
        for (int i = 0; i < Math.min(bound, order.length); i++) {
            int index = Arrays.binarySearch(words, kept.get(order[i]), CodePoints.ORDER);
            if (index >= 0) {
                listed.add(index);
            } else {
                others++;
            }
        }
        IntStream behind = IntStream.range(0, others).map(i -> words.length + (thermometer ? i : 0));
        return IntStream.concat(listed.stream().mapToInt(Integer::intValue), behind).toArray();
    }
}
