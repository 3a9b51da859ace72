"""Write what apt knows of packages as triples: one CSV with the columns head, relation, tail.

    apt-get update
    python examples/debian_packages.py debian.csv                 # all packages of the lists on this machine
    python examples/debian_packages.py debian.csv --one-in 6      # about a sixth of them, by their source packages

A package comes with its dependencies, section, priority, architecture, source package, maintainer and tags. Names that
could be taken for those of packages get a prefix: the section `python` is no package.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LISTS = Path("/var/lib/apt/lists")
LINKS = {
    "Depends": "depends",
    "Pre-Depends": "depends",
    "Recommends": "recommends",
    "Suggests": "suggests",
    "Conflicts": "conflicts",
    "Replaces": "replaces",
    "Provides": "provides",
}
NAME = re.compile(r"\s*([a-z0-9][a-z0-9+.\-]+)")  # before a version, as in "libc6 (>= 2.34)"


def read_stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the fields of each package; a line that begins with a space goes on with the field before."""
    fields: dict[str, str] = {}
    last = ""
    for line in lines:
        if not line.strip():
            if fields:
                yield fields
            fields = {}
        elif line[0].isspace():
            fields[last] += f" {line.strip()}"
        else:
            last, _, value = line.partition(":")
            fields[last] = value.strip()
    if fields:
        yield fields


def facts_of(package: dict[str, str], names: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the triples of one package; dependencies only on packages that there are."""
    name = package["Package"]
    for field, relation in LINKS.items():
        for part in re.split(r"[,|]", package.get(field, "")):
            found = NAME.match(part)
            if found and found[1] in names:
                yield name, relation, found[1]
    yield name, "source", f"src:{source_of(package)}"
    for field, prefix in (("Section", "section:"), ("Priority", "priority:"), ("Architecture", "arch:")):
        if package.get(field):
            yield name, field.lower(), prefix + package[field]
    if package.get("Maintainer"):
        yield name, "maintainer", re.sub(r"\s*<.*", "", package["Maintainer"])
    for tag in re.split(r",\s*", package.get("Tag", "")):
        if tag:
            yield name, "tag", tag


def source_of(package: dict[str, str]) -> str:
    """Return the source package, which has the name of the package if none is given."""
    return package.get("Source", package["Package"]).split()[0]


def is_kept(source: str, one_in: int) -> bool:
    """Keep a source package or not: always the same ones."""
    return hashlib.sha256(source.encode()).digest()[0] % one_in == 0


def main() -> None:
    """Read the lists, write the file."""
    parser = argparse.ArgumentParser(description="Write what apt knows of packages as triples.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--one-in", type=int, default=1, help="keep about one in so many source packages")
    arguments = parser.parse_args()
    lists = sorted(map(str, LISTS.glob("*_Packages*")))
    if not lists:
        raise SystemExit(f"No lists of packages in {LISTS}. Run apt-get update first.")
    text = subprocess.run(
        ["/usr/lib/apt/apt-helper", "cat-file", *lists], check=True, capture_output=True, text=True
    ).stdout
    packages = list(read_stanzas(text.splitlines()))
    names = {package["Package"] for package in packages}
    kept = [package for package in packages if is_kept(source_of(package), arguments.one_in)]
    facts = sorted({fact for package in kept for fact in facts_of(package, names)})
    with arguments.output.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("head", "relation", "tail"))
        writer.writerows(facts)
    print(f"{len(kept):,} packages, {len(facts):,} facts. Written to {arguments.output}")


if __name__ == "__main__":
    main()
