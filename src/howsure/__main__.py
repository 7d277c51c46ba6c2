"""`python -m howsure` is the `howsure` program."""

from howsure.main import main

main()
