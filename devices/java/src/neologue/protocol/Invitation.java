package neologue.protocol;

import java.nio.charset.StandardCharsets;

/** What a check-in replied: who asks this device, and about which layer. */
public final class Invitation {
    private static final byte[] DOMAIN = "neologue invitation v1\0".getBytes(StandardCharsets.US_ASCII);

    /** The digest of the layer. */
    public final byte[] layer;
    /** The operator's public key. */
    public final byte[] operator;
    /** The operator's signature. */
    public final byte[] signature;
    /** What shows to the service that this device was invited; null if the one there was is not accepted. */
    public final byte[] ticket;

    /** As it came. */
    public Invitation(byte[] layer, byte[] operator, byte[] signature, byte[] ticket) {
        this.layer = layer;
        this.operator = operator;
        this.signature = signature;
        this.ticket = ticket;
    }

    /** Whether the operator has signed it for a campaign. */
    public boolean isGenuine(byte[] campaign, Signatures signatures) {
        return signatures.isSigned(operator, signature, Bytes.join(DOMAIN, campaign, layer));
    }
}
