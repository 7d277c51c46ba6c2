"""Options and keys that need more than a row has (a framework, a cluster, a terminal, a port that comes and goes): the
test that tries each of them, and the word that it tries it by where that is not its own name."""

from __future__ import annotations

from net.options import all_options

UNIT = "tests/unit/targets"
ELSEWHERE: dict[str, str] = {
    "run --watch": "tests/e2e/test_watch.py",
    "run --anchors": "tests/e2e/test_judge_drift.py",
    "anchors": "tests/e2e/test_judge_drift.py",
    "show --plain": "tests/e2e/test_show_browser.py",
    "comment FILE": "tests/hardening/test_supply_chain.py howsure-comment.md",
    "comment --key": "tests/hardening/test_supply_chain.py",
    "comment --json": "tests/hardening/test_supply_chain.py",
    **{f"trust {name}": "tests/hardening/test_trust.py" for name in ("--yes", "--list", "--forget", "--json")},
    "trust FOLDER": "tests/hardening/test_trust.py cloned",
    "serve --workers": "tests/service/battered.py",
    "serve --require-keys": "tests/unit/cli/test_option_words.py",
    "targets.*[http].connect_tries": f"{UNIT}/http/test_target.py",
    "targets.*[adk].trace": f"{UNIT}/adk/test_target.py",
    "targets.*[adk-agent].turn_seconds": "tests/frameworks/test_adk_broken.py",
    "targets.*[adk-agent].log": "tests/frameworks/test_adk_broken.py",
    "targets.*[langgraph].turn_seconds": f"{UNIT}/frameworks/test_langgraph.py",
    "targets.*[langgraph].messages_key": f"{UNIT}/frameworks/test_langgraph.py",
    "targets.*[langgraph].recursion_limit": f"{UNIT}/frameworks/test_langgraph.py",
    "targets.*[openai-agents].turn_seconds": f"{UNIT}/frameworks/test_openai_agents.py",
    "targets.*[openai-agents].context": f"{UNIT}/frameworks/test_openai_agents.py",
    "targets.*[openai-agents].max_turns": f"{UNIT}/frameworks/test_openai_agents.py",
    "targets.*[pydantic-ai].turn_seconds": f"{UNIT}/frameworks/test_pydantic_ai.py",
    "targets.*[pydantic-ai].deps": f"{UNIT}/frameworks/test_pydantic_ai.py",
    "service.https": "tests/web/test_sign_in.py",
    "service.unknown_bots": "tests/api/test_honest.py",
    "service.connections": "tests/hardening/test_connections.py",
    "service.requests_per_minute": "tests/api/test_rates.py",
    "service.proxies": "tests/hardening/test_identity.py",
    "service.session_idle_minutes": "tests/hardening/test_identity.py",
    "service.session_hours": "tests/hardening/test_identity.py",
    **{
        f"service.{name}": "tests/hardening/test_isolation.py"
        for name in ("compute_seconds", "run_memory_mb", "runs_per_organization", "organizations")
    },
    "service.organizations.*.runs": "tests/hardening/test_isolation.py",
    "service.organizations.*.memory_mb": "tests/hardening/test_isolation.py",
    "service.organizations.*.budget": "tests/hardening/test_clocks.py",
    "service.organizations.*.targets": "tests/hardening/test_identity.py",
    "service.organizations.*.judges": "tests/hardening/test_identity.py",
    "service.oidc": "tests/hardening/test_oidc.py",
    **{
        f"service.oidc.{name}": "tests/hardening/test_oidc.py"
        for name in ("issuer", "client_id", "client_secret", "name", "scopes", "groups_claim", "roles", "logout")
    },
    **{f"service.oidc.roles.*.{name}": "tests/hardening/test_oidc.py" for name in ("role", "organization", "agents")},
    "cluster.address": "tests/cluster/clusters.py",
    "cluster.env": "tests/cluster/test_datasets.py",
    "cluster.shard": "tests/cluster/test_datasets.py",
    "cluster.resources": "tests/cluster/test_ray_cluster.py",
    "cluster.needs": "tests/cluster/test_ray_cluster.py",
}
# Every command has these; one test walks over all of them.
ELSEWHERE |= {
    option.name: "tests/hardening/test_trust.py"
    for option in all_options()
    if option.longest in ("--no-config", "--trust") and not option.hidden
}
