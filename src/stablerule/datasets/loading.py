"""Load a dataset by name: from a folder of yours, the cache or the network."""

from __future__ import annotations

import http
import http.client
import lzma
import os
import posixpath
import tarfile
import time
import urllib.error
import urllib.request
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from platformdirs import user_cache_path

from stablerule.datasets.catalog import CATALOG, Counts
from stablerule.errors import FetchError, InputError, ReadError, UnknownDataset, WriteError, spell_closest
from stablerule.graph import SPLITS, Dataset
from stablerule.io import read_dataset, write_folder_beside
from stablerule.io.files import find_path_kind
from stablerule.io.reading import read_streams
from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from stablerule.datasets.catalog import Entry

TRIES = 3
SECONDS = 30
CHUNK = 1 << 16
VARIABLE = "STABLERULE_DATA"


def open_dataset(data: str | Path, **options: Any) -> Dataset:
    """Open a known dataset by its name, or a file or folder by its path.

    A plain word is looked up in the catalog first; write `./family` for a folder of that name. The options are those of
    `read_dataset`, for paths only.
    """
    text = str(data)
    if text.lower() in CATALOG and not isinstance(data, Path):
        if options:
            raise InputError(
                f"{text!r} is a known dataset, which takes no options, got {', '.join(options)}. "
                f"For a file of that name, pass ./{text}"
            )
        return replace(load(text), source=text.lower())
    if isinstance(data, Path) or os.sep in text or Path(text).suffix or find_path_kind(Path(text)):
        return replace(read_dataset(data, **options), source=str(Path(data).resolve()), reading=options)
    find_catalog_entry(text)
    raise AssertionError("unreachable: find raises for names that are not in the catalog")


def load(name: str) -> Dataset:
    """Load a known dataset, and check its sizes and facts.

    It is taken from the folder in the environment variable STABLERULE_DATA (NAME.tar.xz or a folder NAME), from the
    user's cache, or downloaded to the cache.

    >>> load("geography").vocabulary.entity_name(0) != ""
    True
    """
    entry = find_catalog_entry(name)
    if entry.embedded:
        return _load_embedded_dataset(entry)
    dataset = _load_dataset_from_your_folder(entry) or _load_dataset_from_cache(entry)
    return dataset if dataset is not None else _download_dataset(entry)


def find_catalog_entry(name: str) -> Entry:
    """Return the catalog entry of a dataset; the error for an unknown name lists the closest ones."""
    entry = CATALOG.get(name.lower())
    if entry is None:
        raise UnknownDataset(
            f"{name!r} is neither a path nor a known dataset.{spell_closest(name.lower(), CATALOG)} "
            "`stablerule data list` shows all of them."
        )
    return entry


def is_dataset_at_hand(name: str) -> bool:
    """Return whether a known dataset is in the package, in your folder or in the cache, so that it needs no download.

    >>> is_dataset_at_hand("geography")
    True
    """
    entry = find_catalog_entry(name)
    places = [find_dataset_cache() / entry.name]
    if own := os.environ.get(VARIABLE):
        places += [Path(own) / f"{entry.name}.tar.xz", Path(own) / entry.name]
    return entry.embedded or any(find_path_kind(place) for place in places)


def find_dataset_cache() -> Path:
    """Return the folder of downloaded datasets."""
    return user_cache_path("stablerule") / "datasets"


def _load_embedded_dataset(entry: Entry) -> Dataset:
    with as_file(files("stablerule.datasets") / entry.name) as folder:
        return _check_against_catalog(read_dataset(folder, name=entry.name, comment=None), entry, str(folder))


def _load_dataset_from_your_folder(entry: Entry) -> Dataset | None:
    place = os.environ.get(VARIABLE)
    if not place:
        return None
    if find_path_kind(Path(place)) != "folder":
        raise ReadError(f"the variable {VARIABLE} must name a folder, and this is not one.", path=place)
    archive, folder = Path(place) / f"{entry.name}.tar.xz", Path(place) / entry.name
    if find_path_kind(archive) == "file":
        return _check_against_catalog(_read_dataset_archive(archive, entry.name), entry, str(archive))
    if find_path_kind(folder) == "folder":
        return _check_against_catalog(read_dataset(folder, name=entry.name, comment=None), entry, str(folder))
    return None


def _load_dataset_from_cache(entry: Entry) -> Dataset | None:
    folder = find_dataset_cache() / entry.name
    if find_path_kind(folder) != "folder":
        return None
    return _check_against_catalog(read_dataset(folder, name=entry.name, comment=None), entry, str(folder))


