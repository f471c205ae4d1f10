package probe

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sockets lists sockets as the kernel of a little-endian machine prints them: servers on every
// address, on loopback, and on a port that the kernel chose, and a connection.
var sockets = kernel{texts{
	"/proc/net/tcp": `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:0277 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   2: 0B004D0A:238C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   3: 00000000:9C40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   4: 0B004D0A:0050 01004D0A:D431 01 00000000:00000000 00:00000000 00000000     0        0 1 1
`,
	"/proc/net/tcp6": `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:280A 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 00000000000000000000000001000000:2710 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   2: 0000000000000000FFFF00000100007F:2711 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   3: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
`,
}.read, sysctls{"net.ipv4.ip_local_port_range": "32768 60999"}.Sysctl}

// texts has the files of a test.
type texts map[string]string

func (f texts) read(path string) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

// sysctls has the kernel's values.
type sysctls map[string]string

func (s sysctls) Sysctl(key string) (string, error) {
	if value, ok := s[key]; ok {
		return value, nil
	}
	return "", fs.ErrNotExist
}

func TestPortsThatListenForOthers(t *testing.T) {
	if got, want := listening(sockets), []uint16{22, 10250, 9100}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := listening(kernel{texts{}.read, sysctls{}.Sysctl}); len(got) > 0 {
		t.Errorf("without /proc: %v", got)
	}
}

// peers answers with one map after another; the last one stays.
type peers []map[string][]string

func (p *peers) knock(_ context.Context, _ []uint16, _ []string, done func(map[string][]string) bool) (map[string][]string, error) {
	said := (*p)[0]
	if len(*p) > 1 {
		*p = (*p)[1:]
	}
	if said == nil {
		return nil, errors.New("nobody can be asked")
	}
	done(said)
	return said, nil
}

func TestWhatPeersSayAfterAChange(t *testing.T) {
	before := map[string][]string{"tcp4:22": {"a", "b"}, "tcp6:10250": {"a"}, "tcp4:8080": {"a"}} // no server is on 8080 any more
	all := []string{"tcp4:22", "tcp6:10250"}
	for name, c := range map[string]struct {
		peers  peers
		proved []string // by the proof
		failed string
	}{
		"one peer reaches every port":                     {peers{{"a": all}}, all, ""},
		"two former peers reach one port each":            {peers{{"a": {"tcp6:10250"}, "b": {"tcp4:22"}}}, all, ""},
		"a new peer reaches a port":                       {peers{{"a": {"tcp6:10250"}, "c": {"tcp4:22"}}}, all, ""},
		"the ports are reached at the third look":         {peers{{"a": nil}, nil, {"a": all}}, all, ""},
		"no port is reached":                              {peers{{"a": nil, "b": nil}}, nil, "inbound:tcp4:22 (no connection any more from: a, b), inbound:tcp6:10250 (no connection any more from: a)"},
		"one port is not reached":                         {peers{{"a": {"tcp4:22"}}}, []string{"tcp4:22"}, "inbound:tcp6:10250 (no connection any more from: a)"},
		"no peer answers":                                 {peers{{}}, nil, ""},
		"no peer can be asked":                            {peers{nil}, nil, ""},
		"a peer that never reached a port does not count": {peers{{"b": {"tcp4:22"}, "c": nil}}, []string{"tcp4:22"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &Comparison{Knock: c.peers.knock, Window: 3 * time.Second, Evidence: &Evidence{Inbound: map[string][]string{}, MissingProofs: Unmade()}}
				for port, list := range before {
					j.Inbound[port] = list
				}
				reached, failed := j.awaitReached(t.Context(), sockets, time.Now().Add(j.Window))
				if failed.String() != c.failed || failed.inbound() != (c.failed != "") {
					t.Errorf("failed: %s, want %s", failed, c.failed)
				}
				if diff := cmp.Diff(c.proved, reached); diff != "" {
					t.Errorf("ports that peers reached (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestProofOfPeers(t *testing.T) {
	j := &Evidence{Probes: []Probe{"ping:10.0.0.1"}, MissingProofs: Unmade(), Inbound: map[string][]string{"tcp6:22": {"a"}, "tcp4:22": {"a"}}}
	p := j.Proof()
	if got := strings.Join(p.Probes, " "); got != "ping:10.0.0.1 inbound:tcp4:22 inbound:tcp6:22" || slices.Contains(p.Missing, "inbound") {
		t.Errorf("%s, not proved: %v", got, p.Missing)
	}
	if got := ProofKinds(p.Probes); !slices.Equal(got, []string{"ping", "inbound"}) {
		t.Errorf("kinds: %v", got)
	}
	j.Inbound = nil
	if p = j.Proof(); !slices.Contains(p.Missing, "inbound") {
		t.Errorf("without peers: %+v", p)
	}
}

// The agent waits for peers no longer than they need to answer, and not long for peers that do not
// answer.
func TestPeersAreAskedBeforeAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(ctx context.Context, _ []uint16, _ []string, _ func(map[string][]string) bool) (map[string][]string, error) {
			<-ctx.Done()
			return nil, nil
		}
		one := func(ctx context.Context, ports []uint16, _ []string, done func(map[string][]string) bool) (map[string][]string, error) {
			if !slices.Equal(ports, []uint16{22, 10250, 9100}) {
				t.Errorf("asked for %v", ports)
			}
			said := map[string][]string{"b": {"tcp4:22"}}
			done(said)
			<-ctx.Done() // another peer never answers
			return said, nil
		}
		for name, c := range map[string]struct {
			knock Knocks
			want  map[string][]string
			least time.Duration // of the pause, by the test's clock
		}{
			"nobody to ask": {nil, nil, 0}, "nobody answers": {silent, map[string][]string{}, knockBefore}, "one answers": {one, map[string][]string{"tcp4:22": {"b"}}, knockGrace},
		} {
			j, begun := &Comparison{Knock: c.knock, Evidence: &Evidence{}}, time.Now()
			j.findReached(t.Context(), sockets)()
			if diff := cmp.Diff(c.want, j.Inbound); diff != "" || time.Since(begun) != c.least {
				t.Errorf("%s: after %s\n%s", name, time.Since(begun), diff)
			}
		}
	})
}
