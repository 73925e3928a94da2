package neologue.masking;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import neologue.RefusalException;
import neologue.protocol.Bytes;

/** What a device derives under the digest of its roster, so that it is worth nothing to those who were told another. */
final class GroupKeys {
    static final int TAG_BYTES = 16;
    private static final byte[] BASE_POINT = new byte[32];
    private static final byte[] MASK_PAIR = Message.label("mask pair");
    private static final byte[] SELF = Message.label("self mask");
    private static final byte[] PAIRWISE = Message.label("pairwise mask");
    private static final byte[] SEAL = Message.label("seal");
    private static final byte[] TAG = Message.label("tag");

    static {
        BASE_POINT[0] = 9;
    }

    private final byte[] roster;
    private final Cryptography cryptography;

    GroupKeys(byte[] roster, Cryptography cryptography) {
        this.roster = roster;
        this.cryptography = cryptography;
    }

    /** The private key for masks that a shared secret stands for; it is there before the roster. */
    static byte[] maskPair(BigInteger secret, Terms terms) {
        return derive(SecretSharing.bytes(secret), terms.digest(), MASK_PAIR);
    }

    static byte[] publicKey(byte[] privateKey, Cryptography cryptography) {
        return cryptography.agree(privateKey, BASE_POINT);
    }

    /** Of the mask that a device puts on alone. */
    byte[] selfMask(BigInteger seed, int index) {
        return derive(SecretSharing.bytes(seed), roster, Bytes.join(SELF, Message.number(index)));
    }

    /** Of the mask that two devices put on with opposite signs. */
    byte[] pairwiseMask(byte[] own, byte[] other, int one, int two) {
        byte[] info = Bytes.join(PAIRWISE, Message.number(Math.min(one, two)), Message.number(Math.max(one, two)));
        return derive(agree(own, other), roster, info);
    }

    /** Shares that are sealed for one neighbour; each direction has its own key. */
    byte[] seal(byte[] plain, byte[] own, byte[] other, int sender, int receiver) {
        return cryptography.seal(sealKey(agree(own, other), sender, receiver), plain);
    }

    /** What a neighbour has sealed for this device; null if it can't be opened. */
    byte[] open(byte[] sealed, byte[] own, byte[] other, int sender, int receiver) {
        return cryptography.open(sealKey(agree(own, other), sender, receiver), sealed);
    }

    /** By what a share is recognised later. */
    byte[] tag(BigInteger element, int kind, int owner, int holder) {
        byte[] committed = Bytes.join(TAG, roster, new byte[] {(byte) kind}, Message.number(owner), Message.number(holder),
                SecretSharing.bytes(element));
        return Arrays.copyOf(Bytes.sha256(committed), TAG_BYTES);
    }

    private byte[] sealKey(byte[] secret, int sender, int receiver) {
        return derive(secret, roster, Bytes.join(SEAL, Message.number(sender), Message.number(receiver)));
    }

    private byte[] agree(byte[] own, byte[] other) {
        byte[] secret = cryptography.agree(own, other);
        if (secret == null) {
            throw new RefusalException("a neighbour's public key leads to no secret");
        }
        return secret;
    }

    /** HKDF-SHA256 for one key of 32 bytes. */
    private static byte[] derive(byte[] secret, byte[] salt, byte[] info) {
        return hmac(hmac(salt, secret), Bytes.join(info, new byte[] {1}));
    }

    private static byte[] hmac(byte[] key, byte[] message) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(message);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("this platform has no HMAC-SHA256", error);
        }
    }
}
