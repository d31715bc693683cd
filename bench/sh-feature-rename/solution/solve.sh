#!/bin/bash
set -e
cd /app
cat > rename.sh <<'END'
#!/bin/bash
find "$1" -type f -print0 | while IFS= read -r -d '' f; do
	dir=${f%/*} name=${f##*/}
	new=$(printf '%s' "$name" | tr 'A-Z' 'a-z' | sed 's/[[:space:]][[:space:]]*/-/g')
	[ "$new" = "$name" ] && continue
	if [ -e "$dir/$new" ]; then
		printf '%s\n' "$f" >&2
	else
		mv -- "$f" "$dir/$new"
	fi
done
END
