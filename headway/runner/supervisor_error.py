"""What goes wrong with whoever starts and stops things here: systemd, Docker, Compose."""


class SupervisorError(Exception):
    """A supervisor did not do what it was asked: one sentence that names the thing and why."""
