package neologue.text;

import java.text.Normalizer;
import java.util.Comparator;

/** Strings as sequences of Unicode code points, where Java has UTF-16 units. */
public final class CodePoints {
    /** The order of code points, in which surrogates come behind all other units. */
    public static final Comparator<String> ORDER = (a, b) -> {
        int shorter = Math.min(a.length(), b.length());
        for (int i = 0; i < shorter; i++) {
            if (a.charAt(i) != b.charAt(i)) {
                return rank(a.charAt(i)) - rank(b.charAt(i));
            }
        }
        return a.length() - b.length();
    };

    private CodePoints() {}

    /** The code points of a text. */
    public static int[] of(String text) {
        return text.codePoints().toArray();
    }

    /** How many code points a text has. */
    public static int length(String text) {
        return text.codePointCount(0, text.length());
    }

    /** The text of some code points, from one index up to another. */
    public static String text(int[] points, int from, int to) {
        return new String(points, from, to - from);
    }

    /** A text in Unicode's normalization form C. */
    public static String normalise(String text) {
        return Normalizer.normalize(text, Normalizer.Form.NFC);
    }

    /** Whether each string comes behind the one before it. */
    public static boolean ascend(String[] texts) {
        for (int i = 1; i < texts.length; i++) {
            if (ORDER.compare(texts[i - 1], texts[i]) >= 0) {
                return false;
            }
        }
        return true;
    }

    /** White space by the list of the protocol, which is not Java's. */
    public static boolean isWhiteSpace(int point) {
        return point >= 0x09 && point <= 0x0d
                || point >= 0x1c && point <= 0x20
                || point == 0x85
                || point == 0xa0
                || point == 0x1680
                || point >= 0x2000 && point <= 0x200a
                || point == 0x2028
                || point == 0x2029
                || point == 0x202f
                || point == 0x205f
                || point == 0x3000;
    }

    /** Whether no unit is half of a surrogate pair. */
    public static boolean isText(String text) {
        return text.codePoints().noneMatch(point -> point >= Character.MIN_SURROGATE
                && point <= Character.MAX_SURROGATE);
    }

    private static int rank(char unit) {
        if (unit < Character.MIN_SURROGATE) {
            return unit;
        }
        return unit <= Character.MAX_SURROGATE ? unit + 0x2000 : unit - 0x800;
    }
}
