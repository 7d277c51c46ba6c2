"""docs/deploy.md and deploy/: units that systemd accepts, words that the code knows, and a service that really runs
without root on a read-only file system."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from click.testing import CliRunner

import howsure
from howsure.api import server
from howsure.api.counters import Counters
from howsure.client.errors import Unavailable
from howsure.config import ServiceSettings, load
from howsure.main import program
from howsure.model.access_scope import AccessRole, AccessScope
from howsure.model.job import QueueLengths
from howsure.services.host import worker
from howsure.services.host.roles import ORGANIZATION_WIDE, SCOPES_OF, SERVICE_WIDE, Permission, permits
from howsure.store.leases import LEASE
from strangers import SHOW, can_mount, closed_folders, why_no_stranger

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
UNITS = sorted((ROOT / "deploy").glob("*.service"))
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
YAML = re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)


def test_the_settings_shown_are_settings(tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text(YAML[0])
    assert load(tmp_path, {}).service.host_names == ("howsure.example.com",)
    assert yaml.safe_load(YAML[-1])["scrape_configs"][0]["metrics_path"] == "/api/v1/metrics"
    for block in YAML[1:-1]:
        (tmp_path / "howsure.yaml").write_text(block)
        assert load(tmp_path, {}).service != ServiceSettings()


def role_table() -> str:
    """The table of who may do what, as the page shows it."""
    lines = [f"| may | {' | '.join(role.value for role in AccessRole)} |", "| --- |" + " :-: |" * len(AccessRole)]
    for permission in Permission:
        note = " ²" if permission in SERVICE_WIDE else " ¹" if permission in ORGANIZATION_WIDE else ""
        marks = ("yes" if permits(SCOPES_OF[role], AccessScope(), permission) else "" for role in AccessRole)
        lines.append(f"| {permission.value}{note} | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_roles_is_the_one_of_the_code() -> None:
    assert role_table() in PAGE


def test_every_series_is_one_that_is_counted() -> None:
    counters = Counters()
    counters.note({"method": "GET"}, 200, 0.1)
    text = counters.text(QueueLengths(queued=1, running=2))
    counted = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    assert set(re.findall(r"\| `(howsure_\w+)` \|", PAGE)) == counted
    assert 'howsure_runs{state="queued"} 1' in text


def test_the_messages_to_look_for_are_logged() -> None:
    logged = Path(str(worker.__file__)).read_text(encoding="utf-8") + Path(str(server.__file__)).read_text("utf-8")
    for message in ("a worker ended by itself", "run broke", "the queue cannot be read", "run taken back"):
        assert f"`{message}`" in PAGE
        assert message in logged
    assert f"{LEASE.total_seconds():.0f} seconds after the last heartbeat" in PAGE


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_of_ours(unit: Path) -> None:
    read = configparser.RawConfigParser(strict=False)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(unit.read_text(encoding="utf-8"))
    command = shlex.split(read["Service"]["ExecStart"])
    assert command[0] == "/opt/howsure/bin/howsure"
    shown = CliRunner().invoke(program, [command[1], "--help"]).output
    assert [option for option in command if option.startswith("--") and option not in shown] == []
    assert float(read["Service"]["TimeoutStopSec"]) > server.STOP_SECONDS + 10


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    here = tmp_path / unit.name
    # Systemd asks for a program that is there; ours may be at a path with spaces.
    here.write_text(unit.read_text(encoding="utf-8").replace("/opt/howsure/bin/howsure", "/bin/sh"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(here)], capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_container_has_no_root_and_copies_what_is_there() -> None:
    assert re.findall(r"^USER (.+)$", CONTAINER, re.MULTILINE)[-1] == "10001:10001"
    copied = [
        name for line in re.findall(r"^COPY (?!--from)(.+)$", CONTAINER, re.MULTILINE) for name in line.split()[:-1]
    ]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    let_in = (ROOT / "deploy" / "Containerfile.dockerignore").read_text(encoding="utf-8")
    assert [name for name in copied if f"!{name}\n" not in let_in] == []
    assert CliRunner().invoke(program, ["serve", "--help"]).exit_code == 0
    assert 'CMD ["serve", "--host", "0.0.0.0", "--workers", "2"]' in CONTAINER


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_bounds_what_a_run_can_take(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    for limit in ("MemoryMax", "MemoryHigh", "LimitNOFILE", "TasksMax"):
        assert re.search(rf"^{limit}=\d+[MG]?$", text, re.MULTILINE), limit
    assert "Environment=HOWSURE_TRUST=1\n" in text
    assert "HOWSURE_TRUST=1" in PAGE and "howsure trust /etc/howsure --yes" in PAGE


def test_the_proxy_has_our_limits() -> None:
    text = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    said = [" ".join(line.split("#")[0].split()) for line in text.splitlines()]
    # Read by hand: each line opens a block, closes one, or is a whole directive; and the blocks are closed.
    assert [line for line in said if line and not line.endswith((";", "{", "}"))] == []
    assert text.count("{") == text.count("}")
    megabytes = ServiceSettings().largest_body // 1024 // 1024
    assert f"client_max_body_size {megabytes}m;" in said
    assert any(line.startswith('add_header Strict-Transport-Security "max-age=31536000') for line in said)
    for directive in (
        "limit_req zone=",
        "limit_conn ",
        "client_header_timeout ",
        "client_body_timeout ",
        "send_timeout ",
    ):
        assert [line for line in said if line.startswith(directive)], directive
    zones = set(re.findall(r"zone=(\w+):", text))
    assert set(re.findall(r"limit_req zone=(\w+)", text)) | set(re.findall(r"limit_conn (\w+)", text)) == zones
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in said


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_nginx_accepts_the_file(tmp_path: Path) -> None:
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        pytest.skip("there is no nginx here")
    pair = [str(tmp_path / name) for name in ("key.pem", "cert.pem")]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=x"]
    subprocess.run([*make, "-keyout", pair[0], "-out", pair[1]], check=True, capture_output=True)
    text = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    text = re.sub(r"ssl_certificate_key .+;", f"ssl_certificate_key {pair[0]};", text)
    text = re.sub(r"ssl_certificate /.+;", f"ssl_certificate {pair[1]};", text)
    # Ports that everybody may listen at.
    text = re.sub(r"listen (\[::\]:)?(\d+)", lambda found: f"listen {found[1] or ''}{free_port()}", text)
    whole = tmp_path / "nginx.conf"
    # Its own folder for logs is not everybody's.
    logs = "access_log off;\nclient_body_temp_path body;\nproxy_temp_path proxy;"
    whole.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{logs}\n{text}\n}}\n", encoding="utf-8")
    done = subprocess.run(
        ["nginx", "-t", "-p", str(tmp_path), "-e", "stderr", "-c", str(whole)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


CONFINED = """
mount --bind "$DATA" "$DATA"
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mount -o remount,bind,ro /
cd "$DATA"
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all \\
    env -i PATH=/usr/bin:/bin TMPDIR=/var/tmp PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -m howsure serve --port "$PORT"
