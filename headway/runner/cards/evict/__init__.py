"""Gets cards back from processes that belong to no running subject, and proves that it did.

    process   what tells one process from a later one of its number
    claim     whose a process is: ours, a neighbour's, a stranger's, or never to be ended
    sight     one look: NVML's lists matched with open handles
    measure   bytes before the stop against bytes now
    killing   one process by pidfd, looked at again while it is held
    ladder    stop -> cgroup -> holders -> named -> node -> "needs a reboot" (FIELD 3.3)

Around it: `launches` (who was launched, on disk), `eviction` (in a transition), `by_hand` (`invoke
evict`), `node` (for a guest). claim, sight and measure are pure; hands does what is done.
"""
