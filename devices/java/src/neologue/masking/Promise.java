package neologue.masking;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import neologue.RefusalException;
import neologue.protocol.Bytes;
import neologue.protocol.Signatures;

/** What the operator has signed about the groups of a layer. */
public final class Promise {
    static final int MOST_ISSUERS = 16;
    private static final int HEAD_BYTES = 6;
    private static final int KEY_BYTES = 32;
    private static final byte[] VOUCHER = "neologue signing key v1\0".getBytes(StandardCharsets.US_ASCII);

    /** The fewest devices whose votes are summed. */
    public final int smallest;
    /** The dropouts that a group survives, in per cent. */
    public final int dropout;
    /** The corrupt devices that a group withstands. */
    public final int corrupt;
    /** The public keys, in hexadecimal, of those who vouch for devices. */
    public final List<String> issuers;

    /** As it came with an invitation. */
    public Promise(byte[] content) {
        int count = content.length < HEAD_BYTES ? 0 : content[HEAD_BYTES - 1] & 0xff;
        boolean whole = count >= 1 && count <= MOST_ISSUERS && content.length == HEAD_BYTES + count * KEY_BYTES;
        if (!whole) {
            throw new RefusalException("the invitation can't be used: its promise about masks names no 1 to 16 issuers");
        }
        ByteBuffer buffer = ByteBuffer.wrap(content);
        smallest = buffer.getChar();
        dropout = buffer.get() & 0xff;
        corrupt = buffer.getChar();
        buffer.get();
        issuers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] key = new byte[KEY_BYTES];
            buffer.get(key);
            issuers.add(Bytes.hex(key));
        }
        Neighbourhood.check(smallest, dropout, corrupt);
        if (new HashSet<>(issuers).size() < count) {
            throw new RefusalException("the invitation can't be used: its promise names an issuer twice");
        }
    }

    /** Refuse terms for smaller sums, or with other numbers for thresholds to follow from. */
    void check(Terms terms) {
        boolean kept = terms.smallest >= smallest && terms.dropout == dropout && terms.corrupt == corrupt;
        if (!kept) {
            throw new RefusalException("the group has a smaller sum, or other dropouts or corrupt devices, than were "
                    + "promised");
        }
    }

    /** Whether a campaign that forms its groups by these rules, as a release says, forms such groups as were promised. */
    public boolean isKeptBy(Map<?, ?> rules) {
        int most = Neighbourhood.mostCorrupt(
                whole(rules, "size"), whole(rules, "corruption"), (Double) rules.get("risk"), whole(rules, "groups"));
        return whole(rules, "smallest") == smallest && whole(rules, "dropout") == dropout && most == corrupt;
    }

    private static int whole(Map<?, ?> rules, String name) {
        double value = (Double) rules.get(name);
        int limit = name.equals("groups") ? 1 << 30 : name.equals("corruption") ? 99 : Neighbourhood.LARGEST_GROUP;
        if (value != Math.rint(value) || value < 0 || value > limit) {
            throw new IllegalArgumentException("no " + name);
        }
        return (int) value;
    }

    /** Whether the issuer with this number has vouched for a device's public key. */
    boolean isVouched(byte[] campaign, byte[] key, int issuer, byte[] voucher, Signatures signatures) {
        return issuer < issuers.size()
                && signatures.isSigned(Bytes.unhex(issuers.get(issuer), KEY_BYTES), voucher, Bytes.join(VOUCHER, campaign, key));
    }
}
