"""Output: where commands may write, all or nothing, and amounts and tables as text."""

import errno
import os
import shutil
from contextlib import nullcontext
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from spacy_longtail.output import writing
from spacy_longtail.output.console import number, p_value, percent, signed, text_table, verb
from spacy_longtail.output.targets import check_file, check_folder, has_mark
from spacy_longtail.output.writing import NEW, coded_io, replacing, set_aside, whole_folder, write_file
from tests.util import new_file, tree, write_files


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with a corpus and a project's assets, in a home folder."""
    files = {"corpus/mine/train.spacy": "data", "my.cfg": "[nlp]"}
    folder = write_files(tmp_path / "home" / "work", files)
    for name in ("assets", "training/old"):
        (folder / name).mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


PLACES = {
    **dict.fromkeys(("", "corpus/.."), "it is the working folder"),
    **dict.fromkeys(("corpus/mine/", "link"), "it is corpus/mine"),
    "..": "it is the home folder",
    "../..": "lies in it",
    "/": "it is the root folder",
    "corpus": "corpus/mine lies in it",
    "assets": "it is the folder assets",
    "my.cfg": "it is my.cfg",
}


@pytest.mark.parametrize("target", PLACES)
def test_protected_folders_are_refused_as_outputs(target, here):
    (here / "link").symlink_to(here / "corpus" / "mine")
    before = tree(here)
    with pytest.raises(ValueError, match=rf"L436.*{PLACES[target]}"):
        check_folder(Path(target), [Path("my.cfg"), Path("corpus/mine")])
    assert tree(here) == before


def test_a_user_without_a_home_folder_can_write(here, homeless):
    check_folder(Path("new"), [Path("my.cfg")])
    with pytest.raises(ValueError, match=r"L436.*working folder"):
        check_folder(Path(), [Path("my.cfg")])


@pytest.mark.parametrize("target", ["new", "a/b/c", "training/new", "corpus/other", "training/old"])
def test_other_places_are_fine(target, here):
    inputs = [Path("my.cfg"), Path("corpus/mine")]
    check_folder(Path(target), inputs, lambda _: "it is not empty")


def test_a_folder_with_foreign_things_stays(here):
    new_file(here / "training" / "old" / "thesis.txt", "x")
    with pytest.raises(ValueError, match=r"L437.*training/old would be replaced, but it holds thesis"):
        check_folder(Path("training/old"), foreign=lambda path: f"it holds {next(path.iterdir()).stem}")
    check_folder(Path("training/old"), foreign=lambda _: "")


@pytest.mark.parametrize(
    ("check", "place", "message"),
    [
        (check_folder, "my.cfg", r"L436.*my\.cfg.*not a folder"),
        (check_folder, "a\0b", r"L432.*null"),
        (check_folder, "my.cfg/below", r"L432.*my\.cfg.*not a folder"),
        (check_file, "round/x.json", "L432"),
        (check_file, "training", r"L436.*it is a folder"),
        (check_file, os.devnull, r"L436.*not an ordinary file"),
        (partial(check_file, inputs=[Path("my.cfg")]), "my.cfg", r"L436.*it is my\.cfg"),
        (partial(check_file, mark="made by us"), "notes.txt", r"L437.*notes\.txt.*something else"),
    ],
)
def test_what_cannot_be_written_is_refused(check, place, message, here):
    new_file(here / "notes.txt", "mine")
    (here / "round").symlink_to(here / "round")
    with pytest.raises(ValueError, match=message):
        check(Path(place))


@pytest.mark.parametrize("name", ["own.json", "begins.json", "empty.json", "new.json", "new/new.json"])
def test_a_file_with_the_mark_is_overwritten(name, here):
    marked = {"own.json": "x" * 200_000 + "made by us", "begins.json": "made by us" + "x" * 200_000}
    write_files(here, {**marked, "empty.json": "", "notes.txt": "mine"})
    check_file(Path(name), mark="made by us")
    assert not has_mark(here / "notes.txt", "made by us")


def test_a_file_is_written_whole_or_not_at_all(here, monkeypatch):
    for content, written in (("ä \ud800", "ä ?".encode()), (b"\xff", b"\xff")):
        write_file(Path("a/b.txt"), content)
        assert (here / "a" / "b.txt").read_bytes() == written
    (here / "link.txt").symlink_to(here / "a" / "b.txt")
    write_file(Path("link.txt"), "through")
    assert (here / "link.txt").is_symlink() and (here / "a" / "b.txt").read_text() == "through"

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    before = tree(here)
    with pytest.raises(ValueError, match=r"L432.*No space left"):
        write_file(Path("a/b.txt"), "new")
    assert tree(here) == before


def model(folder, text):
    new_file(folder / "model-best" / "weights", text)


def test_a_folder_takes_the_place_of_another(here):
    target = Path("training/main/run")
    for text in ("one", "two"):
        with whole_folder(target) as new:
            model(new, text)
        assert (target / "model-best" / "weights").read_text() == text
    (here / "empty").mkdir()
    with whole_folder(Path("empty")) as new:
        model(new, "three")
    assert (here / "empty" / "model-best").is_dir()
    assert not [path for path in here.rglob("*") if path.name.startswith(NEW)]


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(), SystemExit(1)])
def test_an_error_leaves_the_old_folder(error, here):
    model(here / "run", "old")
    before = tree(here)

    def new_file():
        with whole_folder(Path("run")) as new:
            model(new, "new")
            raise error

    with pytest.raises(type(error)):
        new_file()
    assert tree(here) == before


