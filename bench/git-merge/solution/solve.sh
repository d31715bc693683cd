#!/bin/bash
set -e
cd /app
git clone -q -b main history.bundle repo
cd repo
git config user.name oracle
git config user.email oracle@example.org
git merge -q origin/discount > /dev/null || true
cat > shop.py <<'END'
RATE = 3


def price(n, discount=0):
    return n * RATE - discount


def label(n):
    return "Price: " + str(price(n))
END
git commit -qam "merge discount"
