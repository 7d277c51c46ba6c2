"""Clients that are generated from the description compile and work. Each generator is in an environment of its own
(`make test-sdks`)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.shared import Service, in_a_thread
from howsure.api.app import ServiceAccess

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / ".venv-frameworks"
PYTHON_TOOLS, TYPESCRIPT_TOOLS = TOOLS / "sdks" / "bin", TOOLS / "sdks-typescript"
STRICT = ("--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--types", "node", "--typeRoots")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with in_a_thread(tmp_path_factory.mktemp("service"), "", ServiceAccess()) as running:
        yield running


@pytest.fixture
def description(service: Service, tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(service.nobody()("GET", "/openapi.json").body))
    return path


def said(*command: object, **settings: str) -> str:
    words = [str(each) for each in command]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120, env=settings or None)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not PYTHON_TOOLS.exists(), reason="no generator of Python clients here: `make test-sdks`")
def test_a_python_client(service: Service, description: Path, tmp_path: Path) -> None:
    package = tmp_path / "howsure_sdk"
    generate = (PYTHON_TOOLS / "openapi-python-client", "generate", "--meta", "none", "--fail-on-warning")
    said(*generate, "--config", HERE / "generator.yaml", "--path", description, "--output-path", package)
    said(PYTHON_TOOLS / "python", "-W", "error", "-m", "compileall", "-q", package)
    # Names that read well: an operation is a module of its tag.
    assert {"runs_create.py", "runs_cancel.py", "runs_list.py"} <= {path.name for path in package.glob("api/runs/*")}
    told = said(PYTHON_TOOLS / "python", HERE / "smoke.py", service.base, PYTHONPATH=str(tmp_path))
    assert told == "completed 1 ['You said hello'] not_found\n"


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here: no TypeScript client was made")
@pytest.mark.skipif(not TYPESCRIPT_TOOLS.exists(), reason="no generator of TypeScript clients: `make test-sdks`")
def test_a_typescript_client(service: Service, description: Path, tmp_path: Path) -> None:
    tools = TYPESCRIPT_TOOLS / "node_modules" / ".bin"
    (tmp_path / "node_modules").symlink_to(TYPESCRIPT_TOOLS / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(HERE / "smoke.ts", tmp_path)
    generate = (tools / "openapi-typescript", "--default-non-nullable=false", description)
    said(*generate, "-o", tmp_path / "api.d.ts")
    said(
        tools / "tsc",
        *STRICT,
        tmp_path / "node_modules" / "@types",
        "--outDir",
        tmp_path / "made",
        tmp_path / "smoke.ts",
    )
    (tmp_path / "made" / "package.json").write_text('{"type": "module"}')
    told = said(shutil.which("node"), tmp_path / "made" / "smoke.js", service.base)
    assert told == 'completed 1 ["You said hello"] not_found\n'
