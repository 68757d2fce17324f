"""`plan`, `lint` and `inventory`: what the fleet's files say, and what they would do to hosts."""

from collections.abc import Sequence

from headway.control.desk import Desk
from headway.control.inventory.report import inventory_json, inventory_text
from headway.control.lint import Finding
from headway.control.lint import lint as findings
from headway.control.plan import plan as host_plan
from headway.control.plan.text import plan_json, plan_text
from headway.control.rendering.render import render
from headway.wire.phase import Exit
from headway.wire.talk import Look, Looked


def plan(desk: Desk) -> Exit:
    """Show what a rollout would change, host by host; 10 when there is something to do.

    A host that gives no answer counts more than changes: its exit code speaks.
    """
    rendered = {host.name: render(desk.fleet, host) for host in desk.hosts}
    answers = desk.looked(lambda host: Look(release=rendered[host.name].release))
    plans = [
        host_plan(rendered[host], answer)
        for host, answer in answers.items()
        if isinstance(answer, Looked)
    ]
    if desk.json:
        for one in plans:
            desk.row("host_plan", plan_json(one))
    elif plans:
        desk.print("\n\n".join(plan_text(one, color=desk.colour) for one in plans))
    nothing = all(one.nothing_to_do for one in plans)
    return desk.missed(answers) or (Exit.ACCEPTED if nothing else Exit.CHANGES)


def inventory(desk: Desk) -> Exit:
    """Show every value of the hosts in hand, with the file and line it comes from."""
    if desk.json:
        for host in inventory_json(desk.hosts):
            desk.row("inventory_host", host)
    else:
        desk.print(inventory_text(desk.hosts))
    return Exit.ACCEPTED


def lint(desk: Desk) -> Exit:
    """Show what would go wrong; an error is exit 2, warnings alone are 0."""
    found = findings(desk.fleet, desk.hosts)
    if desk.json:
        desk.rows(found)
    else:
        desk.print(lint_text(found))
    errors = any(finding.severity == "error" for finding in found)
    return Exit.USAGE if errors else Exit.ACCEPTED


def lint_text(found: Sequence[Finding]) -> str:
    """Draw a find a line, FILE:LINE first as editors jump to, and below it what to write."""
    if not found:
        return "nothing found"
    rows = []
    for one in found:
        place = f"{one.file}:{one.line}" if one.line else one.file
        rows.append(f"{place}: {one.severity}: {one.what}  [{one.rule}]")
        if one.instead:
            rows.append(f"        {one.instead}")
    errors = sum(one.severity == "error" for one in found)
    return "\n".join(
        [*rows, f"{_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}"]
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
