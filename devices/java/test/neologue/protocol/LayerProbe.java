package neologue.protocol;

import java.util.Map;
import java.util.TreeMap;
import neologue.text.Vocabulary;

/** What the tests look into, and an app can't. */
public final class LayerProbe {
    private LayerProbe() {}

    /** The words that count. */
    public static TreeMap<String, Long> counting(Layer layer, Map<String, Long> typed, Vocabulary known) {
        return layer.counting(typed, known);
    }

    /** The candidates that words belong to, and how often words of each were typed. */
    public static TreeMap<Integer, Long> prefixes(Layer layer, TreeMap<String, Long> counting) {
        return ((FindingLayer) layer).prefixes(counting);
    }

    /** The candidate of a word, or -1. */
    public static int index(Layer layer, String word) {
        return ((FindingLayer) layer).index(word);
    }
}
