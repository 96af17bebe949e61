"""One file a kind of policy: its declaration, and its policy."""
