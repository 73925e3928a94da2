"""Builds what is published, the same bytes wherever it is built, and says how it was made.

python deploy/build.py FOLDER    writes the wheels, the source distribution, SHA256SUMS and provenance.json

`make dist` does so in the locked environment. Times in the archives are that of the commit, or SOURCE_DATE_EPOCH. The
provenance is an in-toto statement with a predicate of SLSA (slsa.dev/provenance/v1), without anything that differs from
machine to machine.
"""

import hashlib
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BUILD_TYPE = "https://neologue.invalid/build/v1"
TOOLS = ("build", "hatchling")


def build(source: Path, folder: Path, epoch: str) -> list[Path]:
    """The distributions of a source tree: neologue as wheel and source, and the device alone as a wheel."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "0"}
    for kinds, tree in ((("--sdist", "--wheel"), source), (("--wheel",), source / "distributions" / "device")):
        command = [sys.executable, "-m", "build", *kinds, "--no-isolation", "--outdir", str(folder), str(tree)]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return sorted(file for file in folder.iterdir() if file.suffix in (".whl", ".gz"))


def provenance(files: list[Path], epoch: str, commit: str | None) -> dict[str, Any]:
    """What was built from what, and by which tools."""
    source = [] if commit is None else [{"uri": "git+neologue", "digest": {"gitCommit": commit}}]
    tools = [{"uri": f"pkg:pypi/{tool}@{version(tool)}"} for tool in TOOLS]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": {"sha256": digest(file)}} for file in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"command": "make dist", "SOURCE_DATE_EPOCH": epoch},
                "resolvedDependencies": [*source, *tools],
            },
            "runDetails": {"builder": {"id": f"{BUILD_TYPE}/make-dist"}},
        },
    }


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main(folder: Path) -> None:
    """Build everything."""
    commit = _git("rev-parse", "HEAD")
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct")
    if epoch is None:
        sys.exit("the time of the commit is not known here: set SOURCE_DATE_EPOCH to it")
    files = build(ROOT, folder, epoch)
    (folder / "SHA256SUMS").write_text("".join(f"{digest(file)}  {file.name}\n" for file in files))
    statement = json.dumps(provenance(files, epoch, commit), indent=1)
    (folder / "provenance.json").write_text(statement + "\n")


def _git(*arguments: str) -> str | None:
    """What git says of the source; None if it has no repository."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8")
    return done.stdout.strip() if done.returncode == 0 else None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
