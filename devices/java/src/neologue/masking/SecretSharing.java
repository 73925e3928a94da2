package neologue.masking;

import java.math.BigInteger;
import java.util.Arrays;
import neologue.random.Entropy;

/** Shamir's shares in the field of 2^255 - 19: of a secret, any `threshold` give it back and fewer say nothing of it. */
final class SecretSharing {
    static final BigInteger PRIME = BigInteger.ONE.shiftLeft(255).subtract(BigInteger.valueOf(19));
    static final int ELEMENT_BYTES = 32;

    private SecretSharing() {}

    /** A uniform element. */
    static BigInteger draw(Entropy entropy) {
        while (true) {
            BigInteger element = new BigInteger(1, entropy.bytes(ELEMENT_BYTES)).shiftRight(1);
            if (element.compareTo(PRIME) < 0) {
                return element;
            }
        }
    }

    /** An element on the wire. */
    static byte[] bytes(BigInteger element) {
        byte[] magnitude = element.toByteArray();
        byte[] bytes = new byte[ELEMENT_BYTES];
        int length = Math.min(magnitude.length, ELEMENT_BYTES);
        System.arraycopy(magnitude, magnitude.length - length, bytes, ELEMENT_BYTES - length, length);
        return bytes;
    }

    /** The element at a place of some bytes; null if there is none. */
    static BigInteger element(byte[] bytes, int start) {
        BigInteger element = new BigInteger(1, Arrays.copyOfRange(bytes, start, start + ELEMENT_BYTES));
        return element.compareTo(PRIME) < 0 ? element : null;
    }

    /** The share of each device: a random polynomial with the secret at 0, at one more than its index. */
    static BigInteger[] shares(BigInteger secret, int[] devices, int threshold, Entropy entropy) {
        BigInteger[] coefficients = new BigInteger[threshold];
        coefficients[0] = secret;
        for (int i = 1; i < threshold; i++) {
            coefficients[i] = draw(entropy);
        }
        BigInteger[] shares = new BigInteger[devices.length];
        for (int i = 0; i < devices.length; i++) {
            BigInteger point = BigInteger.valueOf(devices[i] + 1L);
            BigInteger value = BigInteger.ZERO;
            for (int power = threshold - 1; power >= 0; power--) {
                value = value.multiply(point).add(coefficients[power]).mod(PRIME);
            }
            shares[i] = value;
        }
        return shares;
    }
}
