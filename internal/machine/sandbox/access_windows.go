package sandbox

// mayWrite: access control lists are not read, so every folder counts as one that may be written to.
func mayWrite(string) bool { return true }
