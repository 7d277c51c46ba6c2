"""A real provider of identities (Canaille) with two people, two groups and one client, while its input is open. Run by
the Python of an environment of its own: `python provider.py PORT REDIRECT_URI LOGOUT_URI`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from threading import Thread

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

PASSWORD = "correct horse battery staple"


def serve(port: int, redirect_uri: str, logout_uri: str) -> None:
    key = RSAKey.generate_key(2048, {"use": "sig"}, auto_kid=True)
    app = create_app(
        {
            "SECRET_KEY": "only for tests",
            "SERVER_NAME": f"127.0.0.1:{port}",
            "PREFERRED_URL_SCHEME": "http",
            "SESSION_COOKIE_SECURE": False,
            "CANAILLE": {"DATABASE": "memory", "FORCE_HTTPS": False},
            "CANAILLE_OIDC": {"ACTIVE_JWKS": [key.as_dict(private=True)]},
        }
    )
    with app.app_context():
        backend = Backend.instance
        people = {}
        for name in ("ana", "bo"):
            person = models.User(
                user_name=name,
                formatted_name=f"{name.title()} Example",
                family_name="Example",
                emails=[f"{name}@example.com"],
                password=PASSWORD,
            )
            backend.save(person)
            people[name] = person
        backend.save(models.Group(display_name="evaluators", members=[people["ana"]]))
        backend.save(models.Group(display_name="others", members=[people["bo"]]))
        client = models.Client(
            client_id="howsure",
            client_secret="s3cret-of-howsure",
            client_id_issued_at=datetime.now(UTC),
            client_name="Howsure",
            client_uri="http://127.0.0.1",
            redirect_uris=[redirect_uri],
            post_logout_redirect_uris=[logout_uri],
            grant_types=["authorization_code"],
            response_types=["code"],
            scope=["openid", "profile", "groups"],
            token_endpoint_auth_method="client_secret_basic",
        )
        backend.save(client)
        client.audience = [client]
        backend.save(client)
    server = make_server("127.0.0.1", port, app, threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2], sys.argv[3])
