d=$(mktemp -d -p .)
echo 1 > "$d/a b"; echo 2 > "$d/*"; echo 3 > "$d/c"
printf '%s\n\n%s\n%s' "$d/a b" "$d/*" "$d/c" > "$d.list"
bash backup.sh "$d.list" "$d/out put"
test "$(cat "$d/out put/a b")" = 1
test "$(cat "$d/out put/*")" = 2
test "$(cat "$d/out put/c")" = 3
printf '%s\n' "$d/none" "$d/c" > "$d.list"
if bash backup.sh "$d.list" "$d/two" 2> /dev/null; then exit 1; fi
test -e "$d/two/c"
