"""Loading what a spec names: found from the folder, refused with words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from howsure.errors import ConfigInvalid
from howsure.targets.objects import load_object


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A project's folder; what loading it leaves behind in this process is taken away again."""
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_a_module_beside_the_settings_is_found(project: Path) -> None:
    (project / "loading_bot.py").write_text("class agent:\n    name = 'Moss'\n")
    assert load_object("loading_bot:agent.name", project) == "Moss"


def test_a_file_may_import_its_neighbours_and_is_loaded_once(project: Path) -> None:
    (project / "bots").mkdir()
    (project / "bots" / "loading_words.py").write_text("GREETING = 'Hello'\n")
    (project / "bots" / "main.py").write_text("from loading_words import GREETING\nfound = [GREETING]\n")
    first = load_object("bots/main.py:found", project)
    assert first == ["Hello"]
    assert load_object("bots/main.py:found", project) is first


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("agent", "expected `module:object` or `path/file.py:object`"),
        (":agent", "expected `module:object`"),
        ("nowhere.agent:root", "no module 'nowhere'; looked in "),
        ("nowhere.py:root", "nowhere.py: no such file"),
        ("loading_ok:rot", "'loading_ok' has no 'rot'; it has: root"),
        ("loading_hungry:root", "cannot load loading_hungry: ModuleNotFoundError: No module named 'unheard_of'"),
        ("loading_broken:root", "cannot load loading_broken: ZeroDivisionError"),
        ("loading_typo.py:root", "loading_typo.py: SyntaxError"),
    ],
    ids=["no colon", "no module", "missing module", "missing file", "missing object", "its import", "raises", "typo"],
)
def test_what_is_wrong_is_said(project: Path, spec: str, said: str) -> None:
    (project / "loading_ok.py").write_text("root = 1\n")
    (project / "loading_hungry.py").write_text("import unheard_of\n")
    (project / "loading_broken.py").write_text("1 / 0\n")
    (project / "loading_typo.py").write_text("root = (\n")
    with pytest.raises(ConfigInvalid) as caught:
        load_object(spec, project)
    assert said in str(caught.value)


def test_a_file_that_broke_may_be_repaired_and_loaded_again(project: Path) -> None:
    (project / "late.py").write_text("1 / 0\n")
    with pytest.raises(ConfigInvalid, match="ZeroDivisionError"):
        load_object("late.py:root", project)
    (project / "late.py").write_text("root = 'repaired'\n")
    assert load_object("late.py:root", project) == "repaired"


def test_a_file_of_a_package_may_import_its_neighbours_relatively(project: Path) -> None:
    for package in ("clerk_of_a_package", "calendar"):
        folder = project / package
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "names.py").write_text("NAME = 'rosa'\n")
        (folder / "agent.py").write_text("from .names import NAME\n" if package != "calendar" else "NAME = 'own'\n")
    assert load_object("clerk_of_a_package/agent.py:NAME", project) == "rosa"
    # A package that has the name of one of Python's own does not take its place.
    assert load_object("calendar/agent.py:NAME", project) == "own"
