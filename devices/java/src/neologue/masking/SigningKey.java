package neologue.masking;

import java.math.BigInteger;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The public key of an Ed25519 private key, by RFC 8032: platforms sign with a private key, but none tells the public one.
 *
 * <p>It is computed once for a group, from a key that serves one campaign; signatures are the platform's.
 */
final class SigningKey {
    private static final BigInteger PRIME = SecretSharing.PRIME;
    private static final BigInteger CURVE =
            BigInteger.valueOf(-121665).multiply(BigInteger.valueOf(121666).modInverse(PRIME)).mod(PRIME);
    private static final BigInteger[] NEUTRAL = {BigInteger.ZERO, BigInteger.ONE};
    private static final BigInteger[] BASE = {
        new BigInteger("216936d3cd6e53fec0a4e231fdd6dc5c692cc7609525a7b2c9562d608f25d51a", 16),
        new BigInteger("6666666666666666666666666666666666666666666666666666666666666658", 16)
    };

    private SigningKey() {}

    /** The public key, in 32 bytes. */
    static byte[] publicOf(byte[] privateKey) {
        byte[] scalar = reversed(sha512(privateKey), 32);
        scalar[31] &= (byte) 0xf8;
        scalar[0] = (byte) (scalar[0] & 0x7f | 0x40);
        BigInteger[] point = multiple(new BigInteger(1, scalar));
        BigInteger sign = point[0].testBit(0) ? BigInteger.ONE.shiftLeft(255) : BigInteger.ZERO;
        return reversed(SecretSharing.bytes(point[1].or(sign)), 32);
    }

    private static BigInteger[] multiple(BigInteger scalar) {
        BigInteger[] point = NEUTRAL;
        for (int bit = 255; bit >= 0; bit--) {
            point = sum(point, point);
            // Added in any case, so that the work does not tell the bits.
            BigInteger[] more = sum(point, BASE);
            point = scalar.testBit(bit) ? more : point;
        }
        return point;
    }

    private static BigInteger[] sum(BigInteger[] one, BigInteger[] other) {
        BigInteger x = one[0].multiply(other[1]).add(one[1].multiply(other[0]));
        BigInteger y = one[1].multiply(other[1]).add(one[0].multiply(other[0]));
        BigInteger bent = CURVE.multiply(one[0]).multiply(other[0]).multiply(one[1]).multiply(other[1]).mod(PRIME);
        return new BigInteger[] {
            x.multiply(BigInteger.ONE.add(bent).modInverse(PRIME)).mod(PRIME),
            y.multiply(BigInteger.ONE.subtract(bent).modInverse(PRIME)).mod(PRIME)
        };
    }

    /** The first bytes, the last of them first. */
    private static byte[] reversed(byte[] bytes, int count) {
        byte[] reversed = new byte[count];
        for (int i = 0; i < count; i++) {
            reversed[i] = bytes[count - 1 - i];
        }
        return reversed;
    }

    private static byte[] sha512(byte[] content) {
        try {
            return MessageDigest.getInstance("SHA-512").digest(content);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException("this platform has no SHA-512", error);
        }
    }
}
