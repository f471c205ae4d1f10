package daemon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aead.dev/minisign"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/assets"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/hostroot"
)

// signer publishes the plain documents of a box to a store beside them.
type signer struct {
	*box
	key        minisign.PrivateKey
	policy     *trust.Policy
	generation int64
	expires    time.Time

	turn   sync.Mutex // the test or a pass uses the policy
	phases int
}

// decide changes the policy between two phases of the running daemon.
func (s *signer) decide(change func(*trust.Policy)) {
	s.turn.Lock()
	defer s.turn.Unlock()
	change(s.policy)
}

// turnStore is read only while nobody changes the policy, since a look runs beside the loop.
type turnStore struct {
	statestore.Store
	turn *sync.Mutex
}

func (s turnStore) Fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.Store.Fetch(ctx, last)
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{box: newBox(t), key: private, policy: &trust.Policy{Keys: []trust.Key{{Public: public, Origin: "agent.yaml:2:1"}}}}
}

func (s *signer) cluster(name string) string { return filepath.Join(s.store, "demo", name) }

// publish publishes the next generation, with more lines in the cluster's document.
func (s *signer) publish(t *testing.T, more string) {
	t.Helper()
	s.generation++
	objects := map[string][]byte{}
	for _, name := range []string{"cluster.yaml", "nodes/n.yaml"} {
		data, err := os.ReadFile(s.cluster(name))
		if err != nil {
			t.Fatal(err)
		}
		objects[name] = data
	}
	objects["cluster.yaml"] = append(objects["cluster.yaml"], more...)
	m := manifest.New("demo", s.generation, objects)
	m.Expires = s.expires
	for name, data := range objects {
		s.write(t, "objects/sha256/"+m.Objects[name].SHA256, string(data))
	}
	s.write(t, "manifest", string(trust.Join(m.Encode(), trust.Sign(s.key, m.Encode(), ""))))
}

// restart makes the daemon of the next boot.
func (s *signer) restart(t *testing.T) {
	t.Helper()
	store, err := stores.Open(s.store, "demo", stores.Options{Trust: s.policy})
	if err != nil {
		t.Fatal(err)
	}
	s.manager = &manager{}
	s.daemon.Manager, s.daemon.Store = s.manager, turnStore{store, &s.turn}
	s.daemon.Pass = reconcile.Pass{Host: host.Options{Root: s.root}, Assets: assets.New(store), Log: s.daemon.Pass.Log, Trust: s.policy}
	s.daemon.Pass.Hooks.OnPhase = func(string) {
		s.turn.Lock()
		defer s.turn.Unlock()
		s.phases++
	}
	s.policy.Seen = s.daemon.Pass.Rollout().Seen
}

// drifts removes a file of ours, and the daemon must restore it.
func (s *signer) drifts(t *testing.T) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.root, conflist)); err != nil {
		t.Error(err)
	}
}

// errors returns the errors of the log.
func (s *signer) errors() string {
	var said []string
	for _, entry := range s.log.FilterLevelExact(zap.ErrorLevel).All() {
		said = append(said, fmt.Sprint(entry.Message, entry.ContextMap()))
	}
	return strings.Join(said, "\n")
}

