package neologue.protocol;

import java.util.Arrays;
import java.util.Base64;

/** What a device joins a campaign with: the campaign, a serial, and the signature of whoever issued it. */
public final class Credential {
    private static final int CHARACTERS = 128;
    private static final int ID_BYTES = 16;
    private static final int KEY_BYTES = 32;

    /** As it is sent to the service, without a signing key. */
    public final String text;
    /** The identity of the campaign. */
    public final byte[] campaign;
    /** The serial of the device. */
    public final byte[] serial;
    /** The private key by which other devices of a campaign under masks know this one; null if there is none. */
    public final byte[] signingKey;
    /** The issuer's signature for its public key; null if there is none. */
    public final byte[] voucher;

    /** From 128 characters of base64url, perhaps with a full stop and as many again for a signing key and its voucher. */
    public Credential(String joined) {
        if (!joined.matches("[A-Za-z0-9_-]{128}(\\.[A-Za-z0-9_-]{128})?")) {
            throw new IllegalArgumentException("a credential has 128 characters of base64url, with a signing key a full stop "
                    + "and as many again: copy it whole");
        }
        text = joined.substring(0, CHARACTERS);
        byte[] content = Base64.getUrlDecoder().decode(text);
        boolean signs = joined.length() > CHARACTERS;
        byte[] own = signs ? Base64.getUrlDecoder().decode(joined.substring(CHARACTERS + 1)) : null;
        signingKey = signs ? Arrays.copyOf(own, KEY_BYTES) : null;
        voucher = signs ? Arrays.copyOfRange(own, KEY_BYTES, own.length) : null;
        campaign = Arrays.copyOf(content, ID_BYTES);
        serial = Arrays.copyOfRange(content, ID_BYTES, 2 * ID_BYTES);
    }

    /** The body by which a report is sent. */
    public byte[] submission(byte[] ticket, byte[] report) {
        return Bytes.join(campaign, serial, ticket, report);
    }
}
