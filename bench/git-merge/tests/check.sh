cd repo
test -z "$(git status --porcelain)"
test "$(git rev-parse --abbrev-ref HEAD)" = main
test "$(git rev-list --parents -n 1 HEAD | wc -w)" -eq 3
git merge-base --is-ancestor origin/discount HEAD
git merge-base --is-ancestor origin/main HEAD
python3 -B -c 'import shop; assert shop.price(2) == 6 and shop.price(2, discount=1) == 5 and shop.label(1) == "Price: 3"'
