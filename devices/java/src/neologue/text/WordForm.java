package neologue.text;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import neologue.RefusalException;

/** What counts as one word: which characters take the place of others, and which are taken off at both ends. */
public final class WordForm {
    /** Words as they are typed, in NFC and without white space around them. */
    public static final WordForm AS_TYPED = new WordForm("", "");

    private final Map<Integer, Integer> replaced = new HashMap<>();
    private final int[] stripped;

    /** By pairs of a character and its replacement, and of the first and the last of a range; both in order. */
    public WordForm(String replaced, String stripped) {
        int[] pairs = CodePoints.of(replaced);
        this.stripped = CodePoints.of(stripped);
        boolean usable = pairs.length % 2 == 0 && this.stripped.length % 2 == 0;
        for (int i = 0; usable && i < pairs.length; i += 2) {
            usable = i == 0 || pairs[i - 2] < pairs[i];
            this.replaced.put(pairs[i], pairs[i + 1]);
        }
        for (int i = 1; usable && i < this.stripped.length; i++) {
            boolean endsRange = i % 2 == 1;
            usable = endsRange ? this.stripped[i - 1] <= this.stripped[i] : this.stripped[i - 1] < this.stripped[i];
        }
        if (!usable) {
            throw new RefusalException("the document describes no layer: what it replaces or strips can't be used");
        }
    }

    /** Whether it replaces only what an alphabet does not have, by what it has. */
    public boolean fits(Alphabet alphabet) {
        for (Map.Entry<Integer, Integer> pair : replaced.entrySet()) {
            if (alphabet.symbol(pair.getKey()) >= 0 || alphabet.symbol(pair.getValue()) <= 0) {
                return false;
            }
        }
        return true;
    }

    /** The form of what was typed; empty if nothing is left of it. */
    public String of(String typed) {
        int[] points = CodePoints.of(CodePoints.normalise(typed));
        if (!replaced.isEmpty()) {
            for (int i = 0; i < points.length; i++) {
                points[i] = replaced.getOrDefault(points[i], points[i]);
            }
            points = CodePoints.of(CodePoints.normalise(CodePoints.text(points, 0, points.length)));
        }
        int first = 0;
        int last = points.length;
        while (first < last && isTakenOff(points[first])) {
            first++;
        }
        while (first < last && isTakenOff(points[last - 1])) {
            last--;
        }
        return CodePoints.text(points, first, last);
    }

    private boolean isTakenOff(int point) {
        int index = Arrays.binarySearch(stripped, point);
        // Between the ends of a range, the place where the character would be inserted is odd.
        return CodePoints.isWhiteSpace(point) || index >= 0 || -index % 2 == 0;
    }
}
