package supervisor

import "os"

// Surroundings is the environment of this process.
func Surroundings() []string { return os.Environ() }

// Settle does nothing: Windows has no umask and no limits of this kind.
func Settle() error { return nil }
