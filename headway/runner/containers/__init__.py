"""Services of Compose projects on this host: what Docker says of them, what Compose would make.

    docker.py     looks through Docker's own socket, commands through its program
    compose.py    what Compose is given, and what it answers
    record.py     the container of each service that headway made, and its restart policy
    launches.py   a container as who is judged: start, stop, fate
    logs.py       the lines of one launch of a container
    strangers.py  containers of a project that none of its files knows
    staged.py     Compose's answer about a release before any of it is written

Loaded on hosts whose release holds a stack, and there alone.
"""
