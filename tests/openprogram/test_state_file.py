import os
from pathlib import Path

import pytest

from openprogram.state_file import exclusive_writer, open_regular_file
from tests.openprogram.not_regular import NOT_REGULAR

FLAGS = {
    "read": os.O_RDONLY,
    "write": os.O_WRONLY,
    "append": os.O_WRONLY | os.O_APPEND | os.O_CREAT,
    "lock": os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW,
}


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
@pytest.mark.parametrize("stands", NOT_REGULAR)
def test_what_is_no_regular_file_is_refused_at_once_and_nothing_stays_open(
    tmp_path: Path, stands: str, flags: int
) -> None:
    NOT_REGULAR[stands](tmp_path / "file")
    before = os.listdir("/proc/self/fd")

    with pytest.raises(OSError):
        open_regular_file(tmp_path / "file", flags)

    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_file_that_is_created_is_private_and_no_child_gets_it(tmp_path: Path) -> None:
    descriptor = open_regular_file(tmp_path / "file", os.O_WRONLY | os.O_CREAT)

    assert os.fstat(descriptor).st_mode & 0o777 == 0o600
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_a_symlink_to_a_file_is_followed_unless_the_flags_say_no(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("content")
    (tmp_path / "link").symlink_to(tmp_path / "target")

    os.close(open_regular_file(tmp_path / "link", os.O_RDONLY))
    with pytest.raises(OSError):
        open_regular_file(tmp_path / "link", os.O_RDONLY | os.O_NOFOLLOW)


@pytest.mark.parametrize("stands", NOT_REGULAR)
def test_what_stands_where_the_lock_should_be_is_an_error(tmp_path: Path, stands: str) -> None:
    NOT_REGULAR[stands](tmp_path / "config.json.lock")

    with pytest.raises(OSError), exclusive_writer(tmp_path / "config.json"):
        pass
