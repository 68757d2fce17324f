"""The few words both sides must agree on before anything else is loaded. No imports here."""

HELLO_MARK = "headway-runner-hello "
ABSENT_MARK = "headway-runner-absent "
ROOT = "/var/lib/headway"
RUN = "/run/headway"
