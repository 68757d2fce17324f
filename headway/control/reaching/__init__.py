"""The way to a host: SSH, sudo, the runner that is brought there, and the conversation with it."""
