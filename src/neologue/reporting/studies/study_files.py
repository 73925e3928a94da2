"""The files that a study leaves behind, and whose folder they may go into."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neologue.errors import ParameterError
from neologue.reporting.files import REPORT, STUDY, check_folder, write_texts
from neologue.simulation.unfinished_run import first_difference

NAMES = (STUDY, REPORT)
FORMAT = 1


def check_study_folder(folder: Path, identity: Mapping[str, object]) -> None:
    """Refuse, before any work, a folder that can't be written to or holds anything but this very study."""
    check_folder(folder, NAMES)
    path = folder / STUDY
    if not path.exists():
        other = next((name for name in ("release.json", REPORT) if (folder / name).exists()), None)
        if other:
            raise ParameterError(f"{folder / other} is of something else than a study; give --out another folder")
        return
    try:
        held = json.loads(path.read_text("utf-8"))["identity"]
    except (ValueError, KeyError, TypeError) as error:
        raise ParameterError(f"{path} is not the record of a study; give --out another folder") from error
    if changed := first_difference(held, identity):
        raise ParameterError(f"{folder} holds another study: {changed} is not the same; give --out another folder")


def study_document(identity: Mapping[str, object], quick: str | None, body: Mapping[str, Any]) -> dict[str, Any]:
    """A study as one document, the same for the same study; `quick` is what to say of one that was shortened."""
    kept = ("study", "version")
    return {"format": FORMAT, **{name: identity[name] for name in kept}, "quick": quick, **body, "identity": identity}


def study_text(document: Mapping[str, Any]) -> str:
    """The document as text."""
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def write_study(document: Mapping[str, Any], report: str | None, folder: Path) -> list[Path]:
    """Write `study.json` and the report, if there is one."""
    texts = {STUDY: study_text(document), REPORT: report}
    return write_texts({name: text for name, text in texts.items() if text is not None}, folder)
