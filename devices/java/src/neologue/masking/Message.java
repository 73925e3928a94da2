package neologue.masking;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import neologue.RefusalException;
import neologue.protocol.Bytes;

/** The bytes of a message of a group, which are taken from its front and may be hostile. */
final class Message {
    private static final int HEAD_BYTES = 2 + Terms.ID_BYTES;

    private final byte[] content;
    private int next = HEAD_BYTES;

    /** Refuses one that has another number, or is of another group. */
    Message(int number, byte[] content, Terms terms) {
        this.content = content;
        boolean expected = content.length >= HEAD_BYTES
                && Arrays.equals(Arrays.copyOf(content, HEAD_BYTES), head(number, terms));
        if (!expected) {
            throw new RefusalException("a message of another kind, version or group where message " + number
                    + " is expected");
        }
    }

    /** How a message begins. */
    static byte[] head(int number, Terms terms) {
        return Bytes.join(new byte[] {Terms.VERSION, (byte) number}, terms.group);
    }

    /** What begins all that is signed or derived, so that nothing of one kind passes for another. */
    static byte[] label(String purpose) {
        return ("neologue masking v2 " + purpose + "\0").getBytes(StandardCharsets.US_ASCII);
    }

    /** A number of devices, or the index of one, in 2 bytes. */
    static byte[] number(int value) {
        return new byte[] {(byte) (value >> 8), (byte) value};
    }

    /** A set of devices as one bit for each of a group, the most significant first. */
    static byte[] set(BitSet devices, int size) {
        byte[] bytes = new byte[(size + 7) / 8];
        for (int index = devices.nextSetBit(0); index >= 0; index = devices.nextSetBit(index + 1)) {
            bytes[index / 8] |= (byte) (0x80 >> index % 8);
        }
        return bytes;
    }

    byte[] take(int count) {
        if (count > content.length - next) {
            throw new RefusalException("a message of the group is too short");
        }
        next += count;
        return Arrays.copyOfRange(content, next - count, next);
    }

    int number() {
        byte[] bytes = take(2);
        return (bytes[0] & 0xff) << 8 | bytes[1] & 0xff;
    }

    /** Refuse a message that is not for the device with this index. */
    void checkIndex(int own) {
        int index = number();
        if (index != own) {
            throw new RefusalException("a message for device " + index + ", and this is device " + own);
        }
    }

    /** A set of devices of a group of this size. */
    BitSet set(int size) {
        byte[] bytes = take((size + 7) / 8);
        BitSet devices = new BitSet(size);
        for (int index = 0; index < 8 * bytes.length; index++) {
            devices.set(index, (bytes[index / 8] & 0x80 >> index % 8) != 0);
        }
        if (devices.length() > size) {
            throw new RefusalException("a set of devices names one beyond the " + size + " of the group");
        }
        return devices;
    }

    /** Refuse a message that goes on. */
    void end() {
        if (next < content.length) {
            throw new RefusalException("a message of the group is too long");
        }
    }
}
