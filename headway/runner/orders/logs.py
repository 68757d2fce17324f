"""Say the lines of one launch; nothing is changed, nothing is locked."""

from typing import Optional

from headway.runner.orders.session import Session
from headway.wire.talk import FromHost, Logs


def obey(session: Session, order: Logs) -> Optional[FromHost]:
    """Find the launch, and say its lines some at a time."""
    if not session.fetch("reading"):
        return None
    from headway.runner.reading import lines

    return lines.tell(session, order)