func (s *signer) manifest(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(s.cluster("manifest"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A person who can write to the store can neither rule the node nor stop it. The running daemon
// refuses each such change and says what to do. The daemon of the next boot does so, too. Both go
// on repairing with the last accepted configuration.
func TestRefusedStoreAndTheNodeGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		attack func(t *testing.T, s *signer)
		want   string
	}{
		"a tampered manifest": {func(t *testing.T, s *signer) {
			s.write(t, "manifest", strings.Replace(s.manifest(t), `"generation": 2`, `"generation": 3`, 1))
		}, "somebody changed it since"},
		"a swapped object": {func(t *testing.T, s *signer) {
			s.publish(t, "  sysctlParameters: [net.core.somaxconn=4096]\n")
			_ = filepath.WalkDir(s.cluster("objects"), func(path string, d os.DirEntry, err error) error {
				if data, _ := os.ReadFile(path); strings.Contains(string(data), "somaxconn") {
					s.write(t, "objects/sha256/"+d.Name(), strings.Replace(string(data), "4096", "1111", 1))
				}
				return err
			})
		}, `object "cluster.yaml" is not what the manifest says`},
		"an old generation": {func(t *testing.T, s *signer) {
			s.generation = 0
			s.publish(t, "")
		}, "generation 1 with sha256"},
		"another generation of the same number": {func(t *testing.T, s *signer) {
			s.generation = 1
			s.publish(t, "  sysctlParameters: [net.core.somaxconn=4096]\n")
		}, "another one of that number"},
		"a stolen key that is not listed": {func(t *testing.T, s *signer) {
			_, s.key, _ = minisign.GenerateKey(rand.Reader)
			s.publish(t, "")
		}, "only these keys are trusted"},
		"a pin of another digest": {func(t *testing.T, s *signer) {
			s.decide(func(p *trust.Policy) { p.Pin = trust.Pin{Digest: strings.Repeat("0", 64), Origin: "agent.yaml:3:1"} })
			s.publish(t, "")
		}, "agent.yaml:3:1 pins 000000"},
		"an expired manifest": {func(t *testing.T, s *signer) {
			s.expires = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
			s.publish(t, "")
		}, "expired at 1999-01-01T00:00:00Z"},
		"no signature": {func(t *testing.T, s *signer) {
			statement, _, _ := trust.Split([]byte(s.manifest(t)))
			s.write(t, "manifest", string(statement))
		}, "is not signed"},
		"plain documents in its place": {func(t *testing.T, s *signer) {
			if err := os.Remove(s.cluster("manifest")); err != nil {
				t.Fatal(err)
			}
		}, "accepts only what is signed"},
		"documents that do not decode": {func(t *testing.T, s *signer) { s.publish(t, "  nonsense: 1\n") }, "nonsense"},
		"no store": {func(t *testing.T, s *signer) {
			if err := os.RemoveAll(s.store); err != nil {
				t.Fatal(err)
			}
		}, "there is no directory"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigner(t)
			s.generation = 1
			s.publish(t, "")
			s.restart(t)
			s.live(t, func(t *testing.T) {
				if first := s.manager.last(t); first.what != "ready" {
					t.Fatalf("last returns %+v", first)
				}
				c.attack(t, s)
				s.drifts(t)
				later(11 * time.Minute)
				if last := s.manager.last(t); !strings.Contains(last.text, "going on with generation 2") || !s.has(conflist) {
					t.Errorf("%+v, repaired: %v", last, s.has(conflist))
				}
			})
			s.drifts(t)
			s.restart(t)
			s.live(t, func(t *testing.T) {
				later(time.Second / 10) // the daemon looks twice for a directory that is gone
				first := s.manager.last(t)
				if first.what != "ready" || !strings.Contains(first.text, "the last good configuration, generation 2, taken at 2000-01-01T00:00:00Z") || !s.has(conflist) {
					t.Errorf("after a boot: %+v, repaired: %v", first, s.has(conflist))
				}
			})
			if !strings.Contains(s.errors(), c.want) {
				t.Errorf("no %q in\n%s", c.want, s.errors())
			}
		})
	}
}

// A store that comes back is followed again. A key is replaced by way of listing both. An older
// generation is accepted once, when a person allows it.
func TestStoreComesBack(t *testing.T) {
	s := newSigner(t)
	s.publish(t, "")
	s.restart(t)
	s.live(t, func(*testing.T) {})
	away := s.store + ".away"
	if err := os.Rename(s.store, away); err != nil {
		t.Fatal(err)
	}
	s.restart(t)
	s.live(t, func(t *testing.T) {
		later(time.Second / 10)
		if first := s.manager.last(t); first.what != "ready" || !strings.Contains(first.text, "last good") {
			t.Fatalf("last returns %+v", first)
		}
		if err := os.Rename(away, s.store); err != nil {
			t.Fatal(err)
		}
		later(2 * time.Minute)
		if last := s.manager.last(t); strings.Contains(last.text, "last good") || last.text == "" {
			t.Errorf("the store is back: %+v", last)
		}
		public, private, _ := minisign.GenerateKey(rand.Reader)
		s.decide(func(p *trust.Policy) { p.Keys = append(p.Keys, trust.Key{Public: public, Origin: "agent.yaml:2:1"}) })
		s.key, s.generation = private, 6
		s.publish(t, "")
		later(11 * time.Minute)
		if seen, err := s.daemon.Pass.Rollout().Seen(s.daemon.Store.String()); err != nil || seen.Generation != 7 {
			t.Errorf("the new key: %+v, %+v", seen, s.manager.last(t))
		}
		s.generation = 4
		s.publish(t, "")
		later(11 * time.Minute)
		if last := s.manager.last(t); !strings.Contains(last.text, "generation 7") {
			t.Errorf("an older one: %+v", last)
		}
		s.decide(func(p *trust.Policy) { p.Older = true })
		later(11 * time.Minute)
		s.decide(func(p *trust.Policy) { p.Older = false })
		later(11 * time.Minute)
		if seen, err := s.daemon.Pass.Rollout().Seen(s.daemon.Store.String()); err != nil || seen.Generation != 5 || strings.Contains(s.manager.last(t).text, "going on") {
			t.Errorf("a person said so: %+v, %+v", seen, s.manager.last(t))
		}
	})
}

