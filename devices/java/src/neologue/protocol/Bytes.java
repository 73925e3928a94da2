package neologue.protocol;

import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** Byte strings: hexadecimal, joined, digested. */
public final class Bytes {
    private static final char[] DIGITS = "0123456789abcdef".toCharArray();

    private Bytes() {}

    /** In lower-case hexadecimal. */
    public static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder(2 * bytes.length);
        for (byte each : bytes) {
            text.append(DIGITS[each >> 4 & 15]).append(DIGITS[each & 15]);
        }
        return text.toString();
    }

    /**
     * The bytes of lower-case hexadecimal digits, which must be so many bytes unless `length` is -1; null if they are
     * not.
     */
    public static byte[] unhex(Object value, int length) {
        if (!(value instanceof String)) {
            return null;
        }
        String text = (String) value;
        if (text.length() % 2 != 0 || length >= 0 && text.length() != 2 * length) {
            return null;
        }
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < text.length(); i++) {
            char digit = text.charAt(i);
            boolean hexadecimal = digit >= '0' && digit <= '9' || digit >= 'a' && digit <= 'f';
            if (!hexadecimal) {
                return null;
            }
            bytes[i / 2] = (byte) (bytes[i / 2] << 4 | Character.digit(digit, 16));
        }
        return bytes;
    }

    /** One byte string behind the other. */
    public static byte[] join(byte[]... parts) {
        ByteArrayOutputStream joined = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            joined.write(part, 0, part.length);
        }
        return joined.toByteArray();
    }

    /** SHA-256. */
    public static byte[] sha256(byte[] content) {
        return digest("SHA-256", content);
    }

    static byte[] digest(String algorithm, byte[] content) {
        try {
            return MessageDigest.getInstance(algorithm).digest(content);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException("this platform has no " + algorithm, error);
        }
    }
}
