"""The serials that were counted: of open layers as they came, of all others in the order of their keys.

A database tells more of a row than its columns. PostgreSQL has the number of the transaction that wrote it (`xmin`) and
its place (`ctid`), and in a page of SQLite rows lie in the order in which they were added. So rows of one batch can be
told from those of others, for as long as they stay as they were written. While a layer is open they are in
`newly_spent`; once it is over they are written to `spent` by one statement, in the order of their keys, and
`newly_spent` is emptied as a whole, which leaves nothing of it in its file. What is left is a function of the set.
"""

from collections.abc import Sequence
from typing import Final

from neologue.service.storage.database import Connection, Database
from neologue.service.storage.serial_lists import pieces
from neologue.service.storage.states import LayerState

_NEW: Final = "newly_spent"


def spent_among(db: Connection, campaign: bytes, serials: Sequence[bytes]) -> frozenset[bytes]:
    """Those of some serials that are spent."""
    # Emptying a table is seen by transactions that began before, too: what has moved must be seen where it is now.
    db.share_table(_NEW)
    spent: set[bytes] = set()
    for some in pieces(serials):
        given, values = db.table_of("serial", some)
        rows = db.execute(
            f"SELECT serial FROM spent WHERE campaign = ? AND serial IN (SELECT serial FROM {given})"
            f" UNION ALL SELECT serial FROM {_NEW} WHERE campaign = ? AND serial IN (SELECT serial FROM {given})",
            (campaign, *values, campaign, *values),
        )
        spent.update(serial for (serial,) in rows)
    return frozenset(spent)


def spend(db: Connection, campaign: bytes, layer_index: int, serials: Sequence[bytes]) -> None:
    """Spend serials that are not spent yet, in a layer that is open and locked by this transaction."""
    for some in pieces(serials):
        given, values = db.table_of("serial", some)
        db.execute(
            f"INSERT INTO {_NEW} (campaign, serial, layer_index) SELECT ?, serial, ? FROM {given}",
            (campaign, layer_index, *values),
        )


def put_in_order(database: Database) -> None:
    """Move the serials of layers that are over to their order; may be called at any time, by anyone.

    In two transactions, each of which can be repeated: a serial is in one table or the other, or for a while in both.
    The first takes long, if layers are large, and nobody waits for it.
    """
    with database.transaction() as db:
        over = db.execute(
            f"SELECT DISTINCT {_NEW}.campaign, {_NEW}.layer_index FROM {_NEW} JOIN layers"
            f" ON layers.campaign = {_NEW}.campaign AND layers.layer_index = {_NEW}.layer_index"
            " WHERE layers.state <> ? ORDER BY 1, 2",
            (LayerState.OPEN,),
        )
        for layer in over:
            db.execute(
                f"INSERT INTO spent (campaign, serial) SELECT campaign, serial FROM {_NEW}"
                " WHERE campaign = ? AND layer_index = ? ORDER BY serial ON CONFLICT DO NOTHING",
                layer,
            )
    if over:
        with database.transaction() as db:
            _keep_others(db, over)


def _keep_others(db: Connection, over: Sequence[tuple[bytes, int]]) -> None:
    """Empty the table of open layers, but for those that are not over."""
    db.lock_table(_NEW)
    marks = " OR ".join(["(campaign = ? AND layer_index = ?)"] * len(over))
    db.execute(
        f"CREATE TEMPORARY TABLE others AS SELECT campaign, serial, layer_index FROM {_NEW} WHERE NOT ({marks})",
        [value for layer in over for value in layer],
    )
    db.empty_table(_NEW)
    db.execute(
        f"INSERT INTO {_NEW} (campaign, serial, layer_index) SELECT campaign, serial, layer_index FROM others"
        " ORDER BY campaign, serial"
    )
    db.execute("DROP TABLE others")
