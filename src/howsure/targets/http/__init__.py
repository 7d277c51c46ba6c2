"""Any bot behind an address."""
