"""The files that a discovery leaves behind, written whole or not at all."""

import csv
import io
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from neologue.discovery.release import ReleasedWord
from neologue.errors import ParameterError
from neologue.reporting.document import release_text
from neologue.simulation.discovery_run import Discovery


def check_folder(folder: Path) -> None:
    """Refuse, before any work, a folder that no file can be made in; leaves nothing behind."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not existing.is_dir():
        raise ParameterError(f"{existing} is a file; give --out a folder")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise ParameterError(f"{existing} can't be written to ({error.strerror}); give --out another folder") from error


def write_files(discovery: Discovery, folder: Path) -> list[Path]:
    """Write `words.csv`, `words.dic` with `words.aff`, and `release.json`."""
    words = discovery.release.words
    texts = {
        "words.csv": words_csv(words),
        "words.dic": hunspell_dic(word.word for word in words),
        "words.aff": "SET UTF-8\n",
        "release.json": release_text(discovery),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(folder / name, text) for name, text in texts.items()]
    except OSError as error:
        raise ParameterError(f"{folder} can't be written to ({error.strerror}); give --out another folder") from error


def words_csv(words: Iterable[ReleasedWord]) -> str:
    """One line a word, the most widely held first."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["word", "estimate", "low", "high", "layer", "pass"])
    for word in words:
        figures = (f"{figure:.1f}" for figure in (word.estimate, word.low, word.high))
        table.writerow([word.word, *figures, word.layer, word.passage])
    return text.getvalue()


def hunspell_dic(words: Iterable[str]) -> str:
    """A Hunspell dictionary of the words; a slash would begin flags and is escaped."""
    entries = sorted(word.replace("/", "\\/") for word in words)
    return "\n".join([str(len(entries)), *entries]) + "\n"


def _write(path: Path, text: str) -> Path:
    """Put the text in place in one step, so that nobody ever reads half of it."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", dir=path.parent, delete=False) as draft:
        try:
            draft.write(text)
            draft.flush()
            os.fsync(draft.fileno())
            Path(draft.name).chmod(0o644)
            Path(draft.name).replace(path)
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise
    return path
