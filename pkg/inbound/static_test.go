package inbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/secret"
)

const testKey = "0123456789012345678901234567890123456789"

// stated returns peers on addresses of the loopback, of which each process has many.
func stated(t *testing.T, answer string, ask ...string) Static {
	t.Helper()
	s := Static{KeyFile: filepath.Join(t.TempDir(), "key"), Answer: []netip.Prefix{netip.MustParsePrefix(answer)}}
	if err := os.WriteFile(s.KeyFile, []byte(testKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range ask {
		s.Ask = append(s.Ask, netip.MustParseAddr(address))
	}
	probe, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = int(netip.MustParseAddrPort(probe.LocalAddr().String()).Port())
	probe.Close()
	return s
}

// respond runs a responder until the test ends.
func respond(t *testing.T, s Static, busy func() bool) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	r := &Responder{Static: s, Busy: busy, Log: zap.NewNop()}
	var all sync.WaitGroup
	all.Go(func() { r.Run(ctx) })
	t.Cleanup(func() { stop(errors.New("the daemon ends")); all.Wait() })
}

func some(said map[string][]string) bool { return len(said) > 0 }

// A datagram has the request and its answer. With another key, address or request it cannot be
// read. A datagram with a changed bit is refused.
func TestDatagrams(t *testing.T) {
	key, asker := secret.New(testKey), netip.MustParseAddr("10.0.0.1")
	q := datagramQuestion{nonce: [nonceSize]byte{1, 2, 3}, ports: []uint16{22, 10250, 65535}}
	asked := q.seal(key, asker)
	if got, ok := openQuestion(key, asker, asked); !ok || fmt.Sprint(got) != fmt.Sprint(q) {
		t.Errorf("%v, %t; want %v", got, ok, q)
	}
	a := answer{Open: []string{"tcp4:22", "tcp4:65535"}}
	said := q.answered(key, asker, a)
	if got, ok := openAnswer(key, asker, q, said); !ok || fmt.Sprint(got) != fmt.Sprint(a) {
		t.Errorf("%v, %t; want %v", got, ok, a)
	}
	if got, ok := openAnswer(key, asker, q, q.answered(key, asker, answer{Busy: true})); !ok || !got.Busy {
		t.Errorf("%v, %t; want busy", got, ok)
	}
	if len(said) > len(asked) {
		t.Errorf("an answer of %d bytes to %d", len(said), len(asked))
	}
	if _, ok := openQuestion(key, netip.MustParseAddr("10.0.0.2"), asked); ok {
		t.Error("a question was taken from another address")
	}
	if _, ok := openQuestion(secret.New(testKey+"x"), asker, asked); ok {
		t.Error("a question was taken with another key")
	}
	if _, ok := openAnswer(key, asker, datagramQuestion{ports: q.ports}, said); ok {
		t.Error("an answer was taken for that of another question")
	}
	for i := range asked {
		broken := slices.Clone(asked)
		broken[i] ^= 1
		if _, ok := openQuestion(key, asker, broken); ok {
			t.Errorf("a question was taken with another byte %d", i)
		}
	}
	for i := range said {
		broken := slices.Clone(said)
		broken[i] ^= 1
		if _, ok := openAnswer(key, asker, q, broken); ok {
			t.Errorf("an answer was taken with another byte %d", i)
		}
	}
}

// FuzzDatagrams: any input is read without a panic, and is refused without the key.
func FuzzDatagrams(f *testing.F) {
	key, asker := secret.New(testKey), netip.MustParseAddr("fd00::1")
	q := datagramQuestion{ports: []uint16{22}}
	f.Add(q.seal(key, asker))
	f.Add(q.answered(key, asker, answer{Open: []string{"tcp6:22"}}))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		for _, k := range []secret.Text{key, secret.New(testKey + "x")} {
			asked, ok := openQuestion(k, asker, datagram)
			if ok && (k != key || len(asked.ports) > MaxPorts) {
				t.Errorf("a question: %v", asked)
			}
			if _, ok := openAnswer(k, asker, q, datagram); ok && k != key {
				t.Error("an answer without the key")
			}
		}
	})
}

