"""Say what the record of this host holds; nothing is changed, nothing is locked."""

from typing import Optional

from headway.runner.orders.session import Session
from headway.wire.talk import FromHost, Recall


def obey(session: Session, order: Recall) -> Optional[FromHost]:
    """Read the record, and say it in one line."""
    if not session.fetch("reading"):
        return None
    from headway.runner.reading import record

    return record.tell(session, order)
