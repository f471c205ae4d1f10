package hostfs

import "sync"

// sweeper knows the directories that were cleared of staged files.
type sweeper struct {
	mu   sync.Mutex
	seen map[string]bool
}

// first says whether a directory is asked about for the first time.
func (s *sweeper) first(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[name] {
		return false
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[name] = true
	return true
}
