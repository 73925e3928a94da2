package neologue.text;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import neologue.RefusalException;

/** A sorted list of words that also knows the case forms that a sentence or a headline permits. */
public final class Vocabulary {
    private static final byte LINE_BREAK = '\n';

    /** In UTF-8, one a line, searched where they are: a million words take no more than their bytes. */
    private final byte[] lines;

    private Vocabulary(byte[] lines) {
        this.lines = lines;
    }

    /** The words of a document: each once, in NFC and in order, one a line. */
    public static Vocabulary read(byte[] document) {
        String before = "";
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(document)).toString();
            for (int start = 0; document.length > 0 && start <= text.length(); ) {
                int end = text.indexOf(LINE_BREAK, start);
                String word = text.substring(start, end < 0 ? text.length() : end);
                if (CodePoints.ORDER.compare(before, word) >= 0 || !WordForm.AS_TYPED.of(word).equals(word)) {
                    throw new RefusalException("the list of known words must have each once, in NFC and in order, "
                            + "one a line");
                }
                before = word;
                start = end < 0 ? text.length() + 1 : end + 1;
            }
        } catch (CharacterCodingException error) {
            throw new RefusalException("the list of known words is not in UTF-8; get it from the operator anew");
        }
        return new Vocabulary(document);
    }

    /** The vocabulary of some words that are sorted and in NFC. */
    public static Vocabulary of(String[] words) {
        return new Vocabulary(String.join("\n", words).getBytes(StandardCharsets.UTF_8));
    }

    /** Whether a word is in the list, or is a case form of one that is. */
    public boolean knows(String word) {
        if (lists(word)) {
            return true;
        }
        int[] points = CodePoints.of(word);
        String lower = word.toLowerCase(Locale.ROOT);
        if (isUpper(points, 0)) {
            String first = CodePoints.text(points, 0, 1);
            return lists(lower) || lists(first + lower.substring(first.toLowerCase(Locale.ROOT).length()));
        }
        boolean capitalised = points.length > 0 && Character.isUpperCase(points[0]) && isLower(points, 1);
        return capitalised && lists(lower);
    }

    /** Whether some character is upper case, and none is lower or title case. */
    private static boolean isUpper(int[] points, int from) {
        boolean upper = false;
        for (int i = from; i < points.length; i++) {
            if (Character.isLowerCase(points[i]) || Character.isTitleCase(points[i])) {
                return false;
            }
            upper |= Character.isUpperCase(points[i]);
        }
        return upper;
    }

    /** Whether some character is lower case, and none is upper or title case. */
    private static boolean isLower(int[] points, int from) {
        boolean lower = false;
        for (int i = from; i < points.length; i++) {
            if (Character.isUpperCase(points[i]) || Character.isTitleCase(points[i])) {
                return false;
            }
            lower |= Character.isLowerCase(points[i]);
        }
        return lower;
    }

    private boolean lists(String word) {
        byte[] wanted = word.getBytes(StandardCharsets.UTF_8);
        int low = 0;
        int high = lines.length;
        while (low < high) {
            int start = (low + high) >>> 1;
            while (start > low && lines[start - 1] != LINE_BREAK) {
                start--;
            }
            int order = compare(wanted, start);
            if (order == 0) {
                return true;
            }
            if (order < 0) {
                high = start;
            } else {
                low = endOfLine(start) + 1;
            }
        }
        return false;
    }

    /** A word against the line at an index; the order of bytes in UTF-8 is that of code points. */
    private int compare(byte[] word, int start) {
        int end = endOfLine(start);
        for (int i = 0; i < word.length && start + i < end; i++) {
            if (word[i] != lines[start + i]) {
                return (word[i] & 0xff) - (lines[start + i] & 0xff);
            }
        }
        return word.length - (end - start);
    }

    private int endOfLine(int start) {
        int end = start;
        while (end < lines.length && lines[end] != LINE_BREAK) {
            end++;
        }
        return end;
    }
}
