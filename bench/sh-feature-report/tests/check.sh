diff <(bash report.sh < sales.csv) <(printf 'north\t3.00\nsouth\t10.75\n')
diff <(printf 'region,product,units,price\nz,a,1,1\na,b,2,2.5\nz,c,1,y\n' | bash report.sh) <(printf 'a\t5.00\nz\t1.00\n')
