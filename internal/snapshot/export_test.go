package snapshot

// OnPhase has a function called between the parts of every operation.
func OnPhase(f func(string)) { phase = f }
