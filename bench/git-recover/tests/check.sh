cd repo
test "$(git rev-list --count origin/main..main)" -eq 1
git merge-base --is-ancestor origin/main main
test "$(git show main:conf/prod.env)" = "$(printf 'host=db2\nport=6432')"
test "$(git show main:a)" = c
test "$(git diff --name-only origin/main main)" = conf/prod.env
