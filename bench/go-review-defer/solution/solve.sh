#!/bin/bash
set -e
cd /app
printf '9\n16\n29\n' > findings.txt
