"""A plan as people read it, and as programs do."""

from dataclasses import asdict
from typing import Any

from headway.control.plan.host_plan import HostPlan, ImageChange
from headway.control.telling.amounts import took
from headway.control.telling.table import table

_STYLES = {"+++": "bold", "---": "bold", "+": "green", "-": "red", "@": "cyan"}


def plan_text(plan: HostPlan, *, color: bool = False) -> str:
    """Write a plan as lines; with `color`, a diff's lines carry rich's marks as ANSI codes."""
    if plan.nothing_to_do:
        head = f"{plan.host}: nothing to do, {plan.release} is accepted and runs"
        return "\n".join([head, *_obstacles(plan)])
    head = f"{plan.host}: {plan.accepted} -> {plan.release}"
    blocks = [[head, *_obstacles(plan)], _changed(plan, color=color), _options(plan)]
    blocks += [_images(plan), _restarts(plan), _way_back(plan)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def plan_json(plan: HostPlan) -> dict[str, Any]:
    """Give a plan as JSON values, with its exit code."""
    options = [{**asdict(one), "how": one.how} for one in plan.options]
    return {**asdict(plan), "options": options, "exit_code": int(plan.exit_code)}


def _obstacles(plan: HostPlan) -> list[str]:
    return [f"  ! {one}" for one in plan.obstacles]


def _changed(plan: HostPlan, *, color: bool) -> list[str]:
    lines = []
    for one in plan.changed:
        sentence = one.sentence.removeprefix(f"{one.name}: ").removeprefix(f"{one.name} ")
        lines.append(f"  {one.part}: {one.kind} {one.name}: {sentence}")
        lines += [f"    {_styled(line) if color else line}" for line in one.diff]
    return lines


def _options(plan: HostPlan) -> list[str]:
    if not plan.options:
        return []
    rows = [
        (one.part, one.name, one.before or "-", one.after or "-", one.how) for one in plan.options
    ]
    text = table(("PART", "OPTION", "NOW", "THEN", ""), rows)
    return [f"  {line}" for line in text.split("\n")]


def _images(plan: HostPlan) -> list[str]:
    """Draw every service's image; an image is as long as people need to compare two."""
    if not plan.images:
        return []
    rows = [
        (one.part, one.ref, _short(one.before), _short(one.after), _moved(one))
        for one in plan.images
    ]
    text = table(("PART", "IMAGE", "NOW", "THEN", ""), rows)
    return [f"  {line}" for line in text.split("\n")]


def _short(content: str) -> str:
    return content.rpartition(":")[2][:12] or "-"


def _moved(one: ImageChange) -> str:
    return "" if one.before == one.after else "changed" if one.before and one.after else "new"


def _restarts(plan: HostPlan) -> list[str]:
    if not plan.restarts:
        return ["  no part restarts"]
    lines = [f"  {one.what} {one.part}: {one.why}{_about(one.down_ms)}" for one in plan.restarts]
    down = "unknown: a part was never loaded here" if plan.down_ms is None else took(plan.down_ms)
    return [*lines, f"  expected downtime: {down}"]


def _about(span: int | None) -> str:
    return f", {took(span)} from start to healthy last time" if span else ""


def _way_back(plan: HostPlan) -> list[str]:
    back = plan.way_back
    time = "in unknown time" if back.takes_ms is None else f"in about {took(back.takes_ms)}"
    lines = [f"  way back: {back.release}, {time}: {back.sentence}"]
    return [*lines, *(f"    cannot be brought back: {one}" for one in back.lost)]


def _styled(line: str) -> str:
    from headway.control.telling.console import styled  # rich takes 30 ms; for terminals only

    style = next((style for mark, style in _STYLES.items() if line.startswith(mark)), "")
    return styled(line, style) if style else line
