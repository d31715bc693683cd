#!/bin/bash
set -e
cd /app
git clone -q -b main history.bundle /tmp/bisect-$$
cd /tmp/bisect-$$
for c in $(git rev-list --reverse HEAD); do
	git checkout -q "$c"
	if [ "$(sh add.sh 2 3)" != 5 ]; then echo "$c" > "$OLDPWD/culprit.txt"; break; fi
done
rm -rf /tmp/bisect-$$
