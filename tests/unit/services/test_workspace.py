"""The workplace of a folder: file, then environment, then argument; every wrong setting told before anything runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from howsure.config import Settings
from howsure.errors import ConfigInvalid
from howsure.services.workspace import Workspace
from unit.services.places import workplace


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(folder: Path, text: str, name: str = "howsure.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def plugin(folder: Path, text: str, name: str = "plugin.py") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


PARROT = """
class Parrot:
    name = "parrot"

    async def open(self, case):
        raise NotImplementedError


def register(kit):
    kit.targets.add(Parrot())
"""


def test_the_later_source_wins(here: Path) -> None:
    assert Workspace.here(environ={}).settings == Settings()
    settings(here, "database: file.db\njudge: offline\n")
    assert Workspace.here(environ={}).settings.database == "file.db"
    environ = {"HOWSURE_DATABASE_URL": "env.db", "HOWSURE_JUDGE": "none"}
    work = Workspace.here(environ=environ)
    assert (work.settings.database, work.settings.judge) == ("env.db", "none")
    assert Workspace.here(database="flag.db", environ=environ).settings.database == "flag.db"


def test_a_named_file_takes_the_place_of_the_folders_own(here: Path) -> None:
    settings(here, "judge: offline\nmax_concurrency: 2\n")
    settings(here, "max_concurrency: 3\n", "other.yaml")
    work = Workspace.here(config="other.yaml", environ={})
    assert (work.settings.judge, work.settings.max_concurrency) == ("", 3)
    with pytest.raises(ConfigInvalid, match=r"missing\.yaml: no such configuration file"):
        Workspace.here(config="missing.yaml", environ={})


async def test_nothing_is_written_before_it_is_needed(here: Path) -> None:
    work = Workspace.here(environ={})
    assert list(here.iterdir()) == []
    assert work.data_folder == here / ".howsure"
    assert work.replies == here / ".howsure" / "replies.db"
    async with await work.store() as store:
        assert store.path == here / ".howsure" / "howsure.db"
    assert (here / ".howsure" / "howsure.db").is_file()


def test_a_contract_is_a_schema_or_the_path_of_one(here: Path) -> None:
    (here / "brief.json").write_text(json.dumps({"type": "string", "maxLength": 9}), encoding="utf-8")
    settings(here, "contracts:\n  brief: brief.json\n  number: {type: number}\n")
    contracts = Workspace.here(environ={}).kit.contracts
    assert contracts["brief"] == {"type": "string", "maxLength": 9}
    assert contracts["number"] == {"type": "number"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, r"contract `brief`: .*brief\.json cannot be read: No such file or directory"),
        ("{", r"contract `brief`: .*brief\.json is not a JSON Schema"),
        ("[1]", r"contract `brief`: .*brief\.json is not a JSON Schema: Expected `object`, got `array`"),
    ],
    ids=["missing", "broken", "a list"],
)
def test_a_contract_that_cannot_be_had_is_named(here: Path, content: str | None, told: str) -> None:
    settings(here, "contracts: {brief: brief.json}\n")
    if content is not None:
        (here / "brief.json").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigInvalid, match=told):
        Workspace.here(environ={})


def test_plugins_come_from_the_settings_and_from_the_command_line(here: Path) -> None:
    plugin(here, PARROT)
    plugin(here, PARROT.replace("parrot", "macaw"), "other.py")
    settings(here, "plugins: [plugin.py]\n")
    kit = Workspace.here(plugins=["other.py"], environ={}).kit
    assert kit.targets["parrot"].name == "parrot"
    assert kit.targets["macaw"].name == "macaw"


def test_plugins_and_evals_are_known_with_their_hash(here: Path) -> None:
    plugin(here, PARROT)
    settings(here, "plugins: [plugin.py]\nevals: [own.yaml]\n")
    asked = {"name": "tone", "instructions": "Is it kind?", "inputs": {"answer": "answer"}}
    settings(here, json.dumps({"evals": [asked | {"scale": {"min": 0, "max": 1}}]}), "own.yaml")
    versions = Workspace.here(environ={}).kit.plugin_versions
    assert [each.rsplit(" ", 1)[0] for each in versions[-2:]] == [str(here / "plugin.py"), str(here / "own.yaml")]
    plugin(here, PARROT + "# changed\n")
    again = Workspace.here(environ={}).kit.plugin_versions
    assert again[-2] != versions[-2]
    assert again[-1] == versions[-1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def register(kit):\n    raise RuntimeError('no bananas')\n", "RuntimeError: no bananas"),
        ("import nothing_like_it\n", "ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("def register(kit:\n", "SyntaxError"),
        ("x = 1\n", r"it has no function `register\(kit\)`"),
        (PARROT + "    kit.targets.add(Parrot())\n", "two targets are named 'parrot'"),
    ],
    ids=["raises", "cannot be imported", "no Python", "no register", "a name twice"],
)
def test_a_broken_plugin_is_the_users_to_mend(here: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigInvalid, match=told) as caught:
        Workspace.here(plugins=[plugin(here, text)], environ={})
    assert "plugin.py" in str(caught.value)


def test_a_plugin_that_is_not_there_is_named(here: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"--plugin nowhere\.py: no such file"):
        Workspace.here(plugins=["nowhere.py"], environ={})


def test_own_prices_are_used_and_wrong_ones_refused(here: Path) -> None:
    settings(here, "prices: {small: {prompt: 1, completion: 2}}\n")
    price = Workspace.here(environ={}).prices.price("small")
    assert price is not None
    assert (price.prompt, price.completion) == (1, 2)
    settings(here, "prices: {small: {promt: 1, completion: 2}}\n")
    with pytest.raises(ConfigInvalid, match="price of 'small'"):
        Workspace.here(environ={})


def test_own_profiles_and_evals_are_in_the_kit(here: Path) -> None:
    (here / "evals.yaml").write_text(
        "evals:\n  - name: tone\n    instructions: Is it kind?\n    inputs: {answer: answer}\n"
        "    scale: {min: 0, max: 1}\n",
        encoding="utf-8",
    )
    settings(here, "evals: [evals.yaml]\nprofiles: {mild: {marks: {choice: 0.5}}}\n")
    kit = Workspace.here(environ={}).kit
    assert "tone" in kit.graders
    assert kit.profiles["mild"].marks == {"choice": 0.5}
    settings(here, "evals: [nowhere.yaml]\n")
    with pytest.raises(ConfigInvalid, match=r"nowhere\.yaml: no such file of evals"):
        Workspace.here(environ={})


def test_paths_in_a_settings_file_are_relative_to_its_folder(here: Path) -> None:
    apart = here / "apart"
    apart.mkdir()
    plugin(apart, PARROT)
    (apart / "brief.json").write_text("{}", encoding="utf-8")
    (apart / "evals.yaml").write_text(
        "evals:\n  - name: tone\n    instructions: Is it kind?\n    inputs: {answer: answer}\n"
        "    scale: {min: 0, max: 1}\n",
        encoding="utf-8",
    )
    path = settings(apart, "plugins: [plugin.py]\nevals: [evals.yaml]\ncontracts: {brief: brief.json}\n")
    work = Workspace.here(config=str(path), environ={})
    assert "parrot" in work.kit.targets
    assert "tone" in work.kit.graders
    assert work.kit.contracts["brief"] == {}
    assert work.data_folder == here / ".howsure"


async def test_a_store_elsewhere_is_opened_where_the_settings_say(tmp_path: Path) -> None:
    work = workplace(tmp_path, settings=Settings(database=str(tmp_path / "deep" / "runs.db")))
    async with await work.store() as store:
        assert store.path == tmp_path / "deep" / "runs.db"


@pytest.mark.parametrize("command", ["validate", "convert", "init", "schema", "subsets"])
def test_what_needs_no_store_loads_none(command: str) -> None:
    """The database's library takes longer to load than all the rest."""
    code = f"import sys, howsure.cli.{command}; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=240).returncode == 0