// A signed freeze also holds against a person who can write to the store. The generation before the
// freeze is older than what the node knows, although the freeze itself waits. That stays so after a
// restart of the agent, as long as all the keys of that time are trusted. The line that keeps it:
// pkg/reconcile/rollout/last_good.go, Seen (Update).
func TestAFreezeIsNotTakenBackByWhoCanWrite(t *testing.T) {
	s := newSigner(t)
	s.publish(t, "")
	start := func() {
		s.restart(t)
		hostroot.Put(t, s.root, "/proc/sys/kernel/random/boot_id", "boot\n")
		s.daemon.Pass.UpdatesAnywhere = true
	}
	start()
	s.live(t, func(*testing.T) {})
	const bad = "  fileAssets: [{name: bad, path: /etc/motd, content: bad}]\n"
	s.publish(t, bad)
	unfrozen := s.manifest(t)
	s.publish(t, bad+"  update: {freeze: true}\n")
	start()
	s.live(t, func(t *testing.T) {
		later(11 * time.Minute)
		if u := s.waits(t); u == nil || u.Generation != 3 {
			t.Fatalf("the freeze does not wait: %+v", u)
		}
		s.write(t, "manifest", unfrozen)
		later(11 * time.Minute)
	})
	for range 2 {
		start()
		s.live(t, func(t *testing.T) { later(11 * time.Minute) })
	}
	if hostroot.There(s.root, "/etc/motd") {
		t.Error("what the freeze holds back was taken")
	}
	public, private, _ := minisign.GenerateKey(rand.Reader)
	s.decide(func(p *trust.Policy) { p.Keys[0] = trust.Key{Public: public, Origin: "agent.yaml:2:1"} })
	s.key, s.generation = private, 1
	s.publish(t, "  fileAssets: [{name: good, path: /etc/motd, content: good}]\n")
	start()
	s.live(t, func(t *testing.T) { later(11 * time.Minute) })
	if !hostroot.There(s.root, "/etc/motd") {
		t.Errorf("a signature of a removed key still counts: %+v", s.manager.last(t))
	}
}

// The kept configuration is verified before it is used. If it is damaged, the agent says so. Only
// root may read it.
func TestLastGoodIsVerified(t *testing.T) {
	s := newSigner(t)
	s.publish(t, "")
	s.restart(t)
	s.live(t, func(*testing.T) {})
	file := filepath.Join(s.root, "var/lib/netwright/last-good.json")
	text, err := os.ReadFile(file)
	var good ledger.LastGood
	if err = errors.Join(err, json.Unmarshal(text, &good)); err != nil {
		t.Fatal(err)
	}
	keptAt := func(sum blob.Digest) string { return filepath.Join(s.root, "var/lib/netwright/blobs", sum.String()) }
	for _, path := range []string{file, keptAt(good.Manifest), keptAt(good.Objects)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: Stat returns %v, %v", path, info.Mode(), err)
		}
	}
	if err := os.Rename(s.store, s.store+".away"); err != nil {
		t.Fatal(err)
	}
	boot := func(want string) {
		t.Helper()
		s.log.TakeAll()
		s.restart(t)
		s.live(t, func(t *testing.T) {
			later(time.Second / 10)
			if first := s.manager.last(t); first.what == "ready" || !strings.Contains(s.errors(), want) || !strings.Contains(first.text, "there is no directory") {
				t.Errorf("%+v; want %q in\n%s", first, want, s.errors())
			}
		})
	}
	keep := s.policy.Keys
	s.policy.Keys = nil
	for range 2 {
		public, _, _ := minisign.GenerateKey(rand.Reader)
		s.policy.Keys = append(s.policy.Keys, trust.Key{Public: public, Origin: "agent.yaml:2:1"})
	}
	boot("and the last good configuration cannot be used")
	s.policy.Keys = keep
	for _, path := range []string{keptAt(good.Manifest), keptAt(good.Objects), file} {
		whole, _ := os.ReadFile(path)
		if err := os.WriteFile(path, whole[:len(whole)-9], 0o600); err != nil {
			t.Fatal(err)
		}
		boot("and the last good configuration cannot be")
		if path == file {
			continue
		}
		// The store is there again, and a pass that trusts no record restores the kept
		// configuration.
		if err := os.Rename(s.store+".away", s.store); err != nil {
			t.Fatal(err)
		}
		s.restart(t)
		s.daemon.Pass.Host.Verify = true
		s.live(t, func(*testing.T) {})
		if now, err := os.ReadFile(path); err != nil || string(now) != string(whole) {
			t.Errorf("%s is still damaged: %v", path, err)
		}
		if err := os.Rename(s.store, s.store+".away"); err != nil {
			t.Fatal(err)
		}
	}
}
