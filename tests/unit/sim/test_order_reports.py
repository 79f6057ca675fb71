"""What the check of order finds, as reports; suppressions; and how lists of delays are shortened. No simulator."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.sim import order, ranks, schedules


def line(task: str = "aclnnAdds", kind: str = "write and read", stream: int = 2, frame: str = "train.py:8 step") -> str:
    first = {
        "task": "aclnnInplaceMuls",
        "stream": 0,
        "writes": True,
        "from": ["train.py:6 step", "train.py:20 <module>"],
    }
    second = {"task": task, "stream": stream, "writes": False, "from": [frame]}
    told = {"kind": kind, "graph": False, "first": first, "second": second, "memory": "0x7f <b>", "missing": "an event"}
    return json.dumps(told) + "\n"


def test_a_race_is_told_once_with_what_would_order_it() -> None:
    races = order.read(line() + line() + line("host's own code", stream=-1) + line(frame="order+0x1234 main"))
    assert [race.second.task for race in races] == ["aclnnAdds", "host's own code", "aclnnAdds"]
    assert "\n  next: an event" in races[0].text() and races[0].first.place == ("train.py", 6)
    assert races[2].second.place == ("", 0)  # C++ has no line


def test_a_report_shows_the_lines_of_the_program(tmp_path: Path) -> None:
    program = tmp_path / "a.py"
    program.write_text("\ny = x < 1  # <b>\n")
    (race,) = order.read(line(frame=f"{program}:2 step"))
    assert "aclnnAdds on stream 2 reads: y = x < 1  # <b>\n" in race.text()
    assert "<code>y = x &lt; 1  # &lt;b&gt;</code>" in order.Races([race]).html()


def test_how_often_a_race_was_seen_is_added_over_ranks(tmp_path: Path) -> None:
    def named(name: str) -> str:
        return line().replace("{", f'{{"race": "{name}", ', 1)

    text = named("7.1") + named("8.1") + '{"race": "7.1", "count": 30}\n{"race": "9.9", "count": 4}\n'
    (race,) = order.read(text)
    assert race.count == 31 and "seen: 31 times" in race.text()
    findings = order.Races([race])
    assert "31 times" in findings.html() and "(seen 31 times)" in findings.sarif()
    assert [one.count for one in order.read(line())] == [1]


def test_reports_have_each_race_and_are_safe_to_open(tmp_path: Path) -> None:
    findings = order.Races()
    findings.add(order.read(line() + line("<script>")), [order.Suppression(("aclnnAdds", "train.py:8"), "a counter")])
    assert findings.summary() == "order: 1 place where nothing orders two accesses, 1 suppressed"
    for name, found in (("a.html", "&lt;script&gt;"), ("a.sarif", "<script>")):
        assert order.write(findings, tmp_path / name) and found in (tmp_path / name).read_text()
    page = (tmp_path / "a.html").read_text()
    assert (
        "<script>" not in page and "suppressed: a counter" in page and not order.write(findings, tmp_path / "a.jsonl")
    )
    run = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [("write-and-read", "error")]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 8}
    assert run["results"][0]["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 6}


def test_a_suppression_has_words_and_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "known.txt"
    file.write_text("# ours\n\naclnnAdds train.py:8  # a counter that may lag\nnowhere.py # never fits\n")
    known = order.suppressions(file)
    assert [one.reason for one in known] == ["a counter that may lag", "never fits"]
    (race,) = order.read(line())
    assert [one.fits(race) for one in known] == [True, False]
    for wrong in ("aclnnAdds\n", "aclnnAdds # \n"):
        file.write_text(wrong)
        with pytest.raises(OphookError, match=r"known\.txt:1 has no reason"):
            order.suppressions(file)
    with pytest.raises(OphookError, match="cannot read"):
        order.suppressions(tmp_path)


def test_what_a_schedule_may_be() -> None:
    assert [schedules.check(one) for one in ("7", "only:", "only:3,17")] == ["7", "only:", "only:3,17"]
    for wrong in ("", "x", "-1", "only:a", "1,2", str(1 << 70)):
        with pytest.raises(OphookError, match=re.escape(f"--jitter {wrong}")):
            schedules.check(wrong)


@pytest.mark.parametrize("needed", [{5}, {2, 9}, {0, 1, 19}, set(range(20))])
def test_shrinking_ends_with_what_is_needed(needed: set[int]) -> None:
    tried = []

    def fails(part) -> bool:
        tried.append(part)
        return needed <= set(part)

    assert schedules.shrink(range(20), fails) == sorted(needed)
    assert len(tried) < 450


def test_exploring_stops_at_the_first_failure_and_shortens_it() -> None:
    seen = []

    def run(schedule: str) -> schedules.Ending:
        seen.append(schedule)
        numbers = {"only:": [], "1": [2, 4], "2": [3, 6, 8]}.get(schedule)
        numbers = [int(one) for one in schedule[5:].split(",") if one] if numbers is None else numbers
        delayed = {one: schedules.Delay(one, "aclnnAdds", 2, ("a.py:3 f",)) for one in numbers}
        return schedules.Ending(0, b"wrong" if 6 in numbers else b"right", delayed)

    found = schedules.explore(run, 5)
    assert seen[:4] == ["only:", "only:", "1", "2"] and "3" not in seen
    assert found.schedule == "2" and [delay.number for delay in found.shortest] == [6]
    assert "launch 6: aclnnAdds on stream 2 at a.py:3 f" in found.text() and "again: --jitter only:6" in found.text()
    right = schedules.explore(lambda schedule: schedules.Ending(0, b""), 3)
    assert right.schedule is None and "3 schedules" in right.text()
    with pytest.raises(OphookError, match="without delays the program ends with status 4"):
        schedules.explore(lambda schedule: schedules.Ending(4, b""), 3)
    prints = iter(range(100))  # a program that prints the time: what it prints says nothing
    assert schedules.explore(lambda schedule: schedules.Ending(0, b"%d" % next(prints)), 3).schedule is None


def access(process: int, count: int, writes: bool, begin: int = 0, dims: tuple[tuple[int, int], ...] = ()) -> list:
    return ["access", process, 1, count, [0, count], 7, begin, 64, dims, 2**64 - 1, writes, "aclnnAdds", 3, 1]


def meets(process: int, count: int, turn: int, gives: bool = True, takes: bool = True) -> list:
    return ["meets", process, 1, count, [0, count], "group", turn, gives, takes]


def records(process: int, count: int) -> list:
    return ["records", process, 1, count, [0, count], "event", 1]


def waits(process: int, count: int) -> list:
    return ["waits", process, 1, count, [0, count], "event", 1]


AHEAD = [line for turn in range(1, 40) for line in (access(1, 2 * turn - 1, True), meets(1, 2 * turn, turn))]
BEHIND = [line for turn in range(1, 40) for line in (meets(2, 2 * turn - 1, turn), access(2, 2 * turn, False))]


@pytest.mark.parametrize(
    "written, races",
    [
        ([access(1, 1, True), access(2, 1, False)], 1),
        ([access(1, 1, False), access(2, 1, False)], 0),
        ([access(1, 1, True), ["host", 1, [0, 1]], access(2, 1, False)], 0),  # hosts are one
        ([access(1, 1, True), access(2, 1, False), ["host", 1, [0, 1]]], 1),
        ([access(1, 1, True), access(2, 1, False, begin=64)], 0),
        ([access(1, 1, True, 0, ((8, 256),)), access(2, 1, True, 64, ((8, 256),))], 0),  # columns side by side
        ([access(1, 1, True, 0, ((8, 256),)), access(2, 1, True, 63, ((8, 256),))], 1),
        # The second process is ahead; the first meets it later, and what that launches before comes first.
        ([meets(2, 1, 1), access(2, 2, False), access(1, 1, True), meets(1, 2, 1)], 0),
        ([meets(2, 1, 1), access(2, 2, False), meets(1, 1, 1), access(1, 2, True)], 1),
        # A broadcast: who receives waits, and nobody waits for it.
        ([access(1, 1, True), meets(1, 2, 1, takes=False), meets(2, 1, 1, gives=False), access(2, 2, False)], 0),
        ([access(1, 1, True), meets(1, 2, 1, gives=False), meets(2, 1, 1, takes=False), access(2, 2, False)], 1),
        ([access(1, 1, True), records(1, 2), waits(2, 1), access(2, 2, False)], 0),
        ([access(1, 1, True), records(1, 2), access(2, 1, False), waits(2, 2)], 1),
        ([access(1, 1, True), ["all", 2, 1, 1], access(2, 2, False)], 0),
        # Told when it ran, and launched before: what a host has waited for since does not come before it.
        ([access(2, 1, False), ["host", 2, [0, 1]], [*access(1, 1, True)[:9], 0, *access(1, 1, True)[10:]]], 1),
        (AHEAD + BEHIND, 38),  # each read and the next write
        ([*AHEAD, *BEHIND[:-1], meets(1, 100, 40), meets(2, 100, 40), access(2, 101, False)], 38),
    ],
)  # fmt: skip
def test_tasks_of_two_processes_on_memory_of_both(written: list, races: int) -> None:
    first = [["process", 1, "0"], ["process", 2, ""], ["caller", 1, 1, ["a.py:1 f"]], ["caller", 2, 1, ["b.py:2 g"]]]
    text = "".join(json.dumps(line) + "\n" for line in [*first, *written]) + '["acc'
    found = order.read(ranks.lines(text))
    assert sum(race.count for race in found) == races and len(found) == min(races, 1)
    for race in found:
        assert {race.first.task, race.second.task} == {"aclnnAdds of rank 0", "aclnnAdds of process 2"}
        assert "memory that both have" in race.text() and "a collective that both ranks launch" in race.todo