// A known node with the key gets one answer for each request. The node itself gets none, and a busy
// peer does not answer. No peer connects to addresses of the loopback, so a test on nodes tests
// that.
func TestStatedPeersAnswer(t *testing.T) {
	const peer = "127.0.0.2"
	s := stated(t, "127.0.0.1/32", peer, "127.0.0.1") // the second is the node's own address
	var busy atomic.Bool
	busy.Store(true)
	respond(t, s, busy.Load)
	short, stop := context.WithTimeout(t.Context(), 3*askAgain)
	defer stop()
	if said, err := s.Knock(short, []uint16{22}, nil, never); err != nil || len(said) > 0 {
		t.Errorf("a busy peer: %v, %v", said, err)
	}
	busy.Store(false)
	for range 2 { // the second is a new request
		said, err := s.Knock(t.Context(), []uint16{22}, []string{peer}, never)
		if got := fmt.Sprint(said); err != nil || got != "map["+peer+":[]]" {
			t.Errorf("got %s, error %v", got, err)
		}
	}

	asks := func(s Static, what string) {
		t.Helper()
		short, stop := context.WithTimeout(t.Context(), 3*askAgain/2)
		defer stop()
		if said, err := s.Knock(short, []uint16{22}, nil, some); err != nil || len(said) > 0 {
			t.Errorf("%s: Knock returns %v, %v", what, said, err)
		}
	}
	stranger := stated(t, "127.0.0.0/8", peer)
	stranger.Port = s.Port
	if err := os.WriteFile(stranger.KeyFile, []byte(testKey+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	asks(stranger, "another key")
	elsewhere := stated(t, "10.0.0.0/8", peer)
	respond(t, elsewhere, busy.Load)
	asks(elsewhere, "an address that is not known")
}

// The same request gets the same bytes as its answer. Another request gets one a second later at
// the earliest.
func TestResponderKeepsToItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Responder{knocking: make(chan struct{}, 1), last: map[netip.Addr]answered{}}
		var all sync.WaitGroup
		told, made := 0, 0
		ask := func(asker string, nonce byte) {
			r.take(&all, datagramQuestion{nonce: [nonceSize]byte{nonce}}, netip.MustParseAddr(asker),
				func([]byte) { told++ }, func() []byte { made++; return []byte{nonce} })
			synctest.Wait()
		}
		ask("10.0.0.1", 1)
		ask("10.0.0.1", 1)
		if told != 2 || made != 1 {
			t.Errorf("one question twice: %d answers, %d made", told, made)
		}
		ask("10.0.0.1", 2)
		ask("10.0.0.2", 2)
		if told != 3 || made != 2 {
			t.Errorf("another at once, and another node's: %d answers, %d made", told, made)
		}
		time.Sleep(knockEach)
		ask("10.0.0.1", 3)
		if told != 4 || made != 3 {
			t.Errorf("another after a second: %d answers, %d made", told, made)
		}
		for i := range 2 * maxAnswered {
			ask(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}).String(), 1)
		}
		if len(r.last) != maxAnswered {
			t.Errorf("%d nodes are remembered", len(r.last))
		}
		time.Sleep(2 * time.Minute)
		ask("10.9.0.1", 1)
		if len(r.last) != 1 {
			t.Errorf("%d nodes are remembered after a while", len(r.last))
		}
	})
}

func TestKeyFile(t *testing.T) {
	for want, make := range map[string]func(path string) error{
		"no such file":         os.Remove,
		"chmod 600":            func(path string) error { return os.Chmod(path, 0o640) },
		"a file":               func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"has 5 characters":     func(path string) error { return os.WriteFile(path, []byte("short\n"), 0o600) },
		"head -c 32 /dev/uran": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		s := stated(t, "10.0.0.0/8", "10.0.0.1")
		if err := make(s.KeyFile); err != nil {
			t.Fatal(err)
		}
		_, err := s.Knock(t.Context(), []uint16{22}, nil, never)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s.KeyFile) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
