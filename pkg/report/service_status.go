package report

import (
	"fmt"
	"time"
)

// Service is whether one of those works that run the node's pods: the container runtime, kubelet.
type Service struct {
	Name  string    `json:"name"` // kubelet, containerd, cri-o, docker
	Unit  string    `json:"unit"`
	Works bool      `json:"works"`
	Since time.Time `json:"since"`          // that it is so, as far as this daemon has seen
	Text  string    `json:"text,omitempty"` // why it does not work, and what that means
}

// Down is the first service that does not work; nil: all do.
func (s *Status) Down() *Service {
	for i := range s.Services {
		if d := &s.Services[i]; !d.Works {
			return d
		}
	}
	return nil
}

// services are those that do not work.
func (t *statusText) services(list []Service) {
	for i := range list {
		if s := &list[i]; !s.Works {
			t.say("", red, fmt.Sprintf("✗ %s does not work, for %s: %s", s.Name, t.ago(s.Since), s.Text))
			t.do("  ", "`journalctl -u "+s.Unit+"` says why; what the agent keeps right goes on")
		}
	}
}
