package neologue.storage;

/** What day it is. */
public interface Clock {
    /** The system's clock. */
    Clock SYSTEM = () -> Math.floorDiv(System.currentTimeMillis(), 86_400_000L);

    /** Days since 1970-01-01. */
    long day();
}
