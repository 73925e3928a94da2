"""The secret keys of a service: created with its database, shared by all of its workers."""

import os
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.protocol.ticket import SECRET_BYTES
from neologue.service.storage.database import Connection, Database


@dataclass(frozen=True, repr=False)
class Keys:
    """The secret keys of one service."""

    operator: Ed25519PrivateKey
    """Signs invitations and releases; devices pin its public key."""
    issuer: Ed25519PrivateKey
    """Signs the credentials that the service issues itself."""
    ticket: bytes
    """Authenticates tickets, which only the service can make and read."""

    @property
    def public(self) -> bytes:
        """The raw public key that devices pin."""
        return self.operator.public_key().public_bytes_raw()


def load_keys(database: Database) -> Keys:
    """The secret keys in the database; missing ones are created."""
    with database.transaction() as db:
        return Keys(
            operator=Ed25519PrivateKey.from_private_bytes(_secret(db, "operator")),
            issuer=Ed25519PrivateKey.from_private_bytes(_secret(db, "issuer")),
            ticket=_secret(db, "ticket"),
        )


def _secret(db: Connection, name: str) -> bytes:
    db.execute("INSERT INTO secrets VALUES (?, ?) ON CONFLICT DO NOTHING", (name, os.urandom(SECRET_BYTES)))
    ((value,),) = db.execute("SELECT value FROM secrets WHERE name = ?", (name,))
    return bytes(value)
