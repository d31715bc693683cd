package worktree

// Born is born.
var Born = born
