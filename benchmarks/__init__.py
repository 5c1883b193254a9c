"""Speed, measured as ratios in one run. `make bench` prints the tables; nothing here is asserted by a test."""
