"""The dashboard: pages to see, correct and delete what is remembered. `routes.py` lists them."""