"""


@contextmanager
def confined(data: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    shelf = data.parent / "shelf"
    shelf.mkdir()
    folders = {**closed_folders(), "SHELF": str(shelf), "DATA": str(data)}
    environ = {**os.environ, **folders, "PYTHON": sys.executable, "PORT": str(port)}
    command = ["unshare", "--mount", "bash", "-c", SHOW + CONFINED]
    process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.terminate()
        _, log = process.communicate(timeout=240)
        print(log.decode())


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others may enter: pytest's own are closed to them."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.thorough
def test_it_serves_without_root_on_a_read_only_file_system(open_folder: Path, unused_port: int) -> None:
    if not can_mount():
        pytest.skip("mount namespaces cannot be made here")
    if reason := why_no_stranger():
        pytest.skip(reason)
    data = open_folder / "data"
    data.mkdir()
    os.chown(data, 10001, 10001)
    with confined(data, unused_port) as process, howsure.Client(f"http://127.0.0.1:{unused_port}") as client:
        until = time.monotonic() + 60
        while not up(client):
            assert process.poll() is None, process.stderr
            assert time.monotonic() < until
            time.sleep(0.2)
        dataset = client.datasets.upload(ROOT / "src" / "howsure" / "demo" / "simulation" / "support-simulation.csv")
        run = client.runs.wait(client.runs.start(dataset_id=dataset.dataset_id).run_id, seconds=60)
        assert (run.state, run.completed) == ("completed", 13)
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        assert "Uid:\t10001\t10001\t10001\t10001" in status
        assert "CapEff:\t0000000000000000" in status
    written = {path.relative_to(data).parts[0] for path in data.rglob("*")}
    assert written == {".howsure"}


def up(client: howsure.Client) -> bool:
    try:
        return client.health().status == "ok"
    except Unavailable:
        return False


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
