package neologue.masking;

/** What the tests look into, and an app can't. */
public final class NeighbourhoodProbe {
    private NeighbourhoodProbe() {}

    /** The neighbours of each device of a group, and how many shares give a secret back. */
    public static String of(int size, int dropout, int corrupt) {
        Neighbourhood found = Neighbourhood.of(size, dropout, corrupt);
        return found.degree + " " + found.threshold;
    }

    /** The most corrupt devices of a group. */
    public static int mostCorrupt(int size, int share, double risk, int groups) {
        return Neighbourhood.mostCorrupt(size, share, risk, groups);
    }
}
