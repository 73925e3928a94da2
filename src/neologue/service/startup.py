"""What is checked before a service starts, so that a database it can't serve from ends it with one sentence."""

from neologue.errors import NeologueError, StorageError
from neologue.service.collect.layer_cache import LayerCache
from neologue.service.ops.service_keys import load_keys
from neologue.service.storage.database import Database


def check_readable(database: Database, wrapping_key: str | None) -> None:
    """Read the keys, the campaigns and their open layers, as a worker does; or a StorageError that names the remedy."""
    try:
        LayerCache(database, load_keys(database, wrapping_key)).refresh()
    except NeologueError:
        raise
    except Exception as error:  # whatever a parser makes of a row that is not as it was written
        raise StorageError(
            f"{database.name} is damaged: it holds a row that can't be read ({type(error).__name__}); restore it from "
            "a copy"
        ) from error
