"""Rows of plain tables: which column is what, how answers are compared, and a start from a file of one's own."""

from __future__ import annotations

from net.rows import Row

TABLE = "id,Question,Answer,Output\na,What is 2+2?,4,It is 4.\nb,Capital of France?,Paris,paris\nc,Six?,6,6\n"
FILES = {"my.csv": TABLE}
TOPICS = {"my.csv": "id,Question,Answer,Output,topic\na,2+2?,4,4,math\nb,Six?,6,6,math\nc,Rome?,Italy,Spain,places\n"}
UNCLEAR = {"my.csv": "id,stimulus,other,expected,response\na,2+2?,x,4,4\n"}
RUN = "run my.csv --json"


def matched(kind: str, shows: str, verdicts: dict[str, str], text: str = TABLE) -> Row:
    """Without a match the judge is asked, and the offline one cannot tell."""
    grader = {"exact": "exact_match", "regex": "regex_match", "numeric": "numeric_match"}.get(kind, kind)
    return Row("run --match", f"{kind}: {shows}", f"--match {kind}", RUN,
               {"verdicts": verdicts, "has graders.0.name": grader}, {"has graders.0.name": "reference_answer"},
               other="--judge none", world="nothing", files={"my.csv": text})  # fmt: skip


NUMBERS = 'id,Question,Answer,Output\na,What is 2+2?,4,4.0\nb,More?,"1,234",#### 1234\nc,Six?,6,seven\n'
PATTERNS = "id,Question,Answer,Output\na,Order?,L-[0-9]+,order L-17\nb,Order?,^L-[0-9]+$,order L-17\n"
ROWS = [
    matched("exact", "only the very text passes", {"a": "failed", "b": "failed", "c": "passed"}),
    matched("includes", "the text is somewhere in the answer", {"a": "passed", "b": "passed", "c": "passed"}),
    matched("numeric", "the number that the answer comes to", {"a": "passed", "b": "passed", "c": "failed"}, NUMBERS),
    matched("regex", "the expected answer is a pattern", {"a": "passed", "b": "failed"}, PATTERNS),
    Row("run --match", "a word that is none of the four", "--match nearly", RUN, {"exit": 2, "err": "exact, includes"},
        {"passed": 3}, other="--match includes", world="nothing", files=FILES),
    Row("run --match", "it is refused for a file of another dialect", "--match exact",
        "run cases.jsonl --responses answers.jsonl --json", {"exit": 2, "has detail": "for plain tables"},
        {"passed": 3}),
    Row("run --filter", "plain: by a column", "--filter topic:math", "run my.csv --match exact --json",
        {"total": 2, "passed": 2}, {"total": 3, "passed": 2}, world="nothing", files=TOPICS),
    Row("show --by", "plain: by a column", "--by topic", "show latest", {"out": "places"}, {"no out": "places"},
        world="nothing", files=TOPICS, before=("run my.csv --match exact",)),
    Row("compare --by", "plain: by a column", "--by topic", "compare one two", {"out": "topic=places"},
        {"no out": "topic=places"}, world="nothing", files=TOPICS,
        before=("run my.csv --match exact --name one", "run my.csv --match includes --name two")),
    Row("run --map", "the input is the column that is named", "--map input=stimulus", "run my.csv --match exact --json",
        {"passed": 1}, {"exit": 2, "has detail": "--map input=stimulus"}, world="nothing", files=UNCLEAR),
    Row("run --map", "no column is what was answered", "--map response=", "run my.csv --match exact --json",
        {"exit": 2, "has detail": "answers are missing"}, {"passed": 1}, world="nothing", files=FILES),
    Row("run --map", "a role that there is not", "--map inptu=Question", RUN,
        {"exit": 2, "err": "did you mean `input`"}, {"passed": 3}, other="--match includes", world="nothing",
        files=FILES),
    Row("validate --map", "the columns are said", "--map input=stimulus", "validate my.csv --json",
        {"valid": True, "files.0.dialect": "plain",
         "files.0.columns": "stimulus → input, expected → expected, response → response, id → id; labels: other"},
        {"exit": 2, "valid": False}, world="nothing", files=UNCLEAR),
    Row("convert --map", "the column that is named becomes the question", "--map input=stimulus",
        "convert my.csv -o out.json", {"file out.json": "2+2?"}, {"exit": 2}, world="nothing", files=UNCLEAR),
    Row("convert --to", "plain: a table", "--to plain", "convert my.csv -o out.jsonl --map expected=",
        {"file out.jsonl": "Capital of France?"}, {"exit": 2}, other="--to golden", world="nothing", files=FILES),
    Row("init --data", "settings and a first run for this file", "--data my.csv", "init",
        {"file first_run.sh": "howsure run my.csv --match includes", "no file support_agent.py": ""},
        {"file support_agent.py": ""}, world="nothing", files=FILES),
]  # fmt: skip
