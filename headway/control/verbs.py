"""The verbs: what an operator types. Thin: each one calls the function that does the work.

from headway.control.verbs import namespace     # all a fleet's tasks.py needs
"""

from dataclasses import replace

from invoke.collection import Collection

from headway.control import words
from headway.control.desk import Desk
from headway.control.words import acts, looks, one_of, processes, reads, several, whole
from headway.wire.phase import Exit, worst

# --- what changes hosts, one after the other --------------------------------------------------


@acts
def rollout(  # noqa: PLR0913 # one keyword an option
    desk: Desk,
    *,
    reason: str = "",
    again: bool = False,
    no_way_back: bool = False,
    maintenance: bool = False,
    on_invalid: str = "hold",
    confirm: bool = False,
    confirm_within: str = "",
    evict_within: str = "",
    kill: tuple[str, ...] = (),
    lint: bool = True,
    budget: str = "",
    floor: str = "",
    wait: str = "",
) -> Exit:
    """Bring hosts to the described release, one at a time.

    invoke rollout --host gpu1
    invoke rollout --host 'engines:!gpu3' --reason 'llama.cpp b6100'
    """
    desk.call_ahead()
    from headway.control.rolling import rollout as work

    options = desk.options(
        reason,
        wait_s=whole("wait", wait),
        on_invalid=one_of("on_invalid", on_invalid, ("hold", "return")),
        again=again,
        no_way_back=no_way_back,
        maintenance=maintenance,
        confirm=confirm,
        may_kill=processes(desk, kill),
        deadlines_s=words.within(confirm=confirm_within, evict=evict_within),
    )
    options = replace(
        options,
        lint=lint,
        budget=whole("budget", budget),
        floor=whole("floor", floor) if floor else None,
        peers=desk.inventory.select(("all",)),
    )
    return work.rollout(desk.hosts, options, desk.tell)


@acts
def rollback(
    desk: Desk,
    *,
    to: str = "",
    current_secrets: bool = False,
    reason: str = "",
    wait: str = "",
) -> Exit:
    """Go back to an accepted release of the host's own record.

    invoke rollback --host gpu1
    invoke rollback --host gpu1 --to 3f9a12c04b7e
    """
    from headway.control.rolling import rollout as work

    options = desk.options(reason, wait_s=whole("wait", wait))
    return work.rollback(desk.hosts, options, desk.tell, to, current_secrets=current_secrets)


@acts
def restart(
    desk: Desk,
    *,
    part: tuple[str, ...] = (),
    kill: tuple[str, ...] = (),
    reason: str = "",
    wait: str = "",
) -> Exit:
    """Launch the accepted release again, with its gates; repairs drift.

    invoke restart --host gpu1 --part llama
    """
    from headway.control.rolling import rollout as work

    kills, wait_s = processes(desk, kill), whole("wait", wait)
    options = desk.options(reason, wait_s=wait_s, relaunch=part, may_kill=kills)
    return work.restart(desk.hosts, options, desk.tell)


@acts
def evict(
    desk: Desk,
    *,
    part: tuple[str, ...] = (),
    kill: tuple[str, ...] = (),
    reason: str = "",
    wait: str = "",
) -> Exit:
    """Free cards of what no running service owns; list other holders.

    invoke evict --host gpu1
    invoke evict --host gpu1 --kill 4242:881723
    """
    from headway.control.rolling import rollout as work

    kills, wait_s = processes(desk, kill), whole("wait", wait)
    options = desk.options(reason, wait_s=wait_s, may_kill=kills)
    return work.evict(desk.hosts, options, desk.tell, part)


@acts
def sweep(
    desk: Desk,
    *,
    set: str = "",  # noqa: A002 # it is called --set
    gate: tuple[str, ...] = (),
    part: tuple[str, ...] = (),
    reason: str = "",
) -> Exit:
    """Launch a variable's values in turn on one host; measure each.

    invoke sweep --host gpu1 --set draft_depth=0..6 --gate decode
    invoke sweep --host gpu1 --set options.max_num_seqs=16,32,64
    """
    from headway.control.sweeping import sweep as work
    from headway.control.sweeping.setting import setting

    return work.sweep(desk, setting(set), part, several(gate), reason)


