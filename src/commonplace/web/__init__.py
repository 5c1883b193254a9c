"""The dashboard: pages for people to see, correct and delete what is remembered. `pages.py` lists them."""
