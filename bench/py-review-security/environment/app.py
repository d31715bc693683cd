import os
import random
import secrets
import sqlite3
import subprocess

KEY = os.environ["APP_KEY"]
ROOT = "/srv/files"


def user(db, name):
    return db.execute("SELECT * FROM users WHERE name = '%s'" % name).fetchone()


def orders(db, user_id):
    return db.execute("SELECT * FROM orders WHERE user = ?", (user_id,)).fetchall()


def token():
    return "%032x" % random.getrandbits(128)


def session():
    return secrets.token_hex(16)


def archive(name):
    subprocess.run("tar czf out.tgz " + name, shell=True, check=True)


def listing(name):
    return subprocess.run(["ls", "--", name], capture_output=True, check=True).stdout


def read(name):
    with open(os.path.join(ROOT, name)) as f:
        return f.read()
