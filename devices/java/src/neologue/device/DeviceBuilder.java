package neologue.device;

import java.nio.file.Path;
import neologue.masking.Cryptography;
import neologue.masking.PlatformCryptography;
import neologue.protocol.Evidence;
import neologue.protocol.PlatformSignatures;
import neologue.protocol.Signatures;
import neologue.random.Entropy;
import neologue.random.SystemEntropy;
import neologue.storage.Clock;
import neologue.storage.Seal;
import neologue.transport.Transport;

/** The parts of a device, each with a default but the three that have none. */
public final class DeviceBuilder {
    final Path folder;
    final Transport transport;
    final Policy policy;
    Seal seal;
    Signatures signatures;
    Evidence evidence;
    Cryptography cryptography = new PlatformCryptography();
    SendingTime sendingTime = new SendingTime();
    Clock clock = Clock.SYSTEM;
    Library library;
    byte[] known;
    /** What reports are drawn with; no app can give another. */
    Entropy entropy = new SystemEntropy();

    DeviceBuilder(Path folder, Transport transport, Policy policy) {
        this.folder = folder;
        this.transport = transport;
        this.policy = policy;
    }

    /** Seal the words on the disk. */
    public DeviceBuilder sealedBy(Seal seal) {
        this.seal = seal;
        return this;
    }

    /** Check signatures by other means than the platform's. */
    public DeviceBuilder checkedBy(Signatures signatures) {
        this.signatures = signatures;
        return this;
    }

    /** Demand evidence of where the service runs, beside the log that the limits demand. */
    public DeviceBuilder demanding(Evidence evidence) {
        this.evidence = evidence;
        return this;
    }

    /** Mask votes by other means than the platform's. */
    public DeviceBuilder maskedBy(Cryptography cryptography) {
        this.cryptography = cryptography;
        return this;
    }

    /** Send reports in another window than the usual one. */
    public DeviceBuilder sendingAt(SendingTime sendingTime) {
        this.sendingTime = sendingTime;
        return this;
    }

    /** Go by another clock. */
    public DeviceBuilder clockedBy(Clock clock) {
        this.clock = clock;
        return this;
    }

    /** Share what is fetched with other devices of this process. */
    public DeviceBuilder sharing(Library library) {
        this.library = library;
        return this;
    }

    /**
     * Come with a list of known words, the bytes that the service serves under its digest: they are not fetched then.
     */
    public DeviceBuilder knowing(byte[] known) {
        this.known = known;
        return this;
    }

    /** The device. */
    public Device open() {
        if (signatures == null) {
            signatures = new PlatformSignatures();
        }
        if (evidence != null && policy.limits.quorum == 0) {
            throw new IllegalArgumentException(
                    "evidence speaks for the key of a log: add logs, witnesses and a quorum to the limits");
        }
        return new Device(this);
    }
}
