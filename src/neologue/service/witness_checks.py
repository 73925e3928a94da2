"""Checks of the witnesses of a service's log: whether enough of them co-sign, for nobody is asked otherwise."""

from collections.abc import Iterator
from pathlib import Path

from neologue.service.finding import Finding
from neologue.service.log import log_store
from neologue.service.ops.publishing import read_trust
from neologue.service.storage.database import Connection


def check_witnesses(db: Connection, file: Path | None) -> Iterator[Finding]:
    """Check the witnesses that a file names by what they have co-signed of the log in a database."""
    if file is None:
        yield Finding(
            "doubtful",
            "nothing is known of witnesses of the log: name the file of `serve --witnesses` with --witnesses",
        )
        return
    trust = read_trust(str(file))
    if not trust.quorum:
        yield Finding("doubtful", f"{file} has a quorum of 0: devices are asked what no witness has co-signed")
    elif 2 * trust.quorum <= len(trust.witnesses):
        yield Finding(
            "doubtful",
            f"{trust.quorum} of {len(trust.witnesses)} witnesses are no majority, so that two halves can be shown two "
            "logs: raise the quorum",
        )
    trees = log_store.signed_trees(db)
    up_to_date = 0
    for witness in trust.witnesses:
        behind = len(log_store.not_cosigned(db, witness.key.public))
        up_to_date += not behind
        if behind:
            yield Finding(
                "doubtful",
                f"the witness {witness.key.name} has not co-signed {behind:,} of the {trees:,} trees of the log as "
                f"they are: see whether it is up at {witness.url} and knows this log (neologue log key)",
            )
    if up_to_date < trust.quorum:
        yield Finding(
            "unsafe",
            f"{up_to_date} of the {trust.quorum} witnesses that are needed have co-signed all of the log: a layer that "
            "opens now asks nobody",
        )
    else:
        yield Finding("good", f"{up_to_date} of {len(trust.witnesses)} witnesses have co-signed all of the log")
