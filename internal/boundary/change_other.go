//go:build !linux

package boundary

// onChange does nothing: the file is checked when the command has ended.
func onChange(string, func()) (stop func()) { return func() {} }
