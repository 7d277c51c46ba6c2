"""JUnit XML, as pytest, surefire and CI systems write it. A test is a case, named `classname::name`; a failure fails,
an error is errored, and a skipped test decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, iterparse

from howsure.dialects.datasets import readable
from howsure.dialects.strict_json import BOM
from howsure.dialects.tool_results.base import ResultsRecord
from howsure.dialects.tool_results.samples import SampleRecord, read_records, read_time
from howsure.dialects.tool_results.streams import container_fault, read_head
from howsure.model.tool_runs import Statistic, ToolAggregate, ToolRun

TOOL = "junit"
COUNTS = {"failures": Statistic.FAILED, "errors": Statistic.ERRORED}


class JUnitReportReader:
    """`<testsuites>`, or a single `<testsuite>`."""

    name = TOOL

    def detect(self, path: Path, head: bytes) -> bool:
        return head.removeprefix(BOM).lstrip().startswith(b"<") and b"<testsuite" in head

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        totals: Counter[str] = Counter()
        first: dict[str, str] = {}
        yield from read_records(_tests(path, totals, first), _sample)
        yield ToolRun(
            tool=TOOL,
            name=first.get("name", ""),
            samples=totals["tests"] or None,
            started_at=read_time(first.get("timestamp")),
            aggregates=tuple(
                ToolAggregate(name=name, value=totals[name], statistic=kind)
                for name, kind in COUNTS.items()
                if name in totals
            ),
        )


def _tests(path: Path, totals: Counter[str], first: dict[str, str]) -> Iterator[tuple[str, Element]]:
    """Every `<testcase>`; the counts of the innermost suites go to `totals`, what the first one says to `first`."""
    if b"<!" in read_head(path).replace(b"<!--", b"").replace(b"<![CDATA[", b""):
        hint = "remove the document type; reports of tests need none"
        raise container_fault(path, "xml-doctype", "it declares a document type, which is not read", hint=hint)
    number, has_suites = 0, [False]
    try:
        with readable(path), path.open("rb") as file:
            for event, element in iterparse(file, events=("start", "end")):
                if element.tag == "testsuite" and event == "start":
                    has_suites[-1] = True
                    has_suites.append(False)
                    for key in {"name", "timestamp"} & element.attrib.keys():
                        first.setdefault(key, element.attrib[key])
                elif element.tag == "testsuite":
                    if not has_suites.pop():
                        stated = element.attrib.keys() & {"tests", *COUNTS}
                        totals.update({key: int(element.attrib[key]) for key in stated})
                    element.clear()
                elif element.tag == "testcase" and event == "end":
                    number += 1
                    yield f"testcase {number}", element
                    element.clear()
    except ParseError as error:
        hint, message = "the file is cut off, or its tool is still writing it", f"not valid XML: {error}"
        raise container_fault(path, "xml-syntax", message, hint=hint, line=error.position[0]) from error


def _sample(test: Element) -> SampleRecord:
    name, group = test.attrib["name"], test.get("classname") or ""
    id = f"{group}::{name}" if group else name
    failure, error, skipped = (test.find(tag) for tag in ("failure", "error", "skipped"))
    properties = {
        str(each.get("name")): each.get("value") or each.text or "" for each in test.iterfind("properties/property")
    }
    time = (test.get("time") or "").replace(",", "")
    return SampleRecord(
        id=id,
        asked=id,
        said=(test.findtext("system-out") or "").strip(),
        passed=None if skipped is not None else failure is None,
        reason=_words(failure) or _words(skipped),
        error=(_words(error) or "the test errored") if error is not None and failure is None else "",
        seconds=float(time) if time else None,
        metadata={"properties": properties} if properties else {},
    )


def _words(element: Element | None) -> str:
    if element is None:
        return ""
    return (element.get("message") or (element.text or "").strip().partition("\n")[0])[:400]
