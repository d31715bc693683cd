d=$(mktemp -d -p .)
mkdir -p "$d/My Dir"
echo one > "$d/A  B.txt"; echo two > "$d/My Dir/C D"; echo old > "$d/x"; echo new > "$d/X"; echo dash > "$d/-N"
bash rename.sh "$d" 2> "$d.err"
test "$(cat "$d/a-b.txt")" = one
test "$(cat "$d/My Dir/c-d")" = two
test "$(cat "$d/x")" = old
test "$(cat "$d/X")" = new
test "$(cat "$d/-n")" = dash
grep -q "/X$" "$d.err"
