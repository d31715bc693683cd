module task

go 1.21
