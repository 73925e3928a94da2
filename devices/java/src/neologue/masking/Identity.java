package neologue.masking;

import neologue.RefusalException;
import neologue.protocol.Credential;
import neologue.protocol.Signatures;

/** By what the other devices of a campaign know that this one belongs to it. */
public final class Identity {
    final byte[] campaign;
    final byte[] publicKey;
    final byte[] voucher;
    final Signatures signatures;
    final Cryptography cryptography;
    private final byte[] privateKey;

    /** Of a credential with a signing key. */
    public Identity(Credential credential, Signatures signatures, Cryptography cryptography) {
        if (credential.signingKey == null) {
            throw new RefusalException("votes are masked together with devices that know each other by their signing keys, "
                    + "and nobody vouches for one of this device: join with a credential for campaigns under masks");
        }
        campaign = credential.campaign;
        voucher = credential.voucher;
        privateKey = credential.signingKey;
        publicKey = SigningKey.publicOf(privateKey);
        this.signatures = signatures;
        this.cryptography = cryptography;
    }

    byte[] sign(byte[] message) {
        return cryptography.sign(privateKey, message);
    }
}
