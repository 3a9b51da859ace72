"""Known graphs from a folder, from the cache, and from a server on this machine."""

from __future__ import annotations

import http.server
import io
import resource
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stablerule import Dataset, load, open_dataset
from stablerule.datasets import CATALOG, Counts, Entry, loading
from stablerule.datasets.loading import download_file
from stablerule.errors import FetchError, InputError, ReadError, UnknownDataset

FILES = {
    "facts.txt": b"a\tr\tb\n",
    "train.txt": b"b\tr\tc\n#c\tr\td\n",
    "valid.txt": b"a\tr\tc\n",
    "test.txt": b"a\tr\td\n",
}
FACTS = Dataset.from_names(
    "tiny",
    train=[("a", "r", "b"), ("b", "r", "c"), ("#c", "r", "d")],
    valid=[("a", "r", "c")],
    test=[("a", "r", "d")],
)
COUNTS = Counts(5, 1, 3, 1, 1)


class Server(http.server.BaseHTTPRequestHandler):
    """Serves FILES; `faults` says what goes wrong, and for how many more requests."""

    faults: dict[str, int]
    asked: list[str]

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        type(self).asked.append(name)
        body = FILES.get(name)
        if body is None or self.path.startswith("/gone/"):
            self.send_error(404)
            return
        for fault in ("cut", "busy", "too often", "other", "broken", "odd length"):
            if type(self).faults.get(fault, 0):
                type(self).faults[fault] -= 1
                break
        else:
            fault = ""
        if fault in ("busy", "too often"):
            self.send_error(503 if fault == "busy" else 429)
            return
        sent = {"cut": body[:-3], "other": b"X" + body[1:], "broken": b"<html>\n" + body}.get(fault, body)
        self.send_response(200)
        self.send_header(
            "Content-Length", "abc" if fault == "odd length" else str(len(body if fault == "cut" else sent))
        )
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Server.faults, Server.asked = {}, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture(autouse=True)
def no_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the folders of this machine nor waiting play a part."""
    monkeypatch.delenv("STABLERULE_DATA", raising=False)
    monkeypatch.setattr(loading, "find_dataset_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr("stablerule.datasets.loading.time.sleep", lambda _: None)


def register(
    monkeypatch: pytest.MonkeyPatch,
    address: str | None,
    *,
    counts: Counts = COUNTS,
    sha256: str | None = FACTS.sha256,
) -> None:
    files = {"train": ("facts.txt", "train.txt"), "valid": ("valid.txt",), "test": ("test.txt",)}
    monkeypatch.setitem(CATALOG, "tiny", Entry("tiny", "", counts, "", address, sha256, files=files))


def test_a_download_is_verified_cached_and_used_again(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, server)
    assert load("tiny").sha256 == FACTS.sha256
    assert Server.asked == ["facts.txt", "train.txt", "valid.txt", "test.txt"]
    assert load("TINY").sha256 == FACTS.sha256
    assert len(Server.asked) == 4


@pytest.mark.parametrize("fault", ["cut", "busy", "too often", "odd length"])
def test_a_transfer_that_breaks_once_is_tried_again(server: str, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    register(monkeypatch, server)
    Server.faults = {fault: 2}
    assert load("tiny").sha256 == FACTS.sha256


@pytest.mark.parametrize(
    ("fault", "problem"), [("cut", "the transfer was interrupted, 3 bytes are missing"), ("busy", "answered 503")]
)
def test_a_transfer_that_keeps_breaking_leaves_nothing(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str, problem: str
) -> None:
    register(monkeypatch, server)
    Server.faults = {fault: 99}
    with pytest.raises(FetchError, match=problem):
        load("tiny")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_missing_file_is_not_tried_again(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(monkeypatch, f"{server}/gone")
    with pytest.raises(FetchError, match=r"answered 404 Not Found.*Put tiny.tar.xz.*STABLERULE_DATA"):
        load("tiny")
    assert len(Server.asked) == 1
    assert list((tmp_path / "cache").iterdir()) == []


def test_other_facts_than_expected_are_refused(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(monkeypatch, server, counts=Counts(6, 1, 3, 1, 1))
    Server.faults = {"other": 1}
    with pytest.raises(FetchError, match=r"the facts differ from those of tiny \(sha256.*Put tiny.tar.xz"):
        load("tiny")
    assert list((tmp_path / "cache").iterdir()) == []
    register(monkeypatch, server, counts=Counts(9, 1, 3, 1, 1))
    with pytest.raises(FetchError, match=r"expected Counts\(entities=9.*found Counts\(entities=5.*Put tiny.tar.xz"):
        load("tiny")


def test_what_is_no_table_is_refused_by_its_address(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, server)
    Server.faults = {"broken": 1}
    with pytest.raises(
        FetchError, match=r"the download is not tiny \(train.txt, line 1: expected 3 col.*Put tiny.tar.xz"
    ) as caught:
        load("tiny")
    assert str(tmp_path / "cache" / ".tiny") not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_full_disk_is_not_called_a_missing_connection(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, server)
    monkeypatch.setitem(FILES, "facts.txt", FILES["facts.txt"] * 30_000)  # more than what is buffered
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    try:
        with pytest.raises(FetchError, match=r"facts.txt: can't be saved: File too large.*Put tiny.tar.xz"):
            load("tiny")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(Server.asked) == 1
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_that_can_not_be_written(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(monkeypatch, server)
    (tmp_path / "cache").write_text("a file in its place")
    with pytest.raises(FetchError, match=r"tiny can't be saved in .*cache \(File exists\). Put tiny.tar.xz"):
        load("tiny")
    (tmp_path / "cache").unlink()
    (tmp_path / "cache").mkdir()

    made = Path.mkdir

    def denied(folder: Path, *words: Any, **options: Any) -> None:
        if folder.name.startswith("."):  # a hidden one, to write into
            raise PermissionError(13, "Permission denied")
        made(folder, *words, **options)

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(FetchError, match=r"can't be written: Permission denied. Put tiny.tar.xz"):
        load("tiny")


@pytest.mark.parametrize("place", ["cache", "yours"])
def test_a_folder_that_can_not_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str) -> None:
    register(monkeypatch, None)
    if place == "yours":
        monkeypatch.setenv("STABLERULE_DATA", str(tmp_path))

    def denied(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", denied)
    with pytest.raises(ReadError, match="can't be read: Permission denied"):
        load("tiny")


def test_no_network_says_where_to_put_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(FetchError, match=r"no connection.*Put tiny.tar.xz, or a folder tiny with train.txt"):
        load("tiny")
    register(monkeypatch, None)
    with pytest.raises(FetchError, match=r"no public address. Put tiny.tar.xz"):
        load("tiny")


def test_only_http_addresses_are_fetched(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="not an http address"):
        download_file("file:///etc/hostname", tmp_path / "x")


def archive(path: Path, name: str, files: dict[str, bytes]) -> None:
    """Write members such as NAME/train.txt."""
    with tarfile.open(path, "w:xz") as out:
        for file, text in files.items():
            info = tarfile.TarInfo(f"{name}/{file}")
            info.size = len(text)
            out.addfile(info, io.BytesIO(text))


JOINED = {"train.txt": FILES["facts.txt"] + FILES["train.txt"], **{f: FILES[f] for f in ("valid.txt", "test.txt")}}


def test_your_folder_comes_first_as_archive_or_as_folder(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, server)
    monkeypatch.setenv("STABLERULE_DATA", str(tmp_path))
    (tmp_path / "tiny").mkdir()
    for name, text in JOINED.items():
        (tmp_path / "tiny" / name).write_bytes(text)
    assert load("tiny").sha256 == FACTS.sha256
    archive(tmp_path / "tiny.tar.xz", "tiny", JOINED)
    assert load("tiny").sha256 == FACTS.sha256
    assert Server.asked == []
    (tmp_path / "tiny.tar.xz").unlink()
    (tmp_path / "tiny" / "test.txt").write_bytes(b"a\tr\tc\n")
    with pytest.raises(InputError, match=r"tiny: the facts differ"):
        load("tiny")


def test_an_archive_of_the_folder_above_is_read_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(monkeypatch, None)
    monkeypatch.setenv("STABLERULE_DATA", str(tmp_path))
    archive(tmp_path / "tiny.tar.xz", "./tiny", JOINED)
    assert load("tiny").sha256 == FACTS.sha256


def test_archives_that_are_damaged_or_hold_something_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(monkeypatch, None)
    monkeypatch.setenv("STABLERULE_DATA", str(tmp_path))
    path = tmp_path / "tiny.tar.xz"
    archive(path, "other", JOINED)
    with pytest.raises(ReadError, match=r"expected tiny/train.txt, valid.txt and test.txt;"):
        load("tiny")
    archive(path, "tiny", JOINED)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReadError, match="damaged archive"):
        load("tiny")


def test_the_variable_must_name_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    register(monkeypatch, None)
    monkeypatch.setenv("STABLERULE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ReadError, match="STABLERULE_DATA must name a folder"):
        load("tiny")


def test_names_paths_and_what_is_neither(tmp_path: Path) -> None:
    (tmp_path / "geography.tsv").write_text("a\tr\tb\n")
    assert open_dataset("geography").name == "geography"
    assert len(open_dataset(str(tmp_path / "geography.tsv")).train) == 1
    assert len(open_dataset(tmp_path / "geography.tsv", header=False).train) == 1
    with pytest.raises(UnknownDataset, match=r"'famly' is neither a path nor a known dataset. Closest: 'family'"):
        open_dataset("famly")
    with pytest.raises(ReadError, match="no such file or folder"):
        open_dataset("no/such/place")
    with pytest.raises(InputError, match="which takes no options, got header"):
        open_dataset("geography", header=True)
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(ReadError, match="can't be read"):
            open_dataset(name)


def test_the_catalog_is_complete() -> None:
    grail = {f"{g}_v{v}{i}" for g in ("fb237", "wn18rr") for v in range(1, 5) for i in ("", "_ind")}
    named = {"family", "kinship", "umls", "wn18rr", "fb15k-237", "fb15k", "yago3-10", "yago3-10-quarter"}
    assert set(CATALOG) == grail | named | {"acl-biblio", "nations", "countries", "geography"}
    for name, entry in CATALOG.items():
        assert name == entry.name == name.lower()
        assert entry.licence
        assert min(vars(entry.counts).values()) > 0
