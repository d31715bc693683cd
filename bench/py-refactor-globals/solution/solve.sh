#!/bin/bash
set -e
cd /app
cat > task.py <<'END'
class Bank:
    def __init__(self):
        self._accounts = {}

    def open(self, name):
        if name in self._accounts:
            raise KeyError(name)
        self._accounts[name] = 0

    def deposit(self, name, amount):
        if amount <= 0:
            raise ValueError(amount)
        self._accounts[name] += amount

    def transfer(self, a, b, amount):
        if self._accounts[a] < amount:
            raise ValueError("not enough")
        self._accounts[b]
        self._accounts[a] -= amount
        self._accounts[b] += amount

    def total(self):
        return sum(self._accounts.values())
END
