"""What an environment is made of: a software bill of materials in CycloneDX, and a list of licences.

python deploy/sbom.py PYTHON FOLDER    writes FOLDER/sbom.cdx.json and FOLDER/licences.csv

`make sbom` does so for the service. Ends with 1 if a package has a licence that is not among those allowed here.
"""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

ALLOWED = {
    "0BSD",
    "Apache 2.0",
    "Apache Software License",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD License",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CNRI-Python",
    "LGPL-3.0-only",  # psycopg, which is used as it is, as a library
    "MIT",
    "MIT License",
    "MIT-0",
    "PSF-2.0",
    "Zlib",
}
READ = {"locate": "MIT"}
"""Licences that were read in the package, where its metadata does not have them."""


def is_allowed(licence: str) -> bool:
    """Whether a licence may be in the environment: all that hold together, of alternatives one."""
    together = re.split(r" AND |; ", licence)
    return all(any(one in ALLOWED for one in part.split(" OR ")) for part in together)


def licences(python: str) -> list[tuple[str, str, str, str]]:
    """The name, version, licence and address of every package."""
    command = [sys.executable, "-m", "piplicenses", "--python", python, "--with-system", "--with-urls", "--format=json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout)
    return sorted(
        (each["Name"], each["Version"], READ.get(each["Name"], each["License"]), each["URL"].replace("UNKNOWN", ""))
        for each in told
    )


def main(python: str, folder: Path) -> int:
    """Write both files."""
    folder.mkdir(parents=True, exist_ok=True)
    bill, table = folder / "sbom.cdx.json", folder / "licences.csv"
    project = Path(__file__).parents[1] / "pyproject.toml"
    options = ["--pyproject", str(project), "--output-reproducible", "--output-file", str(bill), python]
    # Checked against the schema of CycloneDX before it is written.
    subprocess.run([sys.executable, "-m", "cyclonedx_py", "environment", "--validate", *options], check=True)
    found = licences(python)
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("name", "version", "licence", "address"), *found])
    print(f"{bill} and {table}: {len(found)} packages")
    refused = [(name, licence) for name, _, licence, _ in found if not is_allowed(licence)]
    for name, licence in refused:
        print(
            f"{name} has the licence {licence!r}, which is not allowed: read it, then add it to {__file__}, "
            "or do without the package",
            file=sys.stderr,
        )
    return 1 if refused else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
