// The tasks are data: no package of lathe is here.
module github.com/lathe-dev/lathe/bench

go 1.21
