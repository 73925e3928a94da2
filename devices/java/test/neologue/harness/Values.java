package neologue.harness;

import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import neologue.protocol.Bytes;
import neologue.text.CodePoints;

/** A JSON object of a test, with values of the kinds that tests have. */
final class Values {
    private final Map<?, ?> fields;

    Values(Object fields) {
        this.fields = (Map<?, ?>) fields;
    }

    Object get(String name) {
        return fields.get(name);
    }

    String text(String name) {
        return (String) fields.get(name);
    }

    int number(String name) {
        return ((Double) fields.get(name)).intValue();
    }

    double real(String name) {
        return (Double) fields.get(name);
    }

    byte[] bytes(String name) {
        return Bytes.unhex(fields.get(name), -1);
    }

    Values object(String name) {
        return new Values(fields.get(name));
    }

    List<Values> objects(String name) {
        return objects(fields.get(name));
    }

    static List<Values> objects(Object list) {
        List<Values> objects = new ArrayList<>();
        for (Object item : (List<?>) list) {
            objects.add(new Values(item));
        }
        return objects;
    }

    String[] strings(String name) {
        return ((List<?>) fields.get(name)).toArray(new String[0]);
    }

    int[] numbers(String name) {
        return ((List<?>) fields.get(name)).stream().mapToInt(each -> ((Double) each).intValue()).toArray();
    }

    /** Words and how often each was typed. */
    Map<String, Long> counts(String name) {
        Map<String, Long> counts = new HashMap<>();
        ((Map<?, ?>) fields.get(name)).forEach((word, times) -> counts.put((String) word,
                ((Double) times).longValue()));
        return counts;
    }

    /** Set the public fields of an object that have these names. */
    void copyTo(Object target) {
        fields.forEach((name, value) -> {
            try {
                Field field = target.getClass().getField((String) name);
                boolean whole = field.getType() == int.class;
                field.set(target, whole ? (Object) ((Double) value).intValue() : value);
            } catch (ReflectiveOperationException error) {
                throw new IllegalArgumentException("there is no field " + name, error);
            }
        });
    }

    /** The same object with the fields of another in the place of its own. */
    Values with(Values change) {
        Map<Object, Object> changed = new HashMap<>(fields);
        changed.putAll(change.fields);
        return new Values(changed);
    }

    /** The canonical JSON of the object. */
    byte[] canonical() {
        StringBuilder out = new StringBuilder();
        write(fields, out);
        return out.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map) {
            TreeMap<String, Object> sorted = new TreeMap<>(CodePoints.ORDER);
            ((Map<?, ?>) value).forEach((key, item) -> sorted.put((String) key, item));
            String before = "{";
            for (Map.Entry<String, Object> entry : sorted.entrySet()) {
                write(entry.getKey(), out.append(before));
                write(entry.getValue(), out.append(':'));
                before = ",";
            }
            out.append('}');
        } else if (value instanceof List) {
            out.append('[');
            String before = "";
            for (Object item : (List<?>) value) {
                write(item, out.append(before));
                before = ",";
            }
            out.append(']');
        } else if (value instanceof String) {
            out.append('"');
            for (char unit : ((String) value).toCharArray()) {
                int place = "\b\t\n\f\r\"\\".indexOf(unit);
                if (place >= 0) {
                    out.append('\\').append("btnfr\"\\".charAt(place));
                } else if (unit < ' ') {
                    out.append(String.format("\\u%04x", (int) unit));
                } else {
                    out.append(unit);
                }
            }
            out.append('"');
        } else {
            out.append(value instanceof Double ? (Object) ((Double) value).longValue() : value);
        }
    }
}
