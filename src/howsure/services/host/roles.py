"""The one table of who may do what. Every route of the API and of the pages names a permission of this table, and both
ask `Caller.may`. A key has scopes; a role is a name for some of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum

from howsure.model.access_scope import AccessRole, AccessScope
from howsure.store.keys import KeyScope


class Permission(Enum):
    """What a route needs. The value is how the documentation says it."""

    PUBLIC = "see whether the service is up, and sign in"
    OWN_SESSIONS = "see and end one's own sessions"
    READ = "see runs, results, documents, labels and agents"
    EXPORT = "download documents, results and labels as files"
    LABEL = "label answers"
    LABEL_FOR_OTHERS = "label in the name of others, and take their labels back"
    EDIT = "create, change and delete documents, datasets and agents; name and tag runs"
    DELETE_RUNS = "delete finished runs"
    RUN = "start, stop and grade runs again"
    MAKE_KEYS = "see the settings, and make keys and passwords"
    KEYS = "see and revoke the keys of the organisation"
    SESSIONS = "see and end the sessions of the organisation"
    AUDIT = "read the audit log of the organisation"
    ERASE = "erase the conversations of a person"
    WEBHOOKS = "see, change and test the webhooks of the organisation"
    METRICS = "read the counters of the whole service"


FOR_EVERYBODY = frozenset({Permission.PUBLIC, Permission.OWN_SESSIONS})
ORGANIZATION_WIDE = frozenset(
    {
        Permission.KEYS,
        Permission.SESSIONS,
        Permission.AUDIT,
        Permission.ERASE,
        Permission.WEBHOOKS,
        Permission.METRICS,
    }
)
"""Permissions that are not about agents: a caller limited to some agents does not have them."""
SERVICE_WIDE = frozenset({Permission.METRICS})
"""Permissions that are not about organisations, either."""

OPENED_BY: dict[KeyScope, frozenset[Permission]] = {
    KeyScope.READ: frozenset({Permission.READ, Permission.EXPORT}),
    KeyScope.LABEL: frozenset({Permission.LABEL}),
    KeyScope.WRITE: frozenset({Permission.LABEL, Permission.EDIT, Permission.DELETE_RUNS}),
    KeyScope.RUN: frozenset({Permission.RUN}),
    KeyScope.ADMIN: frozenset(Permission),
}

SCOPES_OF: dict[AccessRole, tuple[KeyScope, ...]] = {
    AccessRole.VIEWER: (KeyScope.READ,),
    AccessRole.LABELLER: (KeyScope.READ, KeyScope.LABEL),
    AccessRole.EDITOR: (KeyScope.READ, KeyScope.WRITE),
    AccessRole.RUNNER: (KeyScope.READ, KeyScope.RUN),
    AccessRole.ADMIN: (KeyScope.ADMIN,),
}


def permits(scopes: Collection[KeyScope], within: AccessScope, permission: Permission) -> bool:
    """Whether somebody with these scopes, limited to this organisation and these agents, may do this."""
    if permission in ORGANIZATION_WIDE and within.agent_ids is not None:
        return False
    if permission in SERVICE_WIDE and within.organization_id is not None:
        return False
    return permission in FOR_EVERYBODY or any(permission in OPENED_BY[scope] for scope in scopes)


def missing_words(scopes: Collection[KeyScope], within: AccessScope, permission: Permission) -> str:
    """What a caller lacks who may not do this."""
    if not permits(scopes, AccessScope(), permission):
        scope = next(scope for scope, opened in OPENED_BY.items() if permission in opened)
        role = next(role for role, parts in SCOPES_OF.items() if scope in parts)
        return f"it needs the scope {scope.value!r} (role {role.value})"
    if within.agent_ids is not None:
        return "you may see some agents only: it needs a key for the whole organisation"
    return "you may see one organisation only: it needs a key for the whole service"


def role_of(scopes: Iterable[KeyScope]) -> AccessRole | None:
    """The role whose scopes are exactly these; None if no role has exactly these."""
    held = set(scopes)
    return next((role for role, parts in SCOPES_OF.items() if set(parts) == held), None)
