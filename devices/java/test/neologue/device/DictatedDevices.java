package neologue.device;

import neologue.random.Entropy;

/** What the tests dictate, and an app can't. */
public final class DictatedDevices {
    private DictatedDevices() {}

    /** The same parts, with randomness for the report that is known before. */
    public static DeviceBuilder drawing(DeviceBuilder parts, Entropy entropy) {
        parts.entropy = entropy;
        return parts;
    }
}
