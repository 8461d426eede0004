package baton.client;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Reads and writes JSON: maps, lists, texts, numbers (Long or Double), booleans and null. */
final class Json {
    private static final String ESCAPES = "\"\"\\\\//b\bf\fn\nr\rt\t";

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Throws IllegalArgumentException if it is no JSON. */
    static Object read(String text) {
        Json json = new Json(text);
        try {
            Object value = json.value();
            json.space();
            if (json.at == text.length()) {
                return value;
            }
        } catch (IndexOutOfBoundsException error) {
            throw new IllegalArgumentException("JSON ends too early", error);
        }
        throw json.wrong();
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("no JSON at " + at);
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private boolean takes(String expected) {
        space();
        boolean found = text.startsWith(expected, at);
        at += found ? expected.length() : 0;
        return found;
    }

    private Object value() {
        if (takes("{")) {
            return object();
        }
        if (takes("[")) {
            return list();
        }
        if (takes("\"")) {
            return string();
        }
        if (takes("true")) {
            return true;
        }
        if (takes("false")) {
            return false;
        }
        return takes("null") ? null : number();
    }

    private Map<String, Object> object() {
        Map<String, Object> object = new LinkedHashMap<>();
        while (!takes("}")) {
            if ((!object.isEmpty() && !takes(",")) || !takes("\"")) {
                throw wrong();
            }
            String name = string();
            if (!takes(":")) {
                throw wrong();
            }
            object.put(name, value());
        }
        return object;
    }

    private List<Object> list() {
        List<Object> list = new ArrayList<>();
        while (!takes("]")) {
            if (!list.isEmpty() && !takes(",")) {
                throw wrong();
            }
            list.add(value());
        }
        return list;
    }

    private String string() {
        StringBuilder string = new StringBuilder();
        for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
            string.append(c == '\\' ? escape() : c);
        }
        return string.toString();
    }

    private char escape() {
        char c = text.charAt(at++);
        if (c == 'u') {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 4, at), 16);
        }
        for (int i = 0; i < ESCAPES.length(); i += 2) {
            if (ESCAPES.charAt(i) == c) {
                return ESCAPES.charAt(i + 1);
            }
        }
        throw wrong();
    }

    private Number number() {
        int begin = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String number = text.substring(begin, at);
        if (number.isEmpty()) {
            throw wrong();
        }
        if (number.matches("-?[0-9]{1,18}")) {
            return Long.valueOf(number);
        }
        return Double.valueOf(number);
    }

    static String write(Object value) {
        StringBuilder to = new StringBuilder();
        write(value, to);
        return to.toString();
    }

    private static void write(Object value, StringBuilder to) {
        if (value instanceof Map<?, ?> map) {
            String between = "{";
            for (var entry : map.entrySet()) {
                writeString(entry.getKey().toString(), to.append(between));
                write(entry.getValue(), to.append(':'));
                between = ",";
            }
            to.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> list) {
            String between = "";
            to.append('[');
            for (Object item : list) {
                write(item, to.append(between));
                between = ",";
            }
            to.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            to.append(value);
        } else if (value.getClass().isArray()) {
            write(IntStream.range(0, Array.getLength(value)).mapToObj(i -> Array.get(value, i)).toList(), to);
        } else {
            writeString(value.toString(), to);
        }
    }

    private static void writeString(String string, StringBuilder to) {
        to.append('"');
        for (char c : string.toCharArray()) {
            int escape = c < ' ' || c == '"' || c == '\\' ? ESCAPES.lastIndexOf(c) : -1;
            if (escape > 0) {
                to.append('\\').append(ESCAPES.charAt(escape - 1));
            } else if (c < ' ') {
                to.append(String.format("\\u%04x", (int) c));
            } else {
                to.append(c);
            }
        }
        to.append('"');
    }
}
