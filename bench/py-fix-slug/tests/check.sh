cp /tests/test_hidden.py . && python3 -m unittest -q test_hidden
