package style

import "sync/atomic"

// Choice is the output style of new conversations in one folder. It is safe for concurrent use.
type Choice struct {
	Folders    func() []string // from the weakest to the strongest
	Configured func() string   // the name in the settings; "": the default one

	set atomic.Pointer[string]
}

// All lists the styles, and names the chosen one.
func (c *Choice) All() (all []Style, chosen string) {
	chosen = Default
	if s, err := c.Get(); err == nil {
		chosen = s.Name
	}
	return Find(c.Folders()), chosen
}

// Set chooses a style, whatever the settings say.
func (c *Choice) Set(name string) { c.set.Store(&name) }

// Get is the chosen style. The default one costs no look at any file.
func (c *Choice) Get() (Style, error) {
	name := c.Configured()
	if set := c.set.Load(); set != nil {
		name = *set
	}
	if name == "" || name == Default {
		return Style{Name: Default, Keeps: true}, nil
	}
	return Get(c.Folders(), name)
}
