package snapshot

// OnPhase has a function called between the parts of every operation.
func OnPhase(f func(string)) { phase = f }

// Abandon lets go of the store's files as the system does when the process is killed.
func (s *Store) Abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	_ = s.seg.f.Close()
	_ = s.own.Unlock()
	s.seg = nil
}
