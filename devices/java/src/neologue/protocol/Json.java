package neologue.protocol;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** JSON as a service answers it and as this device stores it: maps, lists, strings, numbers, booleans and null. */
public final class Json {
    private static final int DEEPEST = 32;
    private static final String ESCAPES = "\"\\/bfnrt";
    private static final String ESCAPED = "\"\\/\b\f\n\r\t";

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** The value of a text; or an IllegalArgumentException that quotes nothing of it. */
    public static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        json.skipSpace();
        json.require(json.at == text.length());
        return value;
    }

    /** The text of a value in its one form by RFC 8785. */
    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        char before = '{';
        if (value instanceof Map) {
            // By UTF-16 units, as strings compare.
            for (Map.Entry<?, ?> entry : new TreeMap<>((Map<?, ?>) value).entrySet()) {
                write(entry.getKey(), out.append(before));
                write(entry.getValue(), out.append(':'));
                before = ',';
            }
            out.append(before == '{' ? "{}" : "}");
        } else if (value instanceof List) {
            before = '[';
            for (Object item : (List<?>) value) {
                write(item, out.append(before));
                before = ',';
            }
            out.append(before == '[' ? "[]" : "]");
        } else if (value instanceof String) {
            writeString((String) value, out);
        } else {
            out.append(value instanceof Double ? Decimal.ecmaScript((Double) value) : value);
        }
    }

    private static void writeString(String value, StringBuilder out) {
        out.append('"');
        for (char unit : value.toCharArray()) {
            int place = unit == '/' ? -1 : ESCAPED.indexOf(unit);
            if (place >= 0) {
                out.append('\\').append(ESCAPES.charAt(place));
            } else if (unit < ' ') {
                out.append(String.format("\\u%04x", (int) unit));
            } else {
                out.append(unit);
            }
        }
        out.append('"');
    }

    private Object value(int depth) {
        require(depth < DEEPEST);
        skipSpace();
        require(at < text.length());
        switch (text.charAt(at)) {
            case '{':
                return object(depth);
            case '[':
                return list(depth);
            case '"':
                return string();
            case 't':
                return literal("true", true);
            case 'f':
                return literal("false", false);
            case 'n':
                return literal("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> object = new LinkedHashMap<>();
        at++;
        for (boolean more = !ends('}'); more; more = continues('}')) {
            skipSpace();
            String key = string();
            skipSpace();
            expect(':');
            // Of equal names, another reader may take another.
            require(!object.containsKey(key));
            object.put(key, value(depth + 1));
        }
        return object;
    }

    private List<Object> list(int depth) {
        List<Object> list = new ArrayList<>();
        at++;
        for (boolean more = !ends(']'); more; more = continues(']')) {
            list.add(value(depth + 1));
        }
        return list;
    }

    private boolean ends(char closing) {
        skipSpace();
        boolean ends = at < text.length() && text.charAt(at) == closing;
        at += ends ? 1 : 0;
        return ends;
    }

    private boolean continues(char closing) {
        if (ends(closing)) {
            return false;
        }
        expect(',');
        return true;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        expect('"');
        while (true) {
            require(at < text.length());
            char unit = text.charAt(at++);
            if (unit == '"') {
                return out.toString();
            }
            require(unit >= ' ');
            out.append(unit == '\\' ? unescape() : unit);
        }
    }

    private char unescape() {
        require(at < text.length());
        char kind = text.charAt(at++);
        int place = ESCAPES.indexOf(kind);
        if (place >= 0) {
            return ESCAPED.charAt(place);
        }
        require(kind == 'u' && at + 4 <= text.length());
        String digits = text.substring(at, at += 4);
        require(digits.matches("[0-9a-fA-F]{4}"));
        return (char) Integer.parseInt(digits, 16);
    }

    private Object literal(String expected, Object value) {
        require(text.startsWith(expected, at));
        at += expected.length();
        return value;
    }

    private Double number() {
        int start = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String digits = text.substring(start, at);
        require(digits.length() <= 64 && digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]{1,3})?"));
        return new BigDecimal(digits).doubleValue();
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private void expect(char expected) {
        require(at < text.length() && text.charAt(at) == expected);
        at++;
    }

    private void require(boolean usable) {
        if (!usable) {
            throw new IllegalArgumentException("this is no JSON");
        }
    }
}
