diff /tests/want.txt top.txt
