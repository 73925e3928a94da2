package neologue.protocol;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import neologue.RefusalException;

/**
 * Reads an object in the one form in which documents are written: keys in order, no white space, nothing escaped but what
 * JSON must. So what is read needs not be written again to be compared.
 *
 * <p>Values are strings, whole numbers below 2^31, booleans, null, and arrays of one of these kinds: `String[]`, `int[]`,
 * or `Object[]` of arrays, which an empty array also is.
 */
final class CanonicalJson {
    private static final String ESCAPED = "\b\t\n\f\r\"\\";
    private static final String ESCAPES = "btnfr\"\\";
    private static final Object[] EMPTY = {};

    private final String text;
    private int at;

    private CanonicalJson(String text) {
        this.text = text;
    }

    /** The values of an object by their keys, in order. */
    static Map<String, Object> read(byte[] document) {
        try {
            return new CanonicalJson(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(document)).toString()).object();
        } catch (CharacterCodingException error) {
            throw new RefusalException("the document is not in UTF-8; get it from the operator anew");
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> values = new LinkedHashMap<>();
        String before = "";
        expect('{');
        do {
            String key = string();
            require(before.compareTo(key) < 0);
            before = key;
            expect(':');
            values.put(key, value());
        } while (continues('}'));
        require(at == text.length());
        return values;
    }

    private Object value() {
        switch (peek()) {
            case '"':
                return string();
            case '[':
                return array();
            case 'n':
                return literal("null", null);
            case 't':
                return literal("true", true);
            case 'f':
                return literal("false", false);
            default:
                return number();
        }
    }

    private Object array() {
        expect('[');
        if (peek() == ']') {
            at++;
            return EMPTY;
        }
        if (peek() == '[') {
            List<Object> arrays = new ArrayList<>();
            do {
                require(peek() == '[');
                arrays.add(array());
            } while (continues(']'));
            return arrays.toArray();
        }
        return peek() == '"' ? strings() : numbers();
    }

    private String[] strings() {
        List<String> strings = new ArrayList<>();
        do {
            strings.add(string());
        } while (continues(']'));
        return strings.toArray(new String[0]);
    }

    private int[] numbers() {
        int[] numbers = new int[16];
        int count = 0;
        do {
            if (count == numbers.length) {
                numbers = Arrays.copyOf(numbers, 2 * count);
            }
            numbers[count++] = number();
        } while (continues(']'));
        return Arrays.copyOf(numbers, count);
    }

    /** A whole number from 0 to 2^31 - 1, without zeros before it. */
    private int number() {
        int start = at;
        long number = 0;
        while (peek() >= '0' && peek() <= '9' && at - start < 10) {
            number = 10 * number + text.charAt(at++) - '0';
        }
        require(at > start && number <= Integer.MAX_VALUE && (text.charAt(start) != '0' || at == start + 1));
        return (int) number;
    }

    private String string() {
        expect('"');
        int end = at;
        while (end < text.length() && text.charAt(end) != '"' && text.charAt(end) != '\\' && text.charAt(end) >= ' ') {
            end++;
        }
        StringBuilder escaped = new StringBuilder(text.substring(at, end));
        for (at = end; peek() != '"'; ) {
            char next = text.charAt(at++);
            require(next >= ' ');
            escaped.append(next == '\\' ? unescape() : next);
        }
        at++;
        return escaped.toString();
    }

    private char unescape() {
        char kind = peek();
        at++;
        int place = ESCAPES.indexOf(kind);
        if (place >= 0) {
            return ESCAPED.charAt(place);
        }
        require(kind == 'u' && at + 4 <= text.length());
        byte[] code = Bytes.unhex(text.substring(at, at + 4), 2);
        require(code != null && code[0] == 0 && code[1] >= 0 && code[1] < ' ' && ESCAPED.indexOf(code[1]) < 0);
        at += 4;
        return (char) code[1];
    }

    private Object literal(String expected, Object value) {
        require(text.startsWith(expected, at));
        at += expected.length();
        return value;
    }

    /** Whether there is another item; otherwise the closing mark. */
    private boolean continues(char closing) {
        boolean more = peek() == ',';
        expect(more ? ',' : closing);
        return more;
    }

    private char peek() {
        require(at < text.length());
        return text.charAt(at);
    }

    private void expect(char expected) {
        require(peek() == expected);
        at++;
    }

    private static void require(boolean canonical) {
        if (!canonical) {
            throw new RefusalException("the document is not in its canonical form; the operator's service should "
                    + "write that");
        }
    }
}
