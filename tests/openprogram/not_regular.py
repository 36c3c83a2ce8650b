"""What may stand where a file is expected; some keep whoever opens them without care waiting, or reading, for good."""

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

__all__ = ["NOT_REGULAR"]


def _make_socket(path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")  # a socket's path may have about 100 characters only
    finally:
        os.close(folder)
        listener.close()


def _make_symlink_to_a_pipe(path: Path) -> None:
    pipe = path.with_name(f"{path.name}.pipe")
    os.mkfifo(pipe)
    path.symlink_to(pipe)


#: Each makes one at the path. The folder must be there.
NOT_REGULAR: Mapping[str, Callable[[Path], None]] = MappingProxyType(
    {
        "named pipe": os.mkfifo,
        "endless device": lambda path: path.symlink_to("/dev/zero"),
        "symlink to a pipe": _make_symlink_to_a_pipe,
        "socket": _make_socket,
        "folder": lambda path: path.mkdir(),
        "symlink to itself": lambda path: path.symlink_to(path),
    }
)