@pytest.mark.parametrize("write", [whole_folder, replacing])
@pytest.mark.parametrize("n_before", range(5))
def test_failing_renames_are_undone(n_before, write, here, monkeypatch):
    write_files(here / "run", {"a": "old", "b": "old"})
    before = tree(here)
    real, n_moves = os.replace, count()

    def replace(here, there):
        if next(n_moves) == n_before:
            raise OSError(errno.ENOSPC, "No space left")
        real(here, there)

    monkeypatch.setattr(os, "replace", replace)
    n_needed = 2 if write is whole_folder else 4  # a folder, or its two entries, are moved away and in
    fails = (
        pytest.raises(ValueError, match=r"L432.*No space left") if n_before < n_needed else nullcontext()
    )
    with fails, write(Path("run")) as new:
        write_files(new, {"a": "new", "b": "new"})
    changed = {**before, Path("run/a"): b"new", Path("run/b"): b"new"}
    if write is whole_folder:
        shutil.rmtree(here / "run.stopped", ignore_errors=True)
    assert tree(here) == (before if n_before < n_needed else changed)


def test_a_folder_that_cannot_be_moved_to_its_place_is_kept_beside_it(here, monkeypatch):
    def busy(*_):
        raise OSError(errno.EBUSY, "busy")

    monkeypatch.setattr(os, "replace", busy)
    with (
        pytest.raises(ValueError, match=r"L432\] out cannot.*busy.*is kept in .*out\.stopped\."),
        whole_folder(Path("out")) as new,
    ):
        model(new, "trained for days")
    assert (here / "out.stopped" / "model-best" / "weights").read_text() == "trained for days"
    assert not [path for path in here.iterdir() if path.name.startswith(NEW)]


def test_a_mount_point_is_refused_before_the_work(here, monkeypatch):
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == here / "out")
    with pytest.raises(ValueError, match=r"L436.*mount point"), whole_folder(Path("out")):
        pytest.fail("worked")


@pytest.mark.parametrize("write", [whole_folder, replacing])
def test_an_error_without_a_file_name_names_the_target(write, here):
    message = r"L432.* training/run cannot.*No space left"
    with pytest.raises(ValueError, match=message), write(Path("training/run")):
        raise OSError(errno.ENOSPC, "No space left")


@pytest.mark.parametrize(
    "error",
    [
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
        OSError("Can't load the model 'x'"),
    ],
)
def test_errors_that_are_not_of_the_disk_keep_their_kind(error, here):
    with pytest.raises(type(error)) as raised, coded_io(Path("run")):
        raise error
    assert raised.value is error


def test_leftovers_of_a_killed_run_are_named(here):
    with whole_folder(Path("run")) as new:
        left = new.parents[1].name
    for name in (left, f"{NEW}other-a1b2_c3d", f"{NEW}run-b-a1b2_c3d"):
        (here / name).mkdir()
    with pytest.warns(UserWarning, match=rf"LW034.* contains {left}, left"), whole_folder(Path("run")):
        pass
    assert (here / left).is_dir()


def test_unfinished_results_are_kept_beside_the_target(here):
    for expected in ("run.stopped", "run.stopped-2", "run.stopped-3"):
        with whole_folder(Path("aside")) as new:
            folder = new / "run"
            model(folder, expected)
            assert set_aside(folder, Path("run")) == here / expected
        assert (here / expected / "model-best" / "weights").read_text() == expected
    assert not (here / "run").exists()


# amounts and tables


def test_numbers_agree_with_their_nouns():
    entity = ("entity", "entities")
    assert [number(n, *entity) for n in (0, 1, 2000)] == ["0 entities", "1 entity", "2,000 entities"]
    assert [number(n, "minute") for n in (1.0, 0.5)] == ["1 minute", "0.5 minutes"]
    assert [verb(1, word) for word in ("have", "are", "occur")] == ["has", "is", "occurs"]
    assert (percent(0.12345), percent(None)) == ("12.3", "–")
    assert [signed(x) for x in (1.26, -1.26, -0.01, None)] == ["+1.3", "−1.3", "0.0", "–"]
    assert [p_value(p, sign="= ") for p in (0.0001, 0.0123)] == ["< 0.001", "= 0.012"]


@pytest.mark.parametrize(
    ("aligns", "lines"),
    [
        ("", ["type      n", "----   ----", "ship      7", "a      1200"]),
        ("rl", ["type   n", "----   ----", "ship   7", "   a   1200"]),
    ],
)
def test_columns_are_aligned(aligns, lines):
    table = text_table(("type", "n"), [("ship", 7), ("a", 1200)], aligns)
    assert [line.rstrip() for line in table.strip("\n").split("\n")] == lines
    # wasabi keeps what is wider than 30 characters apart
    wide = text_table(("name", "n"), [("x" * 50, 1), ("y", 22)], aligns).strip("\n").splitlines()
    assert len({len(line) for line in wide[1:3]}) == 1