def _download_dataset(entry: Entry) -> Dataset:
    where = (
        f"Put {entry.name}.tar.xz, or a folder {entry.name} with train.txt, valid.txt and test.txt, into a folder and "
        f"set the variable {VARIABLE} to it; or put the folder {entry.name} into {find_dataset_cache()}."
    )
    if entry.address is None:
        raise FetchError(f"{entry.name} has no public address. {where}")
    target = find_dataset_cache() / entry.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with write_folder_beside(target) as temporary:
            for split, names in entry.files.items():
                for name in names:
                    download_file(f"{entry.address}/{name}", temporary / f"{split}.txt")
            dataset = _read_fetched_dataset(temporary, entry)
            return _check_against_catalog(dataset, entry, entry.address)
    except OSError as error:
        raise FetchError(
            f"{entry.name} can't be saved in {target.parent} ({error.strerror or error}). {where}"
        ) from error
    except (FetchError, InputError, WriteError) as error:
        raise FetchError(f"{error} {where}") from error


def _read_fetched_dataset(folder: Path, entry: Entry) -> Dataset:
    try:
        return read_dataset(folder, name=entry.name, comment=None)
    except ReadError as error:
        # Without the path of the temporary folder, which no longer exists when the message is read.
        line = f", line {error.line:,}" if error.line is not None else ""
        file = Path(error.path).name if error.path else ""
        raise FetchError(
            f"{entry.address}: the download is not {entry.name} ({file}{line}: {error.problem})"
        ) from error


def _read_dataset_archive(path: Path, name: str) -> Dataset:
    try:
        with tarfile.open(path, "r:xz") as archive:
            # `tar -c .` writes ./NAME/train.txt
            members = {posixpath.normpath(member.name): member for member in archive}
            streams = {}
            for split in SPLITS:
                member = archive.extractfile(members[f"{name}/{split}.txt"])
                if member is None:
                    raise ReadError(f"{name}/{split}.txt is not a file.", path=path)
                streams[split] = (f"{path}:{name}/{split}.txt", member)
            return read_streams(streams, name=name)
    except KeyError as error:
        raise ReadError(
            f"expected {name}/train.txt, valid.txt and test.txt; {error.args[0]} is missing.", path=path
        ) from error
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise ReadError(f"damaged archive ({error}). Copy or download it again.", path=path) from error


def _check_against_catalog(dataset: Dataset, entry: Entry, where: str) -> Dataset:
    """Compare a dataset with its catalog entry."""
    found = Counts(
        len(dataset.vocabulary.entities),
        len(dataset.vocabulary.relations),
        *(len(triples) for triples in dataset.splits.values()),
    )
    if found != entry.counts:
        raise InputError(f"{where}: this is not the known {entry.name}: expected {entry.counts}, found {found}.")
    if entry.sha256 and dataset.sha256 != entry.sha256:
        raise InputError(
            f"{where}: the facts differ from those of {entry.name} (sha256 {dataset.sha256[:12]}..., "
            f"expected {entry.sha256[:12]}...). Remove it and load it again, or pass its path to read it as your own "
            "data."
        )
    return dataset


def download_file(address: str, path: Path, *, pause: float = 1.0) -> None:
    """Download a file and append it to `path`; an interrupted transfer is tried again from the start.

    pause: seconds before the second try; twice as many before the third.
    """
    start = path.stat().st_size if path.exists() else 0
    for attempt in range(1, TRIES + 1):
        with path.open("ab") as out:
            out.truncate(start)
            try:
                _download_once(address, out)
            except urllib.error.HTTPError as error:
                # Only temporary problems are tried again: a busy server, or too many requests.
                if (error.code < 500 and error.code != http.HTTPStatus.TOO_MANY_REQUESTS) or attempt == TRIES:
                    raise FetchError(f"{address}: the server answered {error.code} {error.reason}.") from error
            except (OSError, http.client.HTTPException) as error:
                if attempt == TRIES:
                    raise FetchError(f"{address}: {_describe_broken_connection(error)}.") from error
            else:
                return
        time.sleep(pause * attempt)


def _download_once(address: str, out: IO[bytes]) -> None:
    if not address.startswith(("http://", "https://")):
        raise FetchError(f"{address}: not an http address.")
    request = urllib.request.Request(address, headers={"User-Agent": "stablerule"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        length = answer.headers.get("Content-Length")
        total = int(length) if length and length.isdecimal() else None
        done = 0
        with progress_bar(address.rsplit("/", 1)[-1], total, unit="bytes") as advance:
            while chunk := answer.read(CHUNK):
                _write_download_chunk(chunk, out, address)
                done += len(chunk)
                advance(len(chunk))
        # An interrupted connection looks like the end of the file, so the bytes are counted.
        if total is not None and done != total:
            raise http.client.IncompleteRead(b"", total - done)


def _write_download_chunk(chunk: bytes, out: IO[bytes], address: str) -> None:
    """Write and flush a chunk, so that a full disk is not reported as an interrupted connection."""
    try:
        out.write(chunk)
        out.flush()
    except OSError as error:
        raise FetchError(f"{address}: can't be saved: {error.strerror or error}.") from error


def _describe_broken_connection(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return f"the transfer was interrupted, {error.expected:,} bytes are missing"
    return f"no connection ({getattr(error, 'reason', None) or error})"
