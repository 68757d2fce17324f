"""What the acceptance checks share: the engine as a client meets it, and how it is measured."""
