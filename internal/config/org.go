package config

// organization is what is known of the organisation's document.
type organization struct{ url string }

func (l *loader) organization() error { return nil }

func forbidRemote(root *node, warn func(Warning)) {}
