"""The ledger of a service: its rows are in the service's own database, beside what it pays for."""

from contextlib import AbstractContextManager

from neologue.clock import Clock, system_days
from neologue.ledger.ledger import Ledger
from neologue.service.storage.database import Connection, Database


class LedgerTables:
    """The rows of a ledger in the database of a service."""

    name = "the ledger of this service"

    def __init__(self, database: Database) -> None:
        self._database = database

    def transaction(self) -> AbstractContextManager[Connection]:
        """One transaction of the database."""
        return self._database.transaction()

    def reading(self) -> AbstractContextManager[Connection]:
        """One transaction that only reads."""
        return self._database.reading()


def service_ledger(database: Database, clock: Clock = system_days) -> Ledger:
    """The ledger in a database that is up to date."""
    return Ledger(LedgerTables(database), clock)
