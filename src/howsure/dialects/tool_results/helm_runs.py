"""Runs of HELM (Stanford CRFM): a folder with `scenario_state.json` (what was asked and answered) and
`per_instance_stats.json` (how each answer was measured), and mostly `stats.json`, `run_spec.json` and `scenario.json`.
An instance is a case, named `split/id`; a train trial is a repeat. HELM has no verdicts: `exact_match` decides on
multiple choice, the main metric where the scenario names one, and others need a mark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from howsure.dialects.strict_json import Json, head_keys
from howsure.dialects.tool_results.base import ResultsRecord
from howsure.dialects.tool_results.samples import SampleRecord, expect_answers, number_score, read_records, token_usage
from howsure.dialects.tool_results.streams import container_fault, json_list, json_object
from howsure.model.tool_runs import Statistic, ToolAggregate, ToolRun, one_model

TOOL = "helm"
STATE, MEASURES, TOTALS = "scenario_state.json", "per_instance_stats.json", "stats.json"
SPEC, SCENARIO = "run_spec.json", "scenario.json"
FILES = (STATE, MEASURES, TOTALS, SPEC, SCENARIO)
NOT_SCORES = re.compile(
    r"^(num_|training_|inference_|batch_size|finish_reason_|prompt_truncated|max_prob|logprob|bits_per|perplexity)"
)
"""How a request went. Tokens and time go to the transcript, the rest is not carried."""
InstanceKey = tuple[str, str, int]


class HelmRunReader:
    """A run folder, or any file of it."""

    name = TOOL

    def detect(self, path: Path, head: bytes) -> bool:
        folder = path if path.is_dir() else path.parent
        if path.is_dir() or path.name == SCENARIO:
            return (folder / STATE).exists() and (folder / MEASURES).exists()
        keys = set(head_keys(head))
        measured = b'"sum_squared"' in head and (b'"instance_id"' in head or b'"split"' in head)
        named = {"adapter_spec", "request_states"} <= keys or {"scenario_spec", "adapter_spec"} <= keys
        return named or (measured and head.lstrip()[:1] == b"[")

    def companions(self, path: Path) -> Sequence[Path]:
        folder = path if path.is_dir() else path.parent
        for name in (STATE, MEASURES):
            if not (folder / name).exists():
                hint = f"keep the files of a run together, and import the folder: it has {STATE} and {MEASURES}"
                raise container_fault(path, "missing-file", f"a file of a HELM run without its {name}", hint=hint)
        return [folder / name for name in FILES if (folder / name).exists()]

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        files = {each.name: each for each in self.companions(path)}
        spec, scenario = (json_object(files[name]) if name in files else {} for name in (SPEC, SCENARIO))
        adapter = spec.get("adapter_spec") or {}
        main = str((scenario.get("metadata") or {}).get("main_metric") or "")
        if str(adapter.get("method", "")).startswith("multiple_choice"):
            main = "exact_match"
        measures: dict[InstanceKey, dict[str, float]] = {}
        for _, each in json_list(files[MEASURES]):
            known = measures.setdefault(_key(each, each["instance_id"]), {})
            known |= {stat["name"]["name"]: stat["mean"] for stat in each["stats"] if stat.get("mean") is not None}
        if any(each.get(main, 0) not in (0, 1) for each in measures.values()):
            main = ""
        asked = groupby(json_list(files[STATE], "request_states"), lambda each: _state_key(each[1]))
        records = ((states[0][0], [state for _, state in states]) for states in (list(group) for _, group in asked))
        yield from read_records(records, lambda states: _sample(states, measures, main))
        yield ToolRun(
            tool=TOOL,
            name=str(spec.get("name") or files[STATE].parent.name),
            samples=len(measures),
            models=one_model(adapter.get("model")),
            aggregates=tuple(_aggregates(files[TOTALS])) if TOTALS in files else (),
        )


def _key(holder: Json, id: str) -> InstanceKey:
    return id, str((holder.get("perturbation") or {}).get("name", "")), int(holder.get("train_trial_index") or 0)


def _state_key(state: Any) -> InstanceKey:
    """Requests of one instance stand together: with some adapters there is one for each reference."""
    try:
        return _key({**state, **state["instance"]}, state["instance"]["id"])
    except (TypeError, KeyError):
        return "", "", id(state)


def _aggregates(path: Path) -> Iterator[ToolAggregate]:
    for _, stat in json_list(path):
        named = stat["name"]
        if stat.get("mean") is None or named.get("perturbation") or NOT_SCORES.match(named["name"]):
            continue
        split = "/".join(str(named[key]) for key in ("split", "sub_split") if named.get(key))
        kind, cases = None if named.get("sub_split") else Statistic.MEAN, f"{split}/" if split else ""
        name, mean = f"{split} {named['name']}".strip(), float(stat["mean"])
        yield ToolAggregate(name=name, value=mean, statistic=kind, score=named["name"], cases=cases)


def _sample(states: Sequence[Json], measures: Mapping[InstanceKey, Mapping[str, float]], main: str) -> SampleRecord:
    state, key = states[0], _state_key(states[0])
    instance, result, request = state["instance"], state.get("result") or {}, state.get("request") or {}
    measured, done = measures.get(key, {}), result.get("completions") or ()
    split = str(instance.get("split") or "") + (f":{key[1]}" if key[1] else "")
    tokens = [measured.get(name) for name in ("num_prompt_tokens", "num_output_tokens")]
    references = instance.get("references") or ()
    correct = [str(each["output"].get("text") or "") for each in references if "correct" in (each.get("tags") or ())]
    # As letters where the prompt offered them so.
    options = state.get("output_mapping") or {}
    letters = [letter for letter, text in options.items() if text in correct]
    return SampleRecord(
        id=f"{split}/{instance['id']}" if split else instance["id"],
        asked=instance["input"].get("text") or request.get("messages") or "",
        expected=expect_answers(letters or correct, options),
        said=str(done[0].get("text") or "") if done and len(states) == 1 else "",
        grades=[
            number_score(name, value, giver=TOOL, pass_mark=1.0 if name == main else None)
            for name, value in measured.items()
            if not NOT_SCORES.match(name)
        ],
        error="" if result.get("success", True) else result.get("error") or "the request failed",
        repeat=key[2] + 1,
        seconds=result.get("request_time"),
        usage=token_usage(*(int(each) if each else None for each in tokens)),
        metadata={"prompt": request["prompt"]} if request.get("prompt") else {},
    )
