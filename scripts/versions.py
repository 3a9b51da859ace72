"""Which packages constraints.txt names: what both distributions depend on, but for torch and its builds."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

OLDEST = "3.11"
HEAD = """\
# The versions that scripts/test, scripts/demo and scripts/docs install, for Python 3.11 to 3.14 on all systems.
# Made by scripts/make_constraints: don't edit. The package itself asks for ranges (pyproject.toml).
# torch is not here: its version names a build (+cpu, +cu130), and an index may lack it. pyproject.toml bounds it.
"""
OWN = {"stablerule", "stablerule-lab"}
# torch, and what its builds for graphics cards bring along: which of them there are depends on the index.
BUILDS = re.compile(r"torch|triton|nvidia-.*|cuda-.*|setuptools")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def collect_requirements(projects: Iterable[str]) -> list[str]:
    """List what projects depend on, extras and build systems included, each requirement once.

    >>> collect_requirements(['[build-system]\\nrequires = ["hatchling"]\\n[project]\\ndependencies = ["numpy>=1"]'])
    ['hatchling', 'numpy>=1']
    """
    found: set[str] = set()
    for text in projects:
        tables = tomllib.loads(text)
        found.update(tables["build-system"]["requires"], tables["project"]["dependencies"])
        for extra in tables["project"].get("optional-dependencies", {}).values():
            found.update(extra)
    return sorted(one for one in found if name_of(one) not in OWN)


def drop_builds(lines: Iterable[str]) -> list[str]:
    """Leave out the packages whose version depends on the build of torch.

    >>> drop_builds(["numpy==2.1", "torch==2.13.0", "nvidia-nccl-cu13==2.0 ; sys_platform == 'linux'", "torch-ppr==1"])
    ['numpy==2.1', 'torch-ppr==1']
    """
    return [line for line in lines if line.strip() and not BUILDS.fullmatch(name_of(line))]


def name_of(requirement: str) -> str:
    """Return the name in a requirement, as an index spells it.

    >>> name_of("Backports.zstd>=1.0; python_version < '3.14'")
    'backports-zstd'
    """
    match = NAME.match(requirement)
    if match is None:
        raise ValueError(f"Not a requirement: {requirement!r}")
    return re.sub(r"[-_.]+", "-", match[0]).lower()
