package process

// Environ is a variable of the process's declaration.
func (p *Process) Environ(name string) string { return p.spec.Env[name] }
