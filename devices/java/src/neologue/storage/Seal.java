package neologue.storage;

import java.security.GeneralSecurityException;

/** Encrypts what lies on the disk, with a key that the app holds; on Android, one of its Keystore. */
public interface Seal {
    /** The content, sealed. */
    byte[] close(byte[] content) throws GeneralSecurityException;

    /** What was sealed; fails if it was changed, or sealed by another key. */
    byte[] open(byte[] sealed) throws GeneralSecurityException;
}
