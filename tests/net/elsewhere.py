"""Options and keys that need more than a row has (a framework, a cluster, a terminal, a port that comes and goes): the
test that tries each of them, and the word that it tries it by where that is not its own name."""

from __future__ import annotations

UNIT = "tests/unit/targets"
ELSEWHERE: dict[str, str] = {
    "run --watch": "tests/e2e/test_watch.py",
    "show --plain": "tests/e2e/test_show_browser.py",
    "ci --key": "tests/unit/services/ci/test_forges.py another job",
    "serve --workers": "tests/service/battered.py",
    "serve --require-keys": "tests/unit/cli/test_option_words.py",
    "targets.*[http].connect_tries": f"{UNIT}/http/test_target.py",
    "targets.*[adk].trace": f"{UNIT}/adk/test_target.py",
    "targets.*[adk-agent].turn_seconds": f"{UNIT}/frameworks/test_adk_runner.py",
    "targets.*[langgraph].turn_seconds": f"{UNIT}/frameworks/test_langgraph.py",
    "targets.*[langgraph].messages_key": f"{UNIT}/frameworks/test_langgraph.py",
    "targets.*[langgraph].recursion_limit": f"{UNIT}/frameworks/test_langgraph.py",
    "targets.*[openai-agents].turn_seconds": f"{UNIT}/frameworks/test_openai_agents.py",
    "targets.*[openai-agents].context": f"{UNIT}/frameworks/test_openai_agents.py",
    "targets.*[openai-agents].max_turns": f"{UNIT}/frameworks/test_openai_agents.py",
    "targets.*[pydantic-ai].turn_seconds": f"{UNIT}/frameworks/test_pydantic_ai.py",
    "targets.*[pydantic-ai].deps": f"{UNIT}/frameworks/test_pydantic_ai.py",
    "service.https": "tests/web/test_sign_in.py",
    "cluster.address": "tests/cluster/clusters.py",
    "cluster.env": "tests/cluster/test_datasets.py",
    "cluster.shard": "tests/cluster/test_datasets.py",
    "cluster.resources": "tests/cluster/test_ray_cluster.py",
    "cluster.needs": "tests/cluster/test_ray_cluster.py",
}
