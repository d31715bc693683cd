package transact

// OnPhase has a function called at each step of a transaction.
func OnPhase(f func(string)) { phase = f }
