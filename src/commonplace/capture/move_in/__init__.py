"""Moving in: what other memory products kept, read from their databases and exports without touching them."""
