"""What has to be true before a release, as functions of texts and names; scripts/release asks them."""
# ruff: noqa: UP006, UP035, UP045
# The old spellings of types stay, as in environment.py.

import re
from typing import Iterable, List, Optional, Tuple

DATED = r"(?m)^## \[{}\] - (\d{{4}}-\d{{2}}-\d{{2}})$"
# What has to be in each wheel; {version} is that of the release.
WHEELS = {
    "stablerule": (
        "stablerule/py.typed",
        "stablerule/datasets/geography/train.tsv",
        "stablerule/datasets/geography/ATTRIBUTION.md",
        "stablerule/reports/templates/shift/page.css",
        "stablerule-{version}.dist-info/licenses/LICENSE",
    ),
    "stablerule_lab": (
        "stablerule_lab/py.typed",
        "stablerule_lab/pages/templates/page.css",
        "stablerule_lab-{version}.dist-info/licenses/LICENSE",
    ),
}
# What is in neither: caches, hidden files, results of somebody's runs.
UNWANTED = re.compile(r"(^|/)(__pycache__|\.(?!gitignore$)[^/]+|results/(built|cache))(/|$)|\.py[co]$")


def read_version(project: str) -> str:
    """Return the version in a pyproject.toml; empty if there is none."""
    found = re.search(r'(?m)^version = "([^"]+)"$', project)
    return found.group(1) if found else ""


def find_section(changelog: str, version: str) -> Tuple[Optional[str], str]:
    """Return the date and the text of a version's section in the changelog; None if there is no dated section."""
    found = re.search(DATED.format(re.escape(version)), changelog)
    if found is None:
        return None, ""
    return found.group(1), changelog[found.end() :].split("\n## [", maxsplit=1)[0].strip()


def find_faults(library: str, laboratory: str, changelog: str, citation: str) -> List[str]:
    """Say what keeps the files from being released: versions that differ, a changelog without a dated section."""
    version, other = read_version(library), read_version(laboratory)
    if not re.match(r"\d+\.\d+\.\d+$", version):
        return [f"pyproject.toml: expected a version such as 0.2.0, found {version!r}."]
    faults = []
    if other != version:
        faults.append(f"lab/pyproject.toml has version {other}, pyproject.toml {version}. Give both the same.")
    major, minor = version.split(".")[:2]
    needed = f'"stablerule[learn]>={major}.{minor},<{major}.{int(minor) + 1}"'
    if needed not in laboratory:
        faults.append(f"lab/pyproject.toml does not depend on {needed}.")
    date, text = find_section(changelog, version)
    if date is None:
        faults.append(f"CHANGELOG.md has no line '## [{version}] - YYYY-MM-DD'.")
    elif not text:
        faults.append(f"CHANGELOG.md has nothing under [{version}].")
    waiting = changelog.partition("## [Unreleased]")[2].split("\n## [")[0].strip()
    if waiting:
        faults.append(f"CHANGELOG.md has entries under [Unreleased]. Move them to [{version}].")
    for name, expected in (("version", version), ("date-released", date)):
        found = re.search(rf'(?m)^{name}: "?([^"\n]+)"?$', citation)
        if expected and (found is None or found.group(1) != expected):
            faults.append(f"CITATION.cff: {name} is {found.group(1) if found else 'missing'}, expected {expected}.")
    return faults


def find_state_faults(status: str, tags: Iterable[str], version: str) -> List[str]:
    """Say what keeps the checkout from being released: changes that are not committed, a tag that exists."""
    faults = []
    if status.strip():
        first = status.strip().splitlines()[0]
        faults.append(f"There are changes that are not committed, such as '{first}'. Commit or remove them.")
    if f"v{version}" in set(tags):
        faults.append(f"The tag v{version} exists. Raise the version, or remove the tag.")
    return faults


def check_wheel(distribution: str, version: str, names: Iterable[str]) -> List[str]:
    """Say what a wheel lacks, and what does not belong into it."""
    names = list(names)
    faults = [
        f"The wheel of {distribution} lacks {wanted}."
        for wanted in (one.format(version=version) for one in WHEELS[distribution])
        if wanted not in names
    ]
    tops = (f"{distribution}/", f"{distribution}-{version}.dist-info/")
    strange = [name for name in names if not name.startswith(tops) or UNWANTED.search(name)]
    return faults + [f"The wheel of {distribution} has {name}, which does not belong there." for name in strange]


def check_sdist(distribution: str, version: str, names: Iterable[str]) -> List[str]:
    """Say what a source distribution lacks, and what does not belong into it."""
    top = f"{distribution}-{version}/"
    names = [name[len(top) :] for name in names]
    wanted = ("LICENSE", "README.md", "pyproject.toml", "PKG-INFO", f"src/{distribution}/py.typed")
    lacking = [f"The sdist of {distribution} lacks {one}." for one in wanted if one not in names]
    strange = [name for name in names if UNWANTED.search(name)]
    return lacking + [f"The sdist of {distribution} has {name}, which does not belong there." for name in strange]
