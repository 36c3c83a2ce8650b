"""Reading below one folder and nowhere else."""

import os
from pathlib import Path

import pytest

from openprogram.agent.read_only_folder import MAX_ENTRIES, MAX_FILE_BYTES, PathRefused, ReadOnlyFolder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("hé\n", encoding="utf-8")
    (root / "sub" / "b.txt").write_text("b")
    (tmp_path / "secret.txt").write_text("secret")
    return root


def test_text_files_below_the_folder_are_read(root: Path) -> None:
    folder = ReadOnlyFolder(root)
    assert folder.read_text_file("a.txt") == "hé\n"
    assert folder.read_text_file("./sub/b.txt") == "b"


def test_a_folder_is_listed_sorted_with_a_slash_after_folders(root: Path) -> None:
    (root / "link").symlink_to(root / "sub")
    folder = ReadOnlyFolder(root)
    assert folder.list_files() == "a.txt\nlink\nsub/"
    assert folder.list_files("sub") == "b.txt"


@pytest.mark.parametrize("path", ["../secret.txt", "sub/../../secret.txt", "/etc/passwd", "sub/../a.txt", ".."])
def test_paths_that_lead_out_are_refused(root: Path, path: str) -> None:
    folder = ReadOnlyFolder(root)
    for read in (folder.read_text_file, folder.list_files):
        with pytest.raises(PathRefused) as refused:
            read(path)
        assert refused.value.path == path
        assert "leads out" in refused.value.reason


def test_symbolic_links_are_not_followed_wherever_they_lead(root: Path) -> None:
    (root / "out").symlink_to(root.parent)
    (root / "in").symlink_to(root / "sub")
    (root / "file").symlink_to(root / "a.txt")
    folder = ReadOnlyFolder(root)
    for path in ("out/secret.txt", "in/b.txt", "file"):
        with pytest.raises(PathRefused, match="link"):
            folder.read_text_file(path)
    for path in ("out", "in"):
        with pytest.raises(PathRefused, match="link"):
            folder.list_files(path)


@pytest.mark.parametrize("path", ["missing.txt", "a.txt/b", "missing/a.txt", "nul\0", "\ud800"])
def test_what_is_not_there_is_said_to_be_missing(root: Path, path: str) -> None:
    with pytest.raises(PathRefused, match="is not there"):
        ReadOnlyFolder(root).read_text_file(path)


def test_folders_and_files_are_not_taken_for_each_other(root: Path) -> None:
    folder = ReadOnlyFolder(root)
    with pytest.raises(PathRefused, match="is not a file"):
        folder.read_text_file("sub")
    with pytest.raises(PathRefused, match="is not a folder"):
        folder.list_files("a.txt")


def test_a_named_pipe_is_refused_without_waiting_for_a_writer(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(PathRefused, match="is not a file"):
        ReadOnlyFolder(root).read_text_file("pipe")


def test_only_text_is_read(root: Path) -> None:
    (root / "latin").write_bytes(b"\xe9")
    (root / "zero").write_bytes(b"a\0b")
    for path in ("latin", "zero"):
        with pytest.raises(PathRefused, match="text file"):
            ReadOnlyFolder(root).read_text_file(path)


def test_the_size_of_a_file_is_bounded(root: Path) -> None:
    (root / "large").write_bytes(b"a" * MAX_FILE_BYTES)
    assert len(ReadOnlyFolder(root).read_text_file("large")) == MAX_FILE_BYTES
    (root / "large").write_bytes(b"a" * (MAX_FILE_BYTES + 1))
    with pytest.raises(PathRefused, match=f"has {MAX_FILE_BYTES + 1} bytes"):
        ReadOnlyFolder(root).read_text_file("large")


def test_a_long_listing_is_cut_and_says_so(root: Path) -> None:
    for number in range(MAX_ENTRIES):
        (root / "sub" / f"{number:04}").touch()
    listing = ReadOnlyFolder(root).list_files("sub").split("\n")
    assert len(listing) == MAX_ENTRIES + 1
    assert listing[-1] == "(1 more)"


def test_no_error_tells_where_the_folder_stands(root: Path) -> None:
    folder = ReadOnlyFolder(root)
    for path in ("missing", "..", "sub"):
        with pytest.raises(PathRefused) as refused:
            folder.read_text_file(path)
        assert str(root) not in str(refused.value)


def test_no_descriptor_stays_open(root: Path) -> None:
    folder = ReadOnlyFolder(root)
    before = len(os.listdir("/dev/fd"))
    for path in ("a.txt", "sub/b.txt", "missing", "a.txt/b", "sub", "nul\0"):
        try:
            folder.read_text_file(path)
        except PathRefused:
            continue
    folder.list_files()
    assert len(os.listdir("/dev/fd")) == before
