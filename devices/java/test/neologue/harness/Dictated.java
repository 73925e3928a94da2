package neologue.harness;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import neologue.random.Entropy;

/** A stream of words that a vector dictates, and that must be used up. */
final class Dictated extends Entropy {
    private final ByteBuffer words;

    Dictated(byte[] bytes) {
        words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    @Override
    public long word() {
        return words.getLong();
    }

    int left() {
        return words.remaining();
    }
}
