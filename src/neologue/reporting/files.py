"""The files that a discovery leaves behind, all of them whole or none."""

import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from neologue.discovery.result import ReleasedPrefix, ReleasedWord
from neologue.errors import ParameterError
from neologue.release.codec import release_text
from neologue.release.layer_archive import NAME as LAYERS
from neologue.release.layer_archive import pack_documents
from neologue.release.word_lists import hunspell_dic, prefixes_csv, words_csv

REPORT = "report.html"
TRUTH = "truth.json"
STUDY = "study.json"
NAMES = ("words.csv", "prefixes.csv", "words.dic", "words.aff", "release.json", LAYERS, TRUTH, REPORT)


def check_folder(folder: Path, names: Collection[str] = NAMES) -> None:
    """Refuse, before any work, a folder that files of these names can't be put into; leaves nothing behind."""
    existing = next(existing_path for existing_path in (folder, *folder.absolute().parents) if existing_path.exists())
    if not existing.is_dir():
        raise ParameterError(f"{existing} is a file; give --out a folder")
    if STUDY not in names and (folder / STUDY).exists():
        raise ParameterError(f"{folder} holds a study; give --out another folder")
    for name in names:
        if (folder / name).is_dir():
            raise ParameterError(f"{folder / name} is a folder where a file is to be; give --out another folder")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise ParameterError(f"{existing} can't be written to ({error.strerror}); give --out another folder") from error


def write_files(
    words: Collection[ReleasedWord],
    prefixes: Iterable[ReleasedPrefix],
    document: Mapping[str, object],
    layers: Iterable[bytes],
    folder: Path,
    *,
    truth: Mapping[str, object] | None = None,
    report: str | None = None,
) -> list[Path]:
    """Write words and prefixes, `release.json`, the documents of its layers, and what is given of truth and report."""
    texts = (
        words_csv(words),
        prefixes_csv(prefixes),
        hunspell_dic(word.word for word in words),
        "SET UTF-8\n",
        release_text(document),
        pack_documents(layers),
        None if truth is None else release_text(truth),
        report,
    )
    return write_texts({name: text for name, text in zip(NAMES, texts, strict=True) if text is not None}, folder)


def write_texts(files: Mapping[str, str | bytes], folder: Path) -> list[Path]:
    """Write texts, and bytes as they are, into a folder, which is made if need be; all are put in place when whole."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as drafts:
            for name, text in files.items():
                with (Path(drafts) / name).open("wb") as draft:
                    draft.write(text.encode() if isinstance(text, str) else text)
                    draft.flush()
                    os.fsync(draft.fileno())
            return [(Path(drafts) / name).replace(folder / name) for name in files]
    except OSError as error:
        raise ParameterError(f"{folder} can't be written to ({error.strerror}); give --out another folder") from error
