cp /tests/*_test.go . && go test ./... && test "$(grep -c "for " task.go)" -le 4 && test "$(grep -c "range" task.go)" -eq 1
