"""The vocabulary of Howsure: frozen, pure, no I/O. One file a word (docs/architecture.md explains the words)."""
