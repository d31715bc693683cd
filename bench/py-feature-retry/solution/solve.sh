#!/bin/bash
set -e
cd /app
cat > task.py <<'END'
import functools
import time


def retry(times, on, wait=0, sleep=time.sleep):
    def decorate(f):
        @functools.wraps(f)
        def run(*args, **kwargs):
            for n in range(times):
                try:
                    return f(*args, **kwargs)
                except on:
                    if n == times - 1:
                        raise
                    sleep(wait * 2 ** n)
        return run
    return decorate
END
