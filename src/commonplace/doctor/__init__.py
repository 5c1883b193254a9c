"""The doctor: checks that everything works by trying it, gives advice, and fixes what can be fixed safely."""
