package daemon

import (
	"crypto/rand"
	"math"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// A pin keeps a node where it is. After the next publication the node is neither failing nor
// untrusted, also for the daemon of the next boot. The lines that keep it: pinned_store.go.
func TestAPinKeepsANodeWhereItIs(t *testing.T) {
	s, told := newSigner(t), &listener{}
	s.daemon.Observers = []Observer{told}
	s.publish(t, "")
	s.restart(t)
	s.live(t, func(t *testing.T) {
		digest := told.last().Configuration.Digest
		s.decide(func(p *trust.Policy) { p.Pin = trust.Pin{Digest: digest, Origin: "agent.yaml:3:1"} })
		s.publish(t, "  sysctlParameters: [net.core.somaxconn=4096]\n")
		later(11 * time.Minute)
		if now := told.last(); now.State != report.NodeConverged || !now.Configuration.Pinned || now.Configuration.Error != "" || now.Configuration.Digest != digest {
			t.Errorf("the pinned node is %s (%s), %+v", now.State, now.Reason, now.Configuration)
		}
	})
	s.restart(t)
	s.live(t, func(*testing.T) {
		if now := told.last(); now.State != report.NodeConverged || !now.Configuration.Pinned || len(now.Notes) > 0 {
			t.Errorf("after a boot: %s (%s), %+v", now.State, now.Reason, now.Notes)
		}
	})
}

// The status distinguishes an untrusted manifest from a store that does not answer.
func TestAStoreThatIsNotTrustedIsTold(t *testing.T) {
	s, told := newSigner(t), &listener{}
	s.daemon.Observers = []Observer{told}
	s.publish(t, "")
	s.restart(t)
	s.live(t, func(t *testing.T) {
		_, s.key, _ = minisign.GenerateKey(rand.Reader)
		s.publish(t, "")
		later(11 * time.Minute)
		if now := told.last(); !now.Configuration.Untrusted || !told.heard(report.EventUntrusted, "") || now.Configuration.Generation != 1 {
			t.Errorf("last returns %+v", now.Configuration)
		}
	})
}

// The highest generation of a key counts as long as the key is listed. A stolen key that is removed
// from the list shuts nobody out.
func TestARemovedKeysFastForwardLocksNobodyOut(t *testing.T) {
	s, told := newSigner(t), &listener{}
	s.daemon.Observers = []Observer{told}
	s.publish(t, "")
	s.restart(t)
	s.live(t, func(t *testing.T) {
		s.generation = math.MaxInt64 - 1
		s.publish(t, "")
		later(11 * time.Minute)
		if seen, err := s.daemon.Pass.Rollout().Seen(s.daemon.Store.String()); err != nil || seen.Generation != math.MaxInt64 {
			t.Fatalf("the node has accepted %+v", seen)
		}
		public, private, _ := minisign.GenerateKey(rand.Reader)
		s.decide(func(p *trust.Policy) { p.Keys = []trust.Key{{Public: public, Origin: "agent.yaml:2:1"}} })
		s.key, s.generation = private, 1
		s.publish(t, "")
		later(11 * time.Minute)
		if now := told.last(); now.State != report.NodeConverged || now.Configuration.Generation != 2 {
			t.Errorf("after the key was taken out: %s (%s), generation %d", now.State, now.Reason, now.Configuration.Generation)
		}
	})
}