@acts
def adopt(desk: Desk, *, unit: tuple[str, ...] = (), reason: str = "") -> Exit:
    """Record what runs without headway as accepted; changes nothing.

    invoke adopt --host gpu1
    invoke adopt --host gpu1 --unit llama.service
    """
    from headway.control.rolling import rollout as work

    return work.adopt(desk.hosts, desk.options(reason), desk.tell, unit)


@acts
def park(desk: Desk, *, reason: str = "") -> Exit:
    """Stop a host's services on purpose and keep them down.

    invoke park --host gpu1 --reason 'fan replaced'
    """
    from headway.control.rolling import rollout as work

    return work.park(desk.hosts, desk.options(reason), desk.tell)


@acts
def unpark(desk: Desk, *, reason: str = "", wait: str = "") -> Exit:
    """Bring a parked host back to its accepted release, with its gates.

    invoke unpark --host gpu1
    """
    from headway.control.rolling import rollout as work

    return work.unpark(desk.hosts, desk.options(reason, wait_s=whole("wait", wait)), desk.tell)


# --- a transition in hand ---------------------------------------------------------------------


@acts
def hold(desk: Desk, *, reason: str = "") -> Exit:
    """Let the transition in hand rest unproven, for a person to decide.

    invoke hold --host gpu1
    """
    return _request(desk, "hold", reason)


@acts
def resume(desk: Desk, *, reason: str = "") -> Exit:
    """Follow the transition in hand, or judge a held one once more.

    invoke resume --host gpu1
    """
    return _request(desk, "resume", reason)


@acts
def accept(desk: Desk, *, reason: str = "") -> Exit:
    """Accept a held release without a verdict, for a recorded reason.

    invoke accept --host gpu1 --reason 'checked by hand: INC-311'
    """
    return _request(desk, "accept", reason)


@acts
def abort(desk: Desk, *, reason: str = "") -> Exit:
    """Make the transition in hand go back now.

    invoke abort --host gpu1
    """
    return _request(desk, "abort", reason)


def _request(desk: Desk, what: str, reason: str) -> Exit:
    from headway.control.rolling import rollout as work

    return work.request(desk.hosts, what, desk.options(reason), desk.tell)


# --- what asks and changes nothing ------------------------------------------------------------


@acts
def check(desk: Desk, *, gate: tuple[str, ...] = (), weights_sha256: bool = False) -> Exit:
    """Judge the running launch by today's gates; nothing is changed.

    invoke check --host gpu1
    invoke check --host gpu1 --gate needle,decode
    invoke check --host gpu1 --weights-sha256       (reads every byte of its weights)
    """
    from headway.control.rolling import rollout as work

    if weights_sha256:
        return work.check_weights(desk.hosts, desk.options(), desk.tell)
    return work.check(desk.hosts, desk.options(), desk.tell, several(gate))


@looks
def plan(desk: Desk) -> Exit:
    """Show what a rollout would change, and the way back.

    invoke plan --host gpu1                (exit 0: nothing to do, 10: changes)
    """
    from headway.control.reading import plan as show

    return show(desk)


@looks
def status(desk: Desk, *, watch: bool = False, within: str = "15") -> Exit:
    """Show every host; what needs a person comes first.

    invoke status
    invoke status --watch --host engines
    """
    from headway.control.status import status as show

    return show(desk, whole("within", within), watch=watch)


@looks
def diagnose(desk: Desk) -> Exit:
    """Find what is wrong with a machine, likeliest cause first.

    invoke diagnose --host gpu1            (exit 0: nothing found, 9: findings)
    """
    desk.call_ahead(cards=True)
    from headway.control.diagnose import diagnose as show

    return show(desk)


@looks
def facts(desk: Desk) -> Exit:
    """Show what the machines are: cards, who holds them, system.

    invoke facts --host gpu1
    """
    desk.call_ahead(cards=True)
    from headway.control.facts import facts as show

    return show(desk)


@looks
def history(desk: Desk, *, last: str = "20") -> Exit:
    """Show past rollouts; with --host, the host's own record.

    invoke history
    invoke history --host gpu1 --last 5
    """
    from headway.control.past import show

    return show(desk, whole("last", last))


@looks
def show(desk: Desk, release: str) -> Exit:
    """Show what a release holds, and what was measured of it.

    invoke show 3f9a12c04b7e
    invoke show gpu1
    """
    from headway.control.oncall.showing import show as work

    return work(desk, release)


