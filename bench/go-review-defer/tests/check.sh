diff <(printf '9\n16\n29\n') findings.txt
