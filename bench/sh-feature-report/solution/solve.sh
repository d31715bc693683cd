#!/bin/bash
set -e
cd /app
cat > report.sh <<'END'
#!/bin/bash
awk -F, 'NR > 1 && $3 ~ /^[0-9]+$/ && $4 ~ /^[0-9]+([.][0-9]+)?$/ { sum[$1] += $3 * $4 }
END { for (r in sum) printf "%s\t%.2f\n", r, sum[r] }' | sort
END
