"""`python -m assay` is the `assay` program."""

from assay.main import main

main()
