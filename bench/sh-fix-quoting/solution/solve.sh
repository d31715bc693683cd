#!/bin/bash
set -e
cd /app
cat > backup.sh <<'END'
#!/bin/bash
# usage: backup.sh LIST FOLDER
mkdir -p -- "$2"
bad=0
while IFS= read -r f || [ -n "$f" ]; do
	[ -z "$f" ] && continue
	cp -- "$f" "$2"/ || bad=1
done < "$1"
exit $bad
END
