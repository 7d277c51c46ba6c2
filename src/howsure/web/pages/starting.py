"""Starting a run: which cases, which rubric, which agent, who judges. Only what the operator offers can be chosen, and
what cannot be had is said before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.reports.figures import counted
from howsure.services.hosting.host import Host
from howsure.services.hosting.ordering import OFFLINE, Order, order_run
from howsure.store.service.catalog import Card
from howsure.store.service.keys import Scope
from howsure.store.service.places import is_number
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, form_of, host_of

MOST = 100
KINDS = {
    DocumentKind.TEST_SET: "test sets",
    DocumentKind.DATASET: "datasets",
    DocumentKind.QUESTION_SET: "question sets",
}
FIELDS = {
    DocumentKind.TEST_SET: "test_set_id",
    DocumentKind.DATASET: "dataset_id",
    DocumentKind.QUESTION_SET: "question_set_id",
}
RECORDED = "recorded"


class Choice(Struct, frozen=True):
    """Something that can be chosen."""

    value: str
    words: str
    chosen: bool


class StartPage(Struct, frozen=True, kw_only=True):
    """What the page shows. `given` is what was typed before, where it could not be done."""

    answer: str
    trouble: str
    cases: tuple[tuple[str, tuple[Choice, ...]], ...]
    rubrics: tuple[Choice, ...]
    targets: tuple[Choice, ...]
    judges: tuple[Choice, ...]
    given: Mapping[str, str]

    @property
    def is_empty(self) -> bool:
        return not any(choices for _, choices in self.cases)


class Offered(Struct, frozen=True, kw_only=True):
    """What there is to choose from."""

    cases: Mapping[DocumentKind, Sequence[Card]]
    rubrics: Sequence[Card]
    targets: Sequence[str]
    default_target: str
    judges: Sequence[str]


def start_page(offered: Offered, given: Mapping[str, str], trouble: str = "") -> StartPage:
    number = sum(map(len, offered.cases.values()))
    targets = ["", RECORDED, *sorted(offered.targets)]
    words = {"": _default(offered.default_target), RECORDED: "the answers that the cases bring"}
    return StartPage(
        answer="Nothing can be run yet: there are no cases." if not number else _answer(number, offered),
        trouble=trouble,
        cases=tuple(
            (words_of, tuple(_document(card, f"{kind.value}:{card.id}", given.get("cases")) for card in cards))
            for kind, words_of in KINDS.items()
            if (cards := offered.cases.get(kind, ()))
        ),
        rubrics=tuple(_document(card, card.id, given.get("rubric")) for card in offered.rubrics),
        targets=tuple(Choice(each, words.get(each, each), each == given.get("target", "")) for each in targets),
        judges=tuple(Choice(each, _judge(each), each == given.get("judge")) for each in offered.judges),
        given=given,
    )


def _answer(number: int, offered: Offered) -> str:
    return f"{counted(number, 'set')} of cases and {counted(len(offered.rubrics), 'rubric')} to choose from."


def _default(target: str) -> str:
    return f"as the service is set up ({target})" if target else "as the service is set up"


def _judge(spec: str) -> str:
    return "offline (free, no language model: it can say less)" if spec == OFFLINE else spec


def _document(card: Card, value: str, chosen: str | None) -> Choice:
    return Choice(value, f"{card.name or card.id[:8]} v{card.version}", value == chosen)


async def offered_by(host: Host, within: AccessScope) -> Offered:
    catalog, settings = host.store.catalog, host.work.settings
    cases = {kind: await catalog.cards(kind, limit=MOST, within=within) for kind in KINDS}
    judges = dict.fromkeys((settings.judge or OFFLINE, OFFLINE, *host.rules.judges))
    return Offered(
        cases=cases,
        rubrics=await catalog.cards(DocumentKind.RUBRIC, limit=MOST, within=within),
        targets=tuple(settings.targets),
        default_target=host.rules.target,
        judges=tuple(judges),
    )


def order_from(given: Mapping[str, str]) -> Order:
    """The order that a form says; PlanRefused names the field that cannot be read."""
    kind, _, key = given.get("cases", "").partition(":")
    fields = {each.value: name for each, name in FIELDS.items()}
    if kind not in fields or not key:
        raise PlanRefused("choose the cases that are to be run")
    case_ids = tuple(filter(None, (each.strip() for each in given.get("case_ids", "").split(","))))
    return Order(
        **{fields[kind]: key},  # type: ignore[arg-type]
        rubric_id=given.get("rubric", ""),
        agent_id=given.get("agent_id", "").strip(),
        target=given.get("target", ""),
        judge=given.get("judge", ""),
        repeat=_number(given, "repeat", "how often each case is tried") or 1,
        limit=_number(given, "limit", "how many cases at most"),
        budget=given.get("budget", "").strip(),
        name=given.get("name", "").strip(),
        case_ids=case_ids,
    )


def _number(given: Mapping[str, str], name: str, words: str) -> int | None:
    text = given.get(name, "").strip()
    if not text:
        return None
    if not is_number(text) or not int(text):
        raise PlanRefused(f"{words}: expected a whole number from 1, found {text!r}")
    return int(text)


async def show(request: Request) -> Response:
    offered = await offered_by(host_of(request), caller_of(request).within)
    return respond(request, "start.html", start_page(offered, dict(request.query_params)))


async def begin(request: Request) -> Response:
    host, asking, given = host_of(request), caller_of(request), await form_of(request)
    try:
        ordered = await order_run(host, order_from(given), asking.within)
    except InputError as error:
        offered = await offered_by(host, asking.within)
        return respond(request, "start.html", start_page(offered, given, trouble=str(error)), 422)
    return RedirectResponse(f"/runs/{ordered.run.id}", 303)


def routes() -> list[Page]:
    return [Page("/start", show, Scope.RUN), Page("/start", begin, Scope.RUN, "POST")]
