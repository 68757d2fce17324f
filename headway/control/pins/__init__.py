"""Images resolved to content, once, by a person's word: what a release is made of later."""