@looks
def diff(desk: Desk, before: str, after: str) -> Exit:
    """Show in what two releases differ: options, resources, files.

    invoke diff 77c0d1e2f3a4 3f9a12c04b7e      (exit 0: in nothing, 10: they differ)
    invoke diff gpu1 gpu2
    """
    from headway.control.oncall.showing import diff as work

    return work(desk, before, after)


@acts
def logs(
    desk: Desk, *, part: str = "", launch: str = "current", grep: str = "", last: str = "200"
) -> Exit:
    """Show the lines of one launch of a part, and of no other.

    invoke logs --host gpu1
    invoke logs --host gpu1 --launch previous --grep 'error|NCCL' --last 0
    """
    from headway.control.oncall.logs import logs as work
    from headway.wire.talk import Logs

    return work(desk, Logs(part, launch, grep, whole("last", last)))


@reads
def trend(desk: Desk, *, metric: str = "decode", last: str = "200") -> Exit:
    """Show how a measurement moved over releases, a line a host.

    invoke trend --metric decode
    invoke trend --metric ttft --host gpu1
    """
    from headway.control.oncall.trend import trend as work

    return work(desk, metric, whole("last", last))


@looks
def report(desk: Desk, *, rollout: str = "", out: str = "", hide_names: bool = False) -> Exit:
    """Write a file to paste about a host or a rollout, without secrets.

    invoke report --host gpu1
    invoke report --rollout 20261130T072745-0d97 --hide-names --out /tmp
    """
    from headway.control.oncall.report import report as work

    return work(desk, rollout, out, hide_names=hide_names)


@looks
def page(desk: Desk, *, out: str = "page", within: str = "15") -> Exit:
    """Write the fleet as one file of HTML: no server, no request.

    invoke page --out public
    """
    from headway.control.page import page as work

    return work(desk, out, whole("within", within))


@reads
def baseline(desk: Desk, *, gate: tuple[str, ...] = ()) -> Exit:
    """Show pinned measurements; with --host, pin what it measured last.

    invoke baseline
    invoke baseline --host gpu1 --gate decode
    """
    from headway.control import pinning

    return pinning.pin(desk, several(gate)) if desk.patterns else pinning.show(desk)


@acts
def prune(desk: Desk, *, delete: bool = False) -> Exit:
    """Show what no kept release needs any more; delete it on demand.

    invoke prune --host gpu1
    invoke prune --host engines --delete
    """
    from headway.control import prune as work

    return work.prune(desk, delete=delete)


@acts
def pin(desk: Desk, *, repin: bool = False, on_host: tuple[str, ...] = ()) -> Exit:
    """Resolve images (pins.yaml) and weights (weights.yaml) to content.

    invoke pin --host gpu1
    invoke pin --host engines --repin
    """
    from headway.control import weights
    from headway.control.pins import pin as work
    from headway.control.pins.owned import owned

    found = weights.pin(desk, repin=repin)  # a host is rendered for its images
    images = work.pin(desk, owned(desk.fleet), repin=repin, on_host=several(on_host))
    return worst((found, images))


@reads
def lint(desk: Desk) -> Exit:
    """Find what would go wrong, without touching a host.

    invoke lint
    """
    from headway.control.reading import lint as show

    return show(desk)


@reads
def inventory(desk: Desk) -> Exit:
    """Show every value of the hosts, with the line it comes from.

    invoke inventory --host gpu1
    """
    from headway.control.reading import inventory as show

    return show(desk)


@reads
def completion(desk: Desk, *, shell: str = "bash", line: str = "") -> Exit:
    """Print a script that completes hosts, parts and releases.

    eval "$(invoke completion --shell bash)"
    """
    from headway.control.completion import SCRIPTS
    from headway.control.completion import completion as work

    return work(desk, one_of("shell", shell, tuple(SCRIPTS)), line)


VERBS = (
    *(rollout, rollback, restart, sweep, evict, adopt, park, unpark),
    *(hold, resume, accept, abort),
    *(check, plan, status, diagnose, history, show, diff, logs, trend, report, page),
    *(facts, baseline, pin, prune, lint, inventory, completion),
)
namespace = Collection(*VERBS)
