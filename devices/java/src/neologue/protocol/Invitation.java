package neologue.protocol;

import java.nio.charset.StandardCharsets;

/** What a check-in replied: who asks this device, and about which layer. */
public final class Invitation {
    private static final byte[] DOMAIN = "neologue invitation v1\0".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] MASKED_DOMAIN =
            "neologue masked invitation v2\0".getBytes(StandardCharsets.US_ASCII);

    /** The digest of the layer. */
    public final byte[] layer;
    /** The operator's public key. */
    public final byte[] operator;
    /** The operator's signature. */
    public final byte[] signature;
    /** What shows to the service that this device was invited; null if the one there was is not accepted. */
    public final byte[] ticket;

    /** What is promised of groups, if votes are to be masked; null if reports are sent as they are. */
    public final byte[] masked;

    /** As it came. */
    public Invitation(byte[] layer, byte[] operator, byte[] signature, byte[] ticket, byte[] masked) {
        this.layer = layer;
        this.operator = operator;
        this.signature = signature;
        this.ticket = ticket;
        this.masked = masked;
    }

    /** The same with another ticket. */
    public Invitation with(byte[] another) {
        return new Invitation(layer, operator, signature, another, masked);
    }

    /** Whether the operator has signed it for a campaign. */
    public boolean isGenuine(byte[] campaign, Signatures signatures) {
        byte[] message = masked == null
                ? Bytes.join(DOMAIN, campaign, layer)
                : Bytes.join(MASKED_DOMAIN, campaign, layer, masked);
        return signatures.isSigned(operator, signature, message);
    }
}
