package neologue.masking;

import java.util.Arrays;
import neologue.RefusalException;
import neologue.protocol.Bytes;
import neologue.protocol.Signatures;

/** The public keys of a device, signed with the key for which an issuer vouches. */
final class Advertisement {
    static final int NUMBER = 1;
    static final int BYTES = 225;
    private static final byte[] DOMAIN = Message.label("advertisement");

    final byte[] signer;
    final byte[] sealing;
    final byte[] masking;
    /** As it is in a roster. */
    final byte[] content;
    private final int issuer;
    private final byte[] voucher;
    private final byte[] signature;

    Advertisement(byte[] content) {
        this.content = content;
        signer = Arrays.copyOf(content, 32);
        issuer = content[32] & 0xff;
        voucher = Arrays.copyOfRange(content, 33, 97);
        sealing = Arrays.copyOfRange(content, 97, 129);
        masking = Arrays.copyOfRange(content, 129, 161);
        signature = Arrays.copyOfRange(content, 161, BYTES);
        if (issuer >= Promise.MOST_ISSUERS) {
            throw new RefusalException("the roster names the issuer " + issuer + ", and there are at most 16");
        }
    }

    /** That of this device, if one of the promised issuers vouches for it. */
    static Advertisement sign(byte[] sealing, byte[] masking, Terms terms, Promise promise, Identity identity) {
        for (int issuer = 0; issuer < promise.issuers.size(); issuer++) {
            if (promise.isVouched(identity.campaign, identity.publicKey, issuer, identity.voucher, identity.signatures)) {
                byte[] signature = identity.sign(Bytes.join(DOMAIN, terms.digest(), sealing, masking));
                return new Advertisement(Bytes.join(
                        identity.publicKey, new byte[] {(byte) issuer}, identity.voucher, sealing, masking, signature));
            }
        }
        throw new RefusalException("no issuer of the campaign vouches for this device's signing key");
    }

    boolean isVouched(Promise promise, Identity identity) {
        return promise.isVouched(identity.campaign, signer, issuer, voucher, identity.signatures);
    }

    /** Whether the signer has signed just these keys for the group with just these terms. */
    boolean isGenuine(Terms terms, Signatures signatures) {
        return signatures.isSigned(signer, signature, Bytes.join(DOMAIN, terms.digest(), sealing, masking));
    }
}
