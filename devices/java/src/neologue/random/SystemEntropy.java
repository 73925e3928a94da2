package neologue.random;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.SecureRandom;

/** The platform's generator for cryptography, read in blocks; it is never seeded by us. */
public final class SystemEntropy extends Entropy {
    private static final int BLOCK = 2048;

    private final SecureRandom generator = new SecureRandom();
    private ByteBuffer block = ByteBuffer.allocate(0);

    @Override
    public long word() {
        if (!block.hasRemaining()) {
            byte[] bytes = new byte[BLOCK];
            generator.nextBytes(bytes);
            block = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        }
        return block.getLong();
    }
}
