"""What installing the wheel puts on a user's path, tried beside a project that has a package `pipeline` of its own."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of its own with the wheel's content and the dependencies, and nothing of this checkout."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # A folder named in a .pth file is searched, but its own .pth files, such as our editable install, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "bin" / "python"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project with a package `pipeline`, and tests of it."""
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "__init__.py").write_text("OWNER = 'the user'\n")
    (tmp_path / "test_users_own.py").write_text(
        "import openprogram.pipeline.errors\n"
        "import openprogram.providers.replay\n"
        "import pipeline\n"
        "\n"
        "def test_both_pipelines_are_there():\n"
        "    assert pipeline.OWNER == 'the user'\n"
        "    assert openprogram.pipeline.errors.__name__ == 'openprogram.pipeline.errors'\n"
        "    assert not hasattr(pipeline, 'errors')\n"
    )
    return tmp_path


def run(python: Path, project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "OPENPROGRAM_HOME": str(project / "state"), "PYTHONDONTWRITEBYTECODE": "1"}
    environ.pop("PYTHONPATH", None)
    command = [str(python), *arguments]
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)


def test_the_wheel_holds_one_top_level_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        top_level = {name.split("/")[0] for name in archive.namelist()}
        assert "openprogram/pipeline/log/reader.py" in archive.namelist()
        assert "openprogram/demo/conversation.json" in archive.namelist()
        assert "openprogram/py.typed" in archive.namelist()
    assert {name for name in top_level if not name.endswith(".dist-info")} == {"openprogram"}


def test_a_users_own_pipeline_package_keeps_its_name_under_pytest(python: Path, project: Path) -> None:
    finished = run(python, project, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "1 passed" in finished.stdout


def test_the_command_runs_in_a_project_with_a_pipeline_package(python: Path, project: Path) -> None:
    finished = run(python, project, "-m", "openprogram", "recordings", "status")
    assert finished.returncode == 0, finished.stderr
    assert "off" in finished.stdout


def test_the_installed_package_is_the_wheels(python: Path, project: Path) -> None:
    finished = run(python, project, "-c", "import openprogram.pipeline; print(openprogram.pipeline.__file__)")
    assert str(python.parents[1]) in finished.stdout
