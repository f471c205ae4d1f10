package report

import (
	"fmt"
	"time"
)

// Service is a service that runs the node's pods: the container runtime or kubelet.
type Service struct {
	Name  string    `json:"name"` // kubelet, containerd, cri-o, docker
	Unit  string    `json:"unit"`
	Works bool      `json:"works"`
	Since time.Time `json:"since"`          // of this state, as far as this daemon has seen
	Text  string    `json:"text,omitempty"` // why it does not work, and what that means
}

// Down returns the first service that does not work; nil: all work.
func (s *Status) Down() *Service {
	for i := range s.Services {
		if d := &s.Services[i]; !d.Works {
			return d
		}
	}
	return nil
}

// services writes the services that do not work.
func (t *statusText) services(list []Service) {
	for i := range list {
		if s := &list[i]; !s.Works {
			t.say("", red, fmt.Sprintf("✗ %s does not work, for %s: %s", s.Name, t.age(s.Since), s.Text))
			t.do("  ", "`journalctl -u "+s.Unit+"` says why; what the agent keeps right goes on")
		}
	}
}
