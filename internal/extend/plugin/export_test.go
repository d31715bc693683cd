package plugin

// Dir is the store's folder.
func (s *Store) Dir() string { return s.dir }
