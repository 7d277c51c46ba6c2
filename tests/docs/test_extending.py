"""What docs/extending.md promises: the plug-in it shows works as it stands, from a file and by entry point."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
PLUGIN, DESK, MEMORY, TALLY, CONVERSATION = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
COMMAND, DESK_COMMANDS, MEMORY_COMMANDS, TALLY_COMMANDS = (
    text.split("\n") for text in re.findall(r"```bash\n(.+?)\n```", PAGE, re.DOTALL)
)
SETTINGS, DESK_SETTINGS = re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    (tmp_path / "faq.csv").write_text(
        "slug,q,a,max_words\nopening,When are you open?,At nine,5\nchatty,Tell me a very long story please,Once,3\n",
        encoding="utf-8",
    )
    return tmp_path


def howsure(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "howsure", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )


def words(command: str) -> list[str]:
    program, *rest = shlex.split(command)
    assert program == "howsure"
    return rest


def verdicts(folder: Path) -> dict[str, str]:
    printed = howsure(folder, "results", "--json").stdout
    return {result["test_case_id"]: result["verdict"] for result in json.loads(printed)}


def test_the_plugin_works_from_its_file(workplace: Path) -> None:
    (workplace / "shop_plugin.py").write_text(PLUGIN, encoding="utf-8")
    done = howsure(workplace, *words(COMMAND[0]))
    assert done.returncode == 0, done.stderr
    assert verdicts(workplace) == {"opening": "passed", "chatty": "failed"}


def test_the_dialect_can_be_converted_to(workplace: Path) -> None:
    (workplace / "shop_plugin.py").write_text(PLUGIN, encoding="utf-8")
    for command in COMMAND[1:]:
        done = howsure(workplace, *words(command))
        assert done.returncode == 0, done.stderr
    written = (workplace / "faq_again.csv").read_text(encoding="utf-8").splitlines()
    assert written == [
        "slug,q,a,max_words",
        "opening,When are you open?,At nine,5",
        "chatty,Tell me a very long story please,Once,3",
    ]


def test_the_plugin_works_from_the_settings(workplace: Path) -> None:
    (workplace / "shop_plugin.py").write_text(PLUGIN, encoding="utf-8")
    (workplace / "howsure.yaml").write_text(SETTINGS, encoding="utf-8")
    done = howsure(workplace, "run", "faq.csv", "--target", "parrot", "--graders", "word_limit")
    assert done.returncode == 0, done.stderr


def test_the_plugin_works_by_entry_point(workplace: Path) -> None:
    site = workplace / "site"
    meta = site / "shop_plugin-1.0.dist-info"
    meta.mkdir(parents=True)
    (site / "shop_plugin.py").write_text(PLUGIN, encoding="utf-8")
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-plugin\nVersion: 1.0\n", encoding="utf-8")
    (meta / "entry_points.txt").write_text("[howsure.plugins]\nshop = shop_plugin:register\n", encoding="utf-8")
    done = howsure(workplace, "run", "faq.csv", "--target", "parrot", "--graders", "word_limit", PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr
    assert verdicts(workplace)["opening"] == "passed"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    inputs = {"persona": "Insists", "initial_message": "My lamp is broken.", "max_turns": 4}
    expected = {"success_criteria": ["The agent greets"]}
    item = {"item_id": "lamp", "type": "scenario", "name": "Lamp", "inputs": inputs, "expected": expected}
    (tmp_path / "scenarios.json").write_text(json.dumps({"items": [item]}), encoding="utf-8")
    (tmp_path / "desk_plugin.py").write_text(DESK, encoding="utf-8")
    (tmp_path / "howsure.yaml").write_text(DESK_SETTINGS, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("command", "greeting"), [*zip(DESK_COMMANDS, ["Good morning.", "Hello."], strict=True)])
def test_the_kind_and_the_simulated_user_work_from_the_settings(desk: Path, command: str, greeting: str) -> None:
    done = howsure(desk, *words(command))
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(howsure(desk, "results", "--json").stdout)
    assert [message["content"] for message in result["output"]["messages"]] == [
        "My lamp is broken.",
        f"{greeting} You said: My lamp is broken.",
        "Once more: My lamp is broken.",
        f"{greeting} You said: Once more: My lamp is broken.",
    ]
    played = result["simulation"]
    assert (played["user"], played["ending"], played["reason"]) == ("insistent", "goal_reached", "asked 2 times")


def test_a_kind_that_lacks_a_setting_says_which(desk: Path) -> None:
    (desk / "howsure.yaml").write_text(DESK_SETTINGS.replace(', greeting: "Good morning."', ""), encoding="utf-8")
    done = howsure(desk, *words(DESK_COMMANDS[0]))
    assert done.returncode == 2
    assert "`targets.reception.greeting`: is needed" in done.stderr


def test_the_conversation_of_the_page_is_as_it_says(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONVERSATION], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "kind", ["FaqDialect", "Parrot", "WordLimit", "DeskKind", "DeskTarget", "Insistent", "InsistentUser"]
)
def test_each_part_of_a_plugin_is_under_twenty_lines(kind: str) -> None:
    body = re.search(rf"class {kind}\b.+?(?=\n\n\n|\Z)", f"{PLUGIN}\n\n\n{DESK}", re.DOTALL)
    assert body is not None
    assert len(body.group().splitlines()) < 20


@pytest.mark.parametrize("kinds", [("DeskKind", "DeskTarget"), ("Insistent", "InsistentUser")])
def test_a_kind_of_target_and_a_user_are_each_under_twenty_lines_in_all(kinds: tuple[str, str]) -> None:
    bodies = [re.search(rf"class {kind}\b.+?(?=\n\n\n|\Z)", DESK, re.DOTALL) for kind in kinds]
    assert sum(len(body.group().splitlines()) for body in bodies if body) < 20


@pytest.fixture
def memory(workplace: Path) -> Path:
    (workplace / "shop_plugin.py").write_text(PLUGIN, encoding="utf-8")
    (workplace / "memory_plugin.py").write_text(MEMORY, encoding="utf-8")
    return workplace


def test_the_model_provider_judges_and_is_judged(memory: Path) -> None:
    assert len(MEMORY.splitlines()) < 20
    done = howsure(memory, *words(MEMORY_COMMANDS[0]))
    assert done.returncode == 0, done.stderr
    results = json.loads(howsure(memory, "results", "--json").stdout)
    assert {result["test_case_id"]: result["verdict"] for result in results} == {
        "opening": "passed",
        "chatty": "passed",
    }
    assert [result["output"]["messages"][-1]["content"] for result in results] == ["At nine", "At nine"]
    assert json.loads(results[0]["scores"]["reference_answer"]["comment"])["reason"] == "it says so"


def test_a_model_provider_nobody_brought_is_refused_with_the_known_names(memory: Path) -> None:
    done = howsure(memory, *words(MEMORY_COMMANDS[0].replace("--judge memory", "--judge memry")))
    assert done.returncode == 2
    assert "unknown model provider 'memry'; known: anthropic, azure, google, memory, mistral" in done.stderr


def test_the_report_format_is_chosen_by_ending_and_by_name(workplace: Path) -> None:
    (workplace / "shop_plugin.py").write_text(PLUGIN, encoding="utf-8")
    (workplace / "tally_plugin.py").write_text(TALLY, encoding="utf-8")
    for command in TALLY_COMMANDS:
        done = howsure(workplace, *words(command))
        assert done.returncode == 0, done.stderr
    for name in ("x.tally", "report.tally"):
        assert (workplace / name).read_text("utf-8").endswith("\nopening passed\nchatty failed\n")
