package neologue.device;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import neologue.protocol.Layer;

/** What the tests look into, and an app can't. */
public final class PolicyProbe {
    private PolicyProbe() {}

    /** Refuse what the usual policy refuses of a device that has spent so much before. */
    public static void check(Layer layer, List<?> spent, boolean allowsLists) {
        Limits limits = new Limits();
        limits.allowUnloggedLists = allowsLists;
        Policy policy = new Policy(Collections.emptyList(), limits);
        policy.checkLayer(layer);
        List<Double> epsilons = new ArrayList<>();
        spent.forEach(each -> epsilons.add((Double) each));
        policy.checkLifetime(layer.epsilon, epsilons);
    }
}
