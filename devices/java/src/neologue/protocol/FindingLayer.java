package neologue.protocol;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import neologue.candidates.Candidates;
import neologue.random.Entropy;
import neologue.text.Vocabulary;
import neologue.text.WordForm;

/** A layer that finds words: one that extends prefixes, or one that asks about likely strings. */
final class FindingLayer extends Layer {
    private final Candidates candidates;
    private final Vocabulary found;
    private final boolean greedy;

    FindingLayer(LayerDocument document, Candidates candidates) {
        super(document);
        this.candidates = candidates;
        document.whole("layer");
        document.whole("pass");
        String[] words = document.set("found");
        boolean formed = Arrays.stream(words).allMatch(word -> !word.isEmpty()
                && WordForm.AS_TYPED.of(word).equals(word));
        LayerDocument.require(formed, "found words");
        found = Vocabulary.of(words);
        String sampler = document.name("sampler");
        greedy = sampler.equals("greedy");
        LayerDocument.require(greedy || sampler.equals("random"), "sampler");
    }

    @Override
    public boolean isClosed() {
        return false;
    }

    @Override
    public long size() {
        return candidates.size();
    }

    @Override
    public int longestPrefix() {
        return candidates.longestPrefix();
    }

    @Override
    public long asked() {
        return size();
    }

    @Override
    boolean isFound(String word) {
        return found.knows(word);
    }

    /** The candidate that a word belongs to, or -1. */
    int index(String word) {
        return candidates.index(word);
    }

    /** The distinct candidates that words belong to, in order, and how often words of each were typed. */
    TreeMap<Integer, Long> prefixes(TreeMap<String, Long> counting) {
        TreeMap<Integer, Long> prefixes = new TreeMap<>();
        counting.forEach((word, times) -> {
            int candidate = index(word);
            if (candidate >= 0) {
                prefixes.merge(candidate, times, Long::sum);
            }
        });
        return prefixes;
    }

    @Override
    int[] held(TreeMap<String, Long> counting, Entropy entropy) {
        TreeMap<Integer, Long> prefixes = prefixes(counting);
        List<Map.Entry<Integer, Long>> all = new ArrayList<>(prefixes.entrySet());
        List<Map.Entry<Integer, Long>> drawn = new ArrayList<>();
        for (int place : entropy.order(all.size())) {
            drawn.add(all.get(place));
        }
        if (greedy) {
            drawn.sort((a, b) -> Long.compare(b.getValue(), a.getValue()));
        }
        return drawn.stream().limit(bound).mapToInt(Map.Entry::getKey).toArray();
    }
}
