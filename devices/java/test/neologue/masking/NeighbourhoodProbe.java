package neologue.masking;

/** What the tests look into, and an app can't. */
public final class NeighbourhoodProbe {
    private NeighbourhoodProbe() {}

    /** The neighbours of each device of a group, and how many shares give a secret back. */
    public static String of(int size, int dropout, int corrupt) {
        Neighbourhood found = Neighbourhood.of(size, dropout, corrupt);
        return found.degree + " " + found.threshold;
    }
}
