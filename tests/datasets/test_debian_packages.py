"""The script that turns apt's lists into triples, on a list of two packages: no test needs apt."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "make_debian"))
facts_of, is_kept, read_stanzas = SCRIPT["facts_of"], SCRIPT["is_kept"], SCRIPT["read_stanzas"]

LIST = """\
Package: 0ad
Version: 0.0.26-3
Maintainer: Debian Games Team <pkg-games-devel@lists.alioth.debian.org>
Architecture: amd64
Depends: 0ad-data (>= 0.0.26), 0ad-data (<= 0.0.26-3), libc6 (>= 2.34) | nothing
Tag: game::strategy, role::program,
 uitoolkit::sdl
Section: games

Package: 0ad-data
Source: 0ad-sources (1.0)
Section: games
Priority: optional
"""


def test_packages_become_triples() -> None:
    packages = list(read_stanzas(LIST.splitlines()))
    names = {package["Package"] for package in packages}
    first, second = (set(facts_of(package, names)) for package in packages)
    assert first == {
        ("0ad", "depends", "0ad-data"),
        ("0ad", "source", "src:0ad"),
        ("0ad", "section", "section:games"),
        ("0ad", "architecture", "arch:amd64"),
        ("0ad", "maintainer", "Debian Games Team"),
        ("0ad", "tag", "game::strategy"),
        ("0ad", "tag", "role::program"),
        ("0ad", "tag", "uitoolkit::sdl"),
    }
    assert second == {
        ("0ad-data", "source", "src:0ad-sources"),
        ("0ad-data", "section", "section:games"),
        ("0ad-data", "priority", "priority:optional"),
    }


def test_about_one_in_so_many_is_kept() -> None:
    kept = sum(is_kept(f"source{i}", 6) for i in range(6000))
    assert 850 < kept < 1150
    assert all(is_kept(f"source{i}", 1) for i in range(10))
