"""The operator's side: inventory, rendering, plan, SSH, and the conversation with the hosts."""
