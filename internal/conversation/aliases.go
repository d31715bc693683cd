package conversation

// aliased redirects the calls of tools to those that the host put in their place. A name is replaced once.
func (i *Instance) aliased(canonical func(string, []byte) (string, []byte)) func(string, []byte) (string, []byte) {
	if len(i.opts.ToolAliases) == 0 {
		return canonical
	}
	to := map[string]string{}
	for from, name := range i.opts.ToolAliases {
		to[i.tools.Name(from)] = name
	}
	return func(name string, input []byte) (string, []byte) {
		if target := to[i.tools.Name(name)]; target != "" {
			return target, nil
		}
		return canonical(name, input)
	}
}
