"""How `howsure serve` begins, and how it ends when it cannot."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from service.battered import PATIENCE, service_at


@pytest.mark.slow
def test_a_port_that_is_taken_is_named_and_no_worker_stays(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ["-m", "howsure", "serve", "--port", str(port), "--database", str(tmp_path / "howsure.db")]
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_") or "TRUST" in name
        }
        ended = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environ, capture_output=True, timeout=PATIENCE, check=False
        )
    assert ended.returncode == 2, ended.stderr
    assert f"port {port} of 127.0.0.1 cannot be used: something else may have it".encode() in ended.stderr
    assert b"Traceback" not in ended.stderr


@pytest.mark.slow
def test_a_service_says_where_it_listens(tmp_path: Path) -> None:
    with service_at(tmp_path, str(tmp_path / "howsure.db"), workers=0) as service:
        assert service("GET", "/health")["status"] == "ok"
        assert service.stop() == 0
        assert service.left() == []
