package neologue.masking;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import javax.crypto.Cipher;
import javax.crypto.KeyAgreement;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import neologue.RefusalException;
import neologue.protocol.Bytes;

/** Ed25519, X25519 and ChaCha20-Poly1305 of the platform: Java 15 or later, and recent Android. */
public final class PlatformCryptography implements Cryptography {
    /** What keys of 32 bytes have before them, by RFC 8410. */
    private static final byte[] SIGNING_HEADER = Bytes.unhex("302e020100300506032b657004220420", 16);
    private static final byte[] PRIVATE_HEADER = Bytes.unhex("302e020100300506032b656e04220420", 16);
    private static final byte[] PUBLIC_HEADER = Bytes.unhex("302a300506032b656e032100", 12);

    @Override
    public byte[] sign(byte[] privateKey, byte[] message) {
        try {
            Signature signer = Signature.getInstance("Ed25519");
            signer.initSign(privateKey("Ed25519", SIGNING_HEADER, privateKey));
            signer.update(message);
            return signer.sign();
        } catch (GeneralSecurityException error) {
            throw missing("Ed25519");
        }
    }

    @Override
    public byte[] agree(byte[] privateKey, byte[] publicKey) {
        PrivateKey own;
        KeyAgreement agreement;
        try {
            own = privateKey("XDH", PRIVATE_HEADER, privateKey);
            agreement = KeyAgreement.getInstance("XDH");
        } catch (GeneralSecurityException error) {
            throw missing("X25519");
        }
        try {
            PublicKey other = KeyFactory.getInstance("XDH")
                    .generatePublic(new X509EncodedKeySpec(Bytes.join(PUBLIC_HEADER, publicKey)));
            agreement.init(own);
            agreement.doPhase(other, true);
            byte[] secret = agreement.generateSecret();
            int any = 0;
            for (byte each : secret) {
                any |= each;
            }
            return any == 0 ? null : secret;
        } catch (GeneralSecurityException error) {
            return null; // a point of small order
        }
    }

    @Override
    public byte[] seal(byte[] key, byte[] plain) {
        try {
            return cipher(Cipher.ENCRYPT_MODE, key).doFinal(plain);
        } catch (GeneralSecurityException error) {
            throw missing("ChaCha20-Poly1305");
        }
    }

    @Override
    public byte[] open(byte[] key, byte[] sealed) {
        Cipher cipher;
        try {
            cipher = cipher(Cipher.DECRYPT_MODE, key);
        } catch (GeneralSecurityException error) {
            throw missing("ChaCha20-Poly1305");
        }
        try {
            return cipher.doFinal(sealed);
        } catch (GeneralSecurityException error) {
            return null;
        }
    }

    private static PrivateKey privateKey(String algorithm, byte[] header, byte[] key) throws GeneralSecurityException {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(Bytes.join(header, key)));
    }

    private static Cipher cipher(int mode, byte[] key) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("ChaCha20-Poly1305");
        cipher.init(mode, new SecretKeySpec(key, "ChaCha20"), new IvParameterSpec(new byte[12]));
        return cipher;
    }

    private static RefusalException missing(String algorithm) {
        return new RefusalException("this platform has no " + algorithm + ", which votes under masks need: the app must "
                + "give a Cryptography of its own");
    }
}
