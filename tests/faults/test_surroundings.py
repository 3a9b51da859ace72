"""What surrounds a command may be broken: disks, folders, pipes, locales, names, other processes."""

from __future__ import annotations

import csv
import os
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import Result

from stablerule import Dataset, load_model, read_dataset, save_graph, write_dataset, write_triples
from stablerule.datasets import households
from stablerule.errors import ReadError, StableRuleError, WriteError
from stablerule.io.files import WRITERS
from stablerule.learning import Tabular
from tests.terminal import fails, program, run

WORLD = households(families=2, seed=0).dataset
ODD = [
    "\x1b[31mred",
    "[bold]x[/bold]",
    "a\nb",
    "[/]",
    "\u202elive",
    ":smile:",
    "\\",
    "x\x07",
    '"q"',
    "?",
    "\x9b1m",
    "--help",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a model and queries."""
    place = tmp_path_factory.mktemp("place")
    write_dataset(WORLD, place / "data")
    model = Tabular(max_length=1).fit(WORLD.graph, WORLD.valid)
    model.save(place / "model", source=str(place / "data"))
    rows = WORLD.frame("test").head(20).rows()
    (place / "queries.tsv").write_text("".join(f"{row[0]}\t{row[1]}\t?\n" for row in rows))
    return place


def writers(place: Path, output: Path) -> dict[str, tuple[str | Path, ...]]:
    """Return a command for each kind of output, whose name begins with `output`."""
    data, model = place / "data", place / "model"
    return {
        "folder of data": ("data", "convert", data, f"{output}-data", "--overwrite"),
        "split": ("split", data, "-o", f"{output}-split", "--kind", "inductive", "--overwrite"),
        "model": ("learn", data, "-o", f"{output}-model", "--method", "tabular", "--max-length", "1", "--overwrite"),
        "JSON": ("evaluate", model, data, "--json", f"{output}.json"),
        "answers": ("ask", model, "--queries", place / "queries.tsv", "-o", f"{output}.tsv", "--overwrite"),
        "new facts": ("complete", model, "-o", f"{output}-new.tsv", "--overwrite"),
    }


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Let no file grow over a size, as if the disk were full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("kind", ["folder of data", "split", "model", "JSON", "answers", "new facts"])
def test_a_full_disk_leaves_what_was_there(place: Path, tmp_path: Path, kind: str) -> None:
    words = writers(place, tmp_path / "out")[kind]
    assert run(*words).exit_code == 0
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with disk_of(100):
        result = run(*words)
    assert isinstance(result.exception, WriteError), result.output
    assert "can't be written: File too large" in str(result.exception)
    left = [path for path in tmp_path.iterdir() if path.suffix == ".partial"]  # of `complete`: goes on from there
    for path in left:
        shutil.rmtree(path)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A folder that takes no new files, not even of root."""
    if os.geteuid() != 0:
        folder = tmp_path / "closed"
        folder.mkdir()
        folder.chmod(0o500)
        return folder
    if not Path("/sys/kernel").is_dir():
        pytest.skip("root may write into every folder here")
    return Path("/sys/kernel")


def test_a_folder_that_can_not_be_written_is_told_before_the_work(place: Path, closed: Path) -> None:
    for kind, words in writers(place, closed / "out").items():
        assert "can't be written" in fails(*words), kind


def shell(command: str, place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, in which $R is the program."""
    names = {"R": " ".join(f"'{word}'" for word in program())} | environment
    line = command.replace("$R", names.pop("R"))
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        env=os.environ | names,
    )


@pytest.mark.slow
def test_a_reader_that_goes_ends_it_quietly(place: Path) -> None:
    gone = shell("$R rules model --format tsv | exec true", place)
    assert (gone.returncode, gone.stderr) == (141, "")


@pytest.mark.slow
def test_streams_that_are_closed_from_the_beginning(place: Path) -> None:
    """What is opened next must not get their numbers, and with them what is printed."""
    ended = shell("$R data convert data copy --overwrite >&- 2>&- <&-; echo $?", place)
    assert (ended.stdout, ended.stderr) == ("0\n", "")
    assert read_dataset(place / "copy").sha256 == read_dataset(place / "data").sha256


@pytest.mark.slow
def test_standard_output_without_room(place: Path) -> None:
    full = shell("$R data stats data --json > /dev/full", place)
    assert full.returncode == 2
    assert full.stderr.splitlines() == ["Error: No space left on device."]


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.slow
def test_a_locale_without_letters_and_file_names_that_are_no_text(tmp_path: Path) -> None:
    facts = [("Köln", "liegt in", "Ödland"), ("Bonn", "liegt in", "Ödland"), ("Köln", "größer", "Bonn")]
    frame = Dataset.from_names("g", train=facts).frame("train")
    names = [os.fsdecode(b"St\xe4dte.parquet"), os.fsdecode(b"St\xe4dte.tsv"), "Städte.csv.gz"]
    for name in names:
        write_triples(frame, tmp_path / name)
        assert read_dataset(tmp_path / name).frame("train").rows() == frame.rows()
    done = shell(
        "$R data stats St$'\\xe4'dte.parquet && $R data stats Städte.csv.gz; $R ask no Köln", tmp_path, **ASCII
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stdout.count("gr\\xf6\\xdfer") == 2


def shown(result: Result) -> str:
    """What a command printed; it must have nothing in it that a terminal obeys."""
    assert result.exception is None or isinstance(result.exception, StableRuleError | SystemExit), result.exception
    obeyed = {sign for sign in result.output if sign not in "\n\t" and (ord(sign) < 32 or 126 < ord(sign) < 160)}
    assert obeyed == set()
    assert "\u202e" not in result.output
    return result.output


def test_names_that_a_terminal_would_obey(tmp_path: Path) -> None:
    relations = ["\x1b[32mrel", "[red]r", "a\nr"]
    rows = [(h, relations[(i * j) % 3], t) for i, h in enumerate(ODD) for j, t in enumerate(ODD) if (i + 2 * j) % 3]
    data, model = tmp_path / "odd.csv", tmp_path / "model"
    with data.open("w", newline="") as file:
        csv.writer(file).writerows([("head", "relation", "tail"), *rows])
    assert sorted(read_dataset(data).frame("train").rows()) == sorted(rows)
    shown(run("learn", data, "-o", model, "--method", "tabular", "--max-length", "2"))
    head, relation, tail = rows[0]
    for words in (
        ("data", "stats", data),
        ("data", "check", data),
        ("rules", model),
        ("ask", model, "--explain", "--", head, relation),
        ("explain", model, "--", head, relation, tail),
        ("evaluate", model, data, "--split", "train"),
    ):
        assert len(shown(run(*words)).splitlines()) > 1, words
    assert "'a\\nb' contains a tab or a line break" in fails("complete", model, "-o", tmp_path / "new.tsv").replace(
        "\\\\", "\\"
    )
    for suffix in (".parquet", ".jsonl", ".nt"):
        assert run("complete", model, "-o", tmp_path / f"new{suffix}", "--domain", "all").exit_code == 0


@pytest.mark.parametrize("rows", [[("a", "r", "b")], [("a", "r", "a")], [("R" * 100_000, "r" * 100_000, "b")]])
def test_the_smallest_graphs_and_the_longest_names(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    data, model = tmp_path / "facts.tsv", tmp_path / "model"
    data.write_text("".join("\t".join(row) + "\n" for row in rows))
    head, relation, tail = rows[0]
    (tmp_path / "queries.tsv").write_text(f"{head}\t{relation}\t?\n")
    assert run("learn", data, "-o", model, "--method", "tabular").exit_code == 0
    for words in (
        ("data", "stats", data),
        ("data", "check", data),
        ("rules", model),
        ("ask", model, head, relation, "--explain"),
        ("ask", model, f"{head}x", relation),
        ("ask", model, head, f"{relation}x"),
        ("ask", model, "--queries", tmp_path / "queries.tsv"),
        ("explain", model, head, relation, tail),
        ("complete", model, "-o", tmp_path / "new.tsv"),
        ("evaluate", model, data, "--split", "train"),
        ("evaluate", model, data),
        ("shift", model, "--queries", tmp_path / "queries.tsv"),
        ("split", data, "-o", tmp_path / "split", "--kind", "random"),
    ):
        shown(run(*words))


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf\n\n", b"head\trelation\ttail\n# nothing\n"])
def test_a_graph_without_facts(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "facts.tsv").write_bytes(data)
    for words in (("data", "stats"), ("learn", "-o", tmp_path / "model"), ("data", "check")):
        assert "no triples" in fails(*words, tmp_path / "facts.tsv")
    assert os.listdir(tmp_path) == ["facts.tsv"]


@pytest.mark.slow
def test_very_many_relations(tmp_path: Path) -> None:
    rows = [(f"e{i % 500}", f"r{i}", f"e{i * 7 % 500}") for i in range(100_000)]
    dataset = Dataset.from_names("many", train=rows)
    write_triples(dataset.frame("train"), tmp_path / "facts.parquet")
    save_graph(read_dataset(tmp_path / "facts.parquet").graph, tmp_path / "graph")
    assert "100,000" in run("data", "stats", tmp_path / "facts.parquet").output
    assert len(fails("ask", tmp_path / "facts.parquet", "e1", "r1").splitlines()) < 5


@pytest.mark.parametrize("suffix", sorted(WRITERS))
def test_a_compression_bomb_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr("stablerule.io.files.BOMB_BYTES", 1 << 20)
    for name, text in (("line", bytes(4 << 20)), ("facts", b"a\tr\tb\n" * (1 << 20))):
        path = tmp_path / f"{name}.tsv{suffix}"
        with WRITERS[suffix](path, "wb") as out:
            out.write(text)
        for read in (read_dataset, lambda path: run("rules", path).exception and fails("rules", path)):
            problem = ""
            try:
                problem = str(read(path))
            except ReadError as error:
                problem = str(error)
            assert "expands to more than 500 times its size" in problem


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stablerule.io.text.LONGEST_LINE", 4 << 20)
    monkeypatch.setattr("stablerule.io.tables.TableReader.block_bytes", 1 << 20)
    (tmp_path / "facts.tsv").write_bytes(b"a\tr\tb\n" + b"x" * (6 << 20))
    with pytest.raises(ReadError, match="line 2: a line of more than 4 MB; this is not a list of names"):
        read_dataset(tmp_path / "facts.tsv")


def test_queries_and_labels_from_a_device_without_end(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stablerule.io.text.LONGEST_LINE", 1 << 20)
    endless, model = Path("/dev/zero"), place / "model"
    for words in (
        ("ask", model, "--queries", endless),
        ("shift", model, "--queries", endless),
        ("evaluate", model, place / "data", "--groups", endless),
    ):
        assert "/dev/zero, line 1: a line of more than 1 MB; this is not a list of names." in fails(*words), words


@pytest.mark.slow
def test_two_processes_that_write_the_same(tmp_path: Path) -> None:
    """Whoever is last wins; at every moment there is one whole result, and nothing is left over."""
    code = """
import sys
from pathlib import Path
from stablerule.io import write_beside
from stablerule.io.folders import write_folder_beside
for i in range(150):
    with write_beside(Path("file")) as temporary:
        temporary.write_text(sys.argv[1] * 1000)
    with write_folder_beside(Path("folder"), overwrite=True) as temporary:
        for name in ("model.json", "rules.json"):
            (temporary / name).write_text(sys.argv[1] * 1000)
"""
    writing = [subprocess.Popen([sys.executable, "-c", code, mark], cwd=tmp_path) for mark in "ab"]
    seen = set()
    while any(process.poll() is None for process in writing):
        for name in ("file", "folder/model.json"):
            if (tmp_path / name).exists():
                seen.add((tmp_path / name).read_text())
    assert [process.returncode for process in writing] == [0, 0]
    assert seen <= {"a" * 1000, "b" * 1000}
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    assert len({file.read_text() for file in (tmp_path / "folder").iterdir()}) == 1


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    path, stop = tmp_path / "facts.tsv", threading.Event()
    whole = b"".join(b"e%d\tr\te%d\n" % (i, i * 7 % 900) for i in range(3000))
    path.write_bytes(whole)

    def change() -> None:
        cut = 0
        while not stop.is_set():
            cut = (cut + 7919) % len(whole)
            with path.open("r+b") as file:
                file.truncate(cut)
                file.seek(cut)
                file.write(whole[cut:])

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(40):
            try:
                assert 0 < len(read_dataset(path).train) <= 3000
            except ReadError:
                continue
    finally:
        stop.set()
        changing.join()
    assert len(read_dataset(path).train) == 3000


@pytest.mark.slow
def test_a_model_that_is_replaced_while_it_is_loaded(place: Path, tmp_path: Path) -> None:
    """A reader sees the old or the new one; a mixture of both is an error, never an answer."""
    model, stop = tmp_path / "model", threading.Event()
    shutil.copytree(place / "model", model)
    loaded = load_model(model)

    def save() -> None:
        while not stop.is_set():
            loaded.save(model, overwrite=True)

    saving = threading.Thread(target=save)
    saving.start()
    try:
        for _ in range(20):
            try:
                assert load_model(model).rules == loaded.rules
            except ReadError:
                continue
    finally:
        stop.set()
        saving.join()
    assert load_model(model).rules == loaded.rules
