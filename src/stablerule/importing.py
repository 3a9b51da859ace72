"""Import the names of a package when they are first used, so that a program loads only what it needs."""

import sys
from importlib import import_module

TYPE_CHECKING = False  # type checkers take it as true; importing `typing` takes a moment
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def import_when_used(
    package: str, places: "Mapping[str, tuple[str, ...]]"
) -> "tuple[Callable[[str], object], Callable[[], list[str]]]":
    """Return `__getattr__` and `__dir__` for a package.

    places: module of the package, and the names in it. A module is a name, too.

    >>> find, _ = import_when_used("json", {"decoder": ("JSONDecoder",)})
    >>> find("JSONDecoder")
    <class 'json.decoder.JSONDecoder'>
    """
    modules = {name: module for module, names in places.items() for name in names}

    def find(name: str) -> object:
        if name in modules:
            found: object = getattr(import_module(f"{package}.{modules[name]}"), name)
        elif name in places:
            found = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules} - {"TYPE_CHECKING", "import_when_used"})

    return find, names
