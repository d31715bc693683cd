accounts = {}
count = 0


def open_account(name):
    global count
    if name in accounts:
        raise KeyError(name)
    accounts[name] = 0
    count += 1


def deposit(name, amount):
    if amount <= 0:
        raise ValueError(amount)
    accounts[name] += amount


def transfer(a, b, amount):
    if accounts[a] < amount:
        raise ValueError("not enough")
    accounts[b]
    accounts[a] -= amount
    accounts[b] += amount


def total():
    return sum(accounts.values())
