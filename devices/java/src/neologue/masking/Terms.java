package neologue.masking;

import java.nio.ByteBuffer;
import neologue.RefusalException;
import neologue.protocol.Bytes;

/** What a device is told of a group before it joins. */
public final class Terms {
    /** Their length. */
    public static final int BYTES = 60;
    static final byte VERSION = 2;
    static final int ID_BYTES = 16;
    private static final int MOST_ENTRIES = 1 << 27;
    private static final int MOST_VOTES = 1 << 12;

    /** The identity of the group. */
    public final byte[] group = new byte[ID_BYTES];
    /** The fewest devices whose votes may be summed. */
    public final int smallest;
    /** The most corrupt devices that it must withstand. */
    public final int corrupt;
    /** The dropouts that it must survive, in per cent. */
    final int dropout;
    /** The digest of the layer that is answered. */
    final byte[] layer = new byte[32];
    /** The entries of a vector. */
    final int entries;
    /** The most votes that one device gives one entry. */
    final int votes;
    /** All of them as they came. */
    final byte[] content;

    /** From 60 bytes. */
    public Terms(byte[] content) {
        if (content.length != BYTES || content[0] != VERSION) {
            throw new RefusalException("the terms of the group are not of version " + VERSION);
        }
        this.content = content;
        ByteBuffer buffer = ByteBuffer.wrap(content, 1, BYTES - 1);
        buffer.get(group).get(layer);
        entries = buffer.getInt();
        votes = buffer.getChar();
        smallest = buffer.getChar();
        dropout = buffer.get() & 0xff;
        corrupt = buffer.getChar();
        Neighbourhood.check(smallest, dropout, corrupt);
        if (entries < 1 || entries > MOST_ENTRIES || votes < 1 || votes > MOST_VOTES) {
            throw new RefusalException("the group sums vectors that no layer has");
        }
    }

    byte[] digest() {
        return Bytes.sha256(content);
    }
}
