package example;

import java.nio.file.Path;
import java.util.Collections;
import javax.crypto.SecretKey;
import neologue.device.Device;
import neologue.device.Policy;
import neologue.device.Tick;
import neologue.storage.AesSeal;
import neologue.transport.HttpTransport;

/** All that an app does with a device. */
final class WordsWorker {
    private final Device device;

    WordsWorker(Path privateFolder, SecretKey key, String operator) {
        Policy policy = new Policy(Collections.singleton(operator));
        device = Device.in(privateFolder, new HttpTransport("https://words.example.org"), policy)
                .sealedBy(new AesSeal(key))
                .open();
    }

    /** The person has agreed, and your backend has issued a credential. */
    void agree(String credential) {
        device.optIn();
        device.join(credential);
    }

    /** A word was finished in a field that is not private. */
    void typed(String word) {
        device.typed(word, 1, false);
    }

    /** Take one step; returns the seconds until the next one, or null if there is none. */
    Double work() {
        Tick tick = device.tick();
        return tick.again;
    }
}
