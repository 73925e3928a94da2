package neologue.protocol;

import java.util.Arrays;
import java.util.Base64;

/** What a device joins a campaign with: the campaign, a serial, and the signature of whoever issued it. */
public final class Credential {
    private static final int ID_BYTES = 16;

    /** As it is written. */
    public final String text;
    /** The identity of the campaign. */
    public final byte[] campaign;
    /** The serial of the device. */
    public final byte[] serial;

    /** From 128 characters of base64url. */
    public Credential(String text) {
        if (!text.matches("[A-Za-z0-9_-]{128}")) {
            throw new IllegalArgumentException("a credential has 128 characters of base64url: copy it whole");
        }
        byte[] content = Base64.getUrlDecoder().decode(text);
        this.text = text;
        campaign = Arrays.copyOf(content, ID_BYTES);
        serial = Arrays.copyOfRange(content, ID_BYTES, 2 * ID_BYTES);
    }

    /** The body by which a report is sent. */
    public byte[] submission(byte[] ticket, byte[] report) {
        return Bytes.join(campaign, serial, ticket, report);
    }
}
