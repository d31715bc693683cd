package task
