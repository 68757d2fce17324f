"""The images of a host's owned services: none, as no kind of resource has services yet."""

from headway.control.fleet import Fleet
from headway.control.pins.wanted import Images


def owned(_fleet: Fleet) -> Images:
    """Give what names the images of a host's services, in the order of its roles."""
    return lambda _host: ()
